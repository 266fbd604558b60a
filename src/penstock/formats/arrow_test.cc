// Arrays made by hand: what a producer may hand over, right and wrong.
#include "penstock/formats/arrow.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace penstock {
namespace {

using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

/// A column with its schema and its memory, which outlive the stream.
struct Made {
  explicit Made(std::string format_text, std::int64_t length,
                std::vector<const void*> memory, std::string name_text = "x")
      : format(std::move(format_text)),
        name(std::move(name_text)),
        buffers(std::move(memory)) {
    schema.format = format.c_str();
    schema.name = name.c_str();
    array.length = length;
    array.n_buffers = static_cast<std::int64_t>(buffers.size());
    array.buffers = buffers.data();
  }
  Made& with(Made& child) {
    schemas.push_back(&child.schema);
    arrays.push_back(&child.array);
    schema.n_children = array.n_children =
        static_cast<std::int64_t>(arrays.size());
    schema.children = schemas.data();
    array.children = arrays.data();
    return *this;
  }
  Made& with_dictionary(Made& words) {
    schema.dictionary = &words.schema;
    array.dictionary = &words.array;
    return *this;
  }

  std::string format;
  std::string name;
  std::vector<const void*> buffers;
  std::vector<ArrowSchema*> schemas;
  std::vector<ArrowArray*> arrays;
  ArrowSchema schema = {};
  ArrowArray array = {};
};

/// What the table of `columns` is read as.
StatusOr<Element> read_columns(std::vector<Made*> columns,
                               std::int64_t offset = 0,
                               std::int64_t length = -1) {
  Made table("+s", 0, {nullptr});
  for (Made* column : columns) table.with(*column);
  table.array.offset = offset;
  table.array.length = length >= 0 ? length : columns[0]->array.length;
  table.array.release = [](ArrowArray* a) { a->release = nullptr; };
  struct Once {
    Made* table;
    bool done = false;
  } once{&table};
  ArrowArrayStream stream = {};
  stream.private_data = &once;
  stream.get_schema = [](ArrowArrayStream* s, ArrowSchema* out) {
    *out = static_cast<Once*>(s->private_data)->table->schema;
    return 0;
  };
  stream.get_next = [](ArrowArrayStream* s, ArrowArray* out) {
    auto* const state = static_cast<Once*>(s->private_data);
    *out = {};
    if (!std::exchange(state->done, true)) *out = state->table->array;
    return 0;
  };
  auto batches = read_arrow_stream(stream);
  if (!batches.ok()) return batches.status();
  return batches->at(0);
}

std::string error_of_columns(std::vector<Made*> columns) {
  return std::string(read_columns(std::move(columns)).status().message());
}

const std::int64_t kNumbers[] = {10, 11, 12, 13, 14, 15};

TEST(Arrow, ListsAreRaggedFromTheirFirstOffset) {
  const std::int32_t offsets[] = {0, 1, 1, 4, 6};
  Made items("l", 6, {nullptr, kNumbers}, "item");
  Made lists("+l", 4, {nullptr, offsets});
  lists.with(items);
  const auto whole = read_columns({&lists});
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->child("x"),
            Element::ragged(Tensor::from(Ints{10, 11, 12, 13, 14, 15}),
                            {Tensor::from(Ints{0, 1, 1, 4, 6})}));
  // A part of the table, and of the column: the values are not copied.
  lists.array.offset = 1;
  lists.array.length = 3;
  const auto part = read_columns({&lists}, 1, 2);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->child("x"),
            Element::ragged(Tensor::from(Ints{11, 12, 13, 14, 15}),
                            {Tensor::from(Ints{0, 3, 5})}));
  EXPECT_EQ(static_cast<const void*>((*part)[0].data()), kNumbers + 1);
}

TEST(Arrow, OffsetsOfListsMustRiseInsideTheValues) {
  Made items("l", 6, {nullptr, kNumbers}, "item");
  const auto error = [&](std::int32_t a, std::int32_t b, std::int32_t c) {
    const std::int32_t offsets[] = {a, b, c};
    Made lists("+l", 2, {nullptr, offsets});
    lists.with(items);
    return error_of_columns({&lists});
  };
  EXPECT_EQ(error(0, 3, 6), "");
  EXPECT_THAT(error(0, 3, 2), HasSubstr("column 'x' has offsets that do not"));
  EXPECT_THAT(error(-1, 3, 4), HasSubstr("offsets that do not rise"));
  EXPECT_THAT(error(0, 3, 7), HasSubstr("has 6 rows, fewer than 0 + 7"));
}

TEST(Arrow, ListViewsLieAnywhere) {
  Made items("l", 6, {nullptr, kNumbers}, "item");
  const std::int32_t offsets[] = {4, 0, 1, 9};
  const std::int32_t sizes[] = {2, 0, 3, 0};
  Made views("+vl", 4, {nullptr, offsets, sizes});
  views.with(items);
  const auto got = read_columns({&views});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(got->child("x"),
            Element::ragged(Tensor::from(Ints{14, 15, 11, 12, 13}),
                            {Tensor::from(Ints{0, 2, 2, 5, 5})}));
  const std::int32_t large[] = {2, 0, 6, 0};
  views.buffers[2] = large;
  EXPECT_THAT(error_of_columns({&views}), HasSubstr("has 6 rows, fewer than"));
  const std::int32_t negative[] = {2, 0, -3, 0};
  views.buffers[2] = negative;
  EXPECT_THAT(error_of_columns({&views}), HasSubstr("an impossible list"));
}

struct View {
  std::int32_t size;
  char prefix[4];
  std::int32_t buffer;
  std::int32_t offset;
};

TEST(Arrow, StringViewsAreShortOrInABuffer) {
  const std::string data = "..a string of some length..";
  const std::int64_t sizes[] = {static_cast<std::int64_t>(data.size())};
  View views[] = {{}, {23, {}, 0, 2}, {}};
  views[0].size = 12;
  std::memcpy(views[0].prefix, "twelve bytes", 12);
  Made column("vu", 3, {nullptr, views, data.data(), sizes});
  const auto got = read_columns({&column});
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ((*got)[0].str(0), "twelve bytes");
  EXPECT_EQ((*got)[0].str(1), "a string of some length");
  EXPECT_EQ((*got)[0].str(2), "");
  const View wrong[] = {{23, {}, 1, 2},
                        {23, {}, -1, 2},
                        {23, {}, 0, 5},
                        {23, {}, 0, -1},
                        {-1, {}, 0, 0}};
  for (const View& view : wrong) {
    views[1] = view;
    EXPECT_THAT(error_of_columns({&column}),
                HasSubstr("column 'x' has a view outside of its data in row 1"))
        << view.size << " " << view.buffer << " " << view.offset;
  }
}

TEST(Arrow, DictionariesAreTheirValuesByIndex) {
  const std::int32_t offsets[] = {0, 3, 3, 8};
  Made words("u", 3, {nullptr, offsets, "redgreen"}, "");
  std::uint8_t indices[] = {2, 0, 0, 1};
  Made column("C", 4, {nullptr, indices});
  column.with_dictionary(words);
  const auto got = read_columns({&column}, 1, 3);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_THAT((*got)[0].strs(), ::testing::ElementsAre("red", "red", ""));
  indices[2] = 3;
  EXPECT_THAT(error_of_columns({&column}),
              HasSubstr("column 'x' has an index outside of its dictionary of "
                        "3 values in row 2"));
  const std::int8_t negative[] = {0, -1};
  Made narrow("c", 2, {nullptr, negative});
  narrow.with_dictionary(words);
  EXPECT_THAT(error_of_columns({&narrow}), HasSubstr("an index outside"));
}

TEST(Arrow, NullsOfDictionariesAreThoseOfTheirValues) {
  const std::uint8_t valid = 0b101;
  const std::int32_t indices[] = {1, 99, 0};
  const double values[] = {0.5, 1.5};
  Made numbers("g", 2, {nullptr, values}, "");
  Made column("i", 3, {&valid, indices});
  column.array.null_count = -1;
  column.with_dictionary(numbers);
  const auto got = read_columns({&column});
  ASSERT_TRUE(got.ok()) << got.status();
  const auto floats = (*got)[0].as<double>();
  EXPECT_EQ(floats[0], 1.5);
  EXPECT_TRUE(std::isnan(floats[1]));
  EXPECT_EQ(floats[2], 0.5);
  Made whole("l", 2, {nullptr, kNumbers}, "");
  column.with_dictionary(whole);
  EXPECT_THAT(error_of_columns({&column}), HasSubstr("column 'x' has 1 nulls"));
}

TEST(Arrow, RecordsAreDicts) {
  Made a("l", 6, {nullptr, kNumbers}, "a");
  Made b("w:8", 6, {nullptr, kNumbers}, "b");
  Made record("+s", 5, {nullptr});
  record.array.offset = 1;
  record.with(a).with(b);
  const auto got = read_columns({&record}, 2, 3);
  ASSERT_TRUE(got.ok()) << got.status();
  const Element inner = got->child("x");
  EXPECT_EQ(inner["a"], Tensor::from(Ints{13, 14, 15}));
  EXPECT_EQ(inner["b"].str(0), std::string("\x0d\0\0\0\0\0\0\0", 8));
  Made again("l", 6, {nullptr, kNumbers}, "a");
  record.with(again);
  EXPECT_EQ(error_of_columns({&record}),
            "column 'x' has two fields with the name 'a'; rename one");
  EXPECT_EQ(error_of_columns({&a, &again}),
            "the table has two columns with the name 'a'; rename one");
  Made bad("d:9,2", 6, {nullptr, kNumbers}, "b");
  Made outer("+s", 6, {nullptr});
  outer.with(bad);
  EXPECT_THAT(error_of_columns({&outer}),
              HasSubstr("column 'x.b' has the Arrow type 'd:9,2'"));
  const std::int32_t offsets[] = {0, 1};
  Made list("+l", 1, {nullptr, offsets});
  list.with(record);
  record.schema.n_children = record.array.n_children = 2;
  EXPECT_THAT(error_of_columns({&list}), HasSubstr("is a list of records"));
}

TEST(Arrow, LengthsAndWidthsAreChecked) {
  Made shorter("l", 2, {nullptr, kNumbers});
  EXPECT_THAT(read_columns({&shorter}, 0, 3).status().message(),
              HasSubstr("column 'x' has 2 rows, fewer than 0 + 3"));
  shorter.array.offset = -1;
  EXPECT_THAT(error_of_columns({&shorter}), HasSubstr("an impossible length"));
  Made missing("l", 2, {nullptr, nullptr});
  EXPECT_THAT(error_of_columns({&missing}), HasSubstr("lacks a buffer"));
  const std::int64_t falling[] = {0, 4, 2};
  Made strings("U", 2, {nullptr, falling, "abcd"});
  EXPECT_THAT(error_of_columns({&strings}), HasSubstr("do not rise"));
  Made items("l", 6, {nullptr, kNumbers}, "item");
  for (const char* format :
       {"+w:4", "+w:-1", "+w:0", "+w:x", "+w:9223372036854775807"}) {
    Made list(format, 2, {nullptr});
    list.with(items);
    EXPECT_THAT(error_of_columns({&list}), HasSubstr("column 'x' has "))
        << format;
  }
}

}  // namespace
}  // namespace penstock

#include "penstock/memory/tensor.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <typeinfo>

#include "penstock/base/error.h"
#include "penstock/memory/placement.h"

namespace penstock {
namespace {

Tensor iota(const Shape& shape) {
  Tensor t = Tensor::allocate<std::int32_t>(shape).value();
  std::int32_t i = 0;
  for (std::int32_t& v : t.mutable_as<std::int32_t>()) v = i++;
  return t;
}

Tensor words(std::vector<std::string_view> values, const Shape& shape) {
  return Tensor::strings(values, shape).value();
}

TEST(Tensor, AScalarLivesInsideTheHandle) {
  const Tensor t = Tensor::scalar(2.5);
  EXPECT_EQ(t.rank(), 0u);
  EXPECT_EQ(t.value<double>(), 2.5);
  EXPECT_EQ(t.as<double>().size(), 1u);
  EXPECT_FALSE(t.buffer());
  EXPECT_EQ(t.pinned_bytes(), 0);
  const Tensor copy = t;
  EXPECT_NE(copy.data(), t.data());
  EXPECT_EQ(copy, t);
}

TEST(Tensor, ReadingAsAnotherTypeThrowsAndSaysWhich) {
  const Tensor t = Tensor::scalar(1.0f);
  try {
    t.value<std::int64_t>();
    FAIL();
  } catch (const std::bad_cast& e) {
    EXPECT_STREQ(e.what(), "tensor: holds float32, read as int64");
  }
  EXPECT_THROW(t.as<double>(), std::bad_cast);
  EXPECT_THROW(t.str(), std::bad_cast);
  EXPECT_THROW(Tensor::string("x").as<float>(), std::bad_cast);
}

TEST(Tensor, AllocateRefusesBadShapes) {
  constexpr std::int64_t kBig = std::int64_t{1} << 40;
  const auto code = [](DType dtype, const Shape& shape) {
    return Tensor::allocate(dtype, shape).status().code();
  };
  EXPECT_EQ(code(DType::kFloat32, {kBig, kBig}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(DType::kFloat64, {kBig, 1 << 22}),
            StatusCode::kInvalidArgument);  // elements fit, bytes do not
  EXPECT_EQ(code(DType::kInt8, {-1}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(DType::kString, {2}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code(DType::kInt8, {kBig * (1 << 20)}),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(Tensor::allocate<float>({0, 3}).value().num_elements(), 0);
}

TEST(Tensor, ValuesMustFillTheShape) {
  const std::vector<float> values(5);
  EXPECT_THROW(Tensor::from(std::span<const float>(values), {2, 3}),
               std::invalid_argument);
  EXPECT_THROW(Tensor::from(std::span<const float>(values), {2, 2}),
               std::invalid_argument);
  EXPECT_THROW(Tensor::from(std::span<const float>(values), {-5}),
               std::invalid_argument);
  EXPECT_EQ(Tensor::from(std::vector<float>()).shape(), Shape{0});
  EXPECT_EQ(Tensor::strings({}, {2}).status().code(),
            StatusCode::kInvalidArgument);
  EXPECT_EQ(Tensor::strings({}, {0, 2})->shape(), (Shape{0, 2}));
  EXPECT_EQ(Tensor::string(std::string_view()).str(), "");
}

TEST(Tensor, RowsAndSlicesShareMemory) {
  const Tensor t = iota({4, 3});
  EXPECT_EQ(t.row(2).shape(), Shape{3});
  EXPECT_EQ(t.row(2).data(), t.data() + 24);
  EXPECT_EQ(t.row(2).as<std::int32_t>()[0], 6);
  const Tensor middle = t.rows(1, 3);
  EXPECT_EQ(middle.shape(), (Shape{2, 3}));
  EXPECT_EQ(middle.data(), t.data() + 12);
  EXPECT_EQ(middle.row(1), t.row(2));
  EXPECT_EQ(t.rows(2, 2).num_elements(), 0);
  // A row of a vector is a number of its own.
  const Tensor number = iota({5}).row(3);
  EXPECT_EQ(number.rank(), 0u);
  EXPECT_EQ(number.value<std::int32_t>(), 3);
}

TEST(Tensor, ASliceKeepsItsMemoryAlive) {
  Tensor row;
  {
    const Tensor t = iota({1000, 100});
    row = t.row(999);
  }
  EXPECT_EQ(row.as<std::int32_t>()[99], 99'999);
  EXPECT_GE(row.pinned_bytes(), 400'000);
  const Tensor compact = row.compact().value();
  EXPECT_EQ(compact, row);
  EXPECT_LE(compact.pinned_bytes(), 448);
}

TEST(Tensor, StringsKeepEveryByte) {
  const std::string nul("a\0b", 3);
  const Tensor t = words({nul, "", "xyz"}, {3});
  EXPECT_EQ(t.str(0), nul);
  EXPECT_EQ(t.str(1), "");
  EXPECT_EQ(t.str(2), "xyz");
  EXPECT_EQ(t.byte_size(), 6 + 4 * 8);
  const Tensor one = Tensor::string(nul);
  EXPECT_EQ(one.rank(), 0u);
  EXPECT_EQ(one.str(), nul);
  EXPECT_EQ(one.byte_size(), 3);
  EXPECT_EQ(Tensor::string("").str(), "");
  EXPECT_EQ(words({"solo"}, {}).str(), "solo");  // rank 0
}

TEST(Tensor, StringSlicesShareBytes) {
  const Tensor t = words({"a", "bb", "ccc", "dddd", "", "f"}, {3, 2});
  const Tensor row = t.row(1);
  EXPECT_EQ(row.shape(), Shape{2});
  EXPECT_EQ(row.str(0), "ccc");
  EXPECT_EQ(row.str(1), "dddd");
  EXPECT_EQ(row.str(0).data(), t.str(2).data());
  EXPECT_EQ(row.byte_size(), 7 + 3 * 8);
  const Tensor tail = t.rows(1, 3);
  EXPECT_EQ(tail.str(3), "f");
  EXPECT_EQ(tail.row(1).str(0), "");
  // Slices of slices, down to one string.
  const Tensor flat = t.reshaped({6});
  EXPECT_EQ(flat.rows(2, 6).rows(1, 2).row(0).str(), "dddd");
  EXPECT_EQ(flat.row(3).str().data(), t.str(3).data());
  EXPECT_EQ(tail, words({"ccc", "dddd", "", "f"}, {2, 2}));
  EXPECT_EQ(tail.compact().value(), tail);
  EXPECT_EQ(t.rows(1, 1).num_elements(), 0);
}

TEST(Tensor, ReshapedSharesOrMakesABuffer) {
  const Tensor t = iota({2, 3});
  EXPECT_EQ(t.reshaped({6}).data(), t.data());
  EXPECT_EQ(t.reshaped({3, 2}).row(1).as<std::int32_t>()[0], 2);
  const Tensor scalar = Tensor::scalar(std::int32_t{7});
  EXPECT_EQ(scalar.reshaped({1, 1}).as<std::int32_t>()[0], 7);
  EXPECT_EQ(scalar.reshaped({1}).reshaped({}), scalar);
  const Tensor word = Tensor::string("w");
  EXPECT_EQ(word.reshaped({1}).str(0), "w");
  EXPECT_EQ(word.reshaped({1}).reshaped({}), word);
}

TEST(Tensor, EqualityLooksAtDtypeShapeAndValues) {
  EXPECT_EQ(iota({2, 2}), iota({2, 2}));
  EXPECT_FALSE(iota({2, 2}) == iota({4}));
  EXPECT_FALSE(Tensor::scalar(1) == Tensor::scalar(1u));
  EXPECT_FALSE(words({"a", "b"}, {2}) == words({"ab", ""}, {2}));
  EXPECT_EQ(Tensor::string("ab"), words({"ab"}, {}));
  EXPECT_EQ(Tensor::allocate<float>({0}).value(),
            Tensor::allocate<float>({0}).value());
}

TEST(Tensor, ExclusiveOnlyWhileNobodyElseHoldsIt) {
  Tensor t = iota({10});
  EXPECT_TRUE(t.exclusive());
  {
    const Tensor other = t;
    EXPECT_FALSE(t.exclusive());
  }
  EXPECT_TRUE(t.exclusive());
  const std::int32_t data[] = {1, 2};
  const Tensor outside = Tensor::from_buffer(
      DType::kInt32, {2}, Buffer::external(data, sizeof(data), nullptr),
      reinterpret_cast<const std::byte*>(data));
  EXPECT_FALSE(outside.exclusive());
  EXPECT_FALSE(Tensor::string("x").exclusive());
}

TEST(Tensor, PrintsItsValues) {
  EXPECT_EQ(Tensor().to_string(), "<undefined>");
  EXPECT_EQ(Tensor::scalar(true).to_string(), "true");
  EXPECT_EQ(Tensor::scalar(std::uint8_t{65}).to_string(), "65");
  EXPECT_EQ(Tensor::from({1.5f, -2.0f}).to_string(), "[1.5, -2]");
  EXPECT_EQ(iota({2, 2}).to_string(), "[0, 1, 2, 3] shape (2, 2)");
  EXPECT_EQ(iota({20}).to_string(3), "[0, 1, 2, ...]");
  EXPECT_EQ(words({"a\n", "'"}, {2}).to_string(), "['a\\n', '\\'']");
  EXPECT_EQ(Tensor::scalar(to_float16(0.5f)).to_string(), "0.5");
}

TEST(Placement, IsTakenOnceByAFittingTensor) {
  Placement slot;
  slot.dtype = DType::kInt32;
  slot.shape = Shape{3};
  slot.buffer = Buffer::allocate(64);
  slot.data = slot.buffer->data() + 16;
  {
    PlacementScope scope(&slot);
    EXPECT_NE(iota({4}).data(), slot.data);
    EXPECT_FALSE(slot.taken);
    {
      PlacementScope none(nullptr);
      EXPECT_NE(iota({3}).data(), slot.data);
    }
    EXPECT_EQ(current_placement(), &slot);
    const Tensor first = iota({3});
    EXPECT_EQ(first.data(), slot.data);
    EXPECT_TRUE(slot.taken);
    EXPECT_NE(iota({3}).data(), slot.data);
  }
  EXPECT_EQ(current_placement(), nullptr);
}

TEST(Strings, FramedInPlaceReadAsTheirPayload) {
  const std::string framed = "<<ab>><<>><<cde>>";
  Ref<Buffer> bytes = Buffer::allocate(framed.size());
  std::memcpy(bytes->data(), framed.data(), framed.size());
  Ref<Buffer> offsets = Buffer::allocate(4 * sizeof(std::int64_t));
  const std::int64_t ends[] = {0, 6, 10, 17};
  std::memcpy(offsets->data(), ends, sizeof(ends));
  const char* const first = reinterpret_cast<const char*>(bytes->data()) + 2;
  const Tensor t = Tensor::framed_strings(offsets, bytes, first, 4, Shape{3});
  EXPECT_EQ(t.strs(), (std::vector<std::string_view>{"ab", "", "cde"}));
  EXPECT_EQ(t.str(2), "cde");
  EXPECT_EQ(t.row(0).str(), "ab");
  EXPECT_EQ(t.rows(1, 3).strs(), (std::vector<std::string_view>{"", "cde"}));
  const Tensor square = t.rows(0, 2).reshaped(Shape{2, 1});
  EXPECT_EQ(square.row(0).str(0), "ab");
  EXPECT_EQ(t.byte_size(), 17 + 4 * 8);
  const Tensor packed = t.compact().value();
  EXPECT_EQ(packed, t);
  EXPECT_EQ(packed.string_gap(), 0u);
  EXPECT_EQ(packed.string_offsets()[3], 5);
}

TEST(Tensor, ReadsStringsWhereTheyLie) {
  const Tensor one = Tensor::string("abc");
  const Tensor two = Tensor::strings({{"de", "", "f"}}, Shape{3}).value();
  const std::string_view values[] = {two.str(0), one.str(), two.str(1),
                                     two.str(2)};
  Tensor t = Tensor::scattered_strings(
                 values, {one.string_owner(), two.string_owner()}, Shape{4})
                 .value();
  EXPECT_EQ(t.strs(), (std::vector<std::string_view>{"de", "abc", "", "f"}));
  EXPECT_EQ(t.str(1).data(), one.str().data());
  EXPECT_EQ(t.string_offsets(), nullptr);
  EXPECT_GT(t.string_gap(), 0u);
  EXPECT_EQ(t.byte_size(), 6 + 4 * 16);
  EXPECT_GE(t.pinned_bytes(), 6 + 4 * 16);
  EXPECT_EQ(t.rows(1, 3).strs(), (std::vector<std::string_view>{"abc", ""}));
  const Tensor square = t.reshaped(Shape{2, 2});
  EXPECT_EQ(square.row(1).strs(), (std::vector<std::string_view>{"", "f"}));
  const Tensor last = square.row(1).row(1);
  const Tensor packed = t.compact().value();
  EXPECT_EQ(packed, t);
  EXPECT_FALSE(packed.scattered());
  t = Tensor();
  EXPECT_EQ(last.str(), "f");
}

TEST(Tensor, RefusesRowsAndShapesItDoesNotHave) {
  const Tensor t = Tensor::from<std::int64_t>({1, 2, 3});
  EXPECT_THROW(t.row(3), Error);
  EXPECT_THROW(t.row(-1), Error);
  EXPECT_THROW(t.rows(2, 4), Error);
  EXPECT_THROW(t.rows(2, 1), Error);
  EXPECT_THROW(Tensor::scalar(1).row(0), Error);
  EXPECT_THROW(t.reshaped(Shape{2, 2}), Error);
  EXPECT_EQ(t.rows(3, 3).num_elements(), 0);
}

}  // namespace
}  // namespace penstock

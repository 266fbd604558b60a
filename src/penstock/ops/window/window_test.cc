#include <gmock/gmock.h>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::show;

/// Every window as one line: the elements of its datasets.
std::vector<std::string> windows(const Dataset& ds) {
  std::vector<std::string> out;
  for (Iterator it = ds.iterator();;) {
    const auto next = it.try_next();
    if (!next.ok()) {
      out.push_back(absl::StrCat("<", next.status().message(), ">"));
      continue;
    }
    if (!*next) return out;
    std::string text;
    for (const Tensor& t : (*next)->leaves()) {
      absl::StrAppend(&text, text.empty() ? "" : " | ");
      std::string inner;
      for (const std::string& e : show(Dataset::of(t))) {
        absl::StrAppend(&inner, inner.empty() ? "" : " ", e);
      }
      text += inner;
    }
    out.push_back(text);
  }
}

// The definition, as it is documented.
std::vector<std::string> model(std::int64_t n, std::int64_t size,
                               std::int64_t shift, std::int64_t stride,
                               bool drop_remainder) {
  std::vector<std::string> out;
  for (std::int64_t begin = 0; begin < n; begin += shift) {
    std::string text;
    std::int64_t count = 0;
    for (std::int64_t j = 0; j < size && begin + j * stride < n; ++j, ++count) {
      absl::StrAppend(&text, count == 0 ? "" : " ", begin + j * stride);
    }
    if (count == size || !drop_remainder) out.push_back(text);
  }
  return out;
}

TEST(Window, FollowsItsDefinition) {
  for (const std::int64_t n : {0, 1, 5, 12}) {
    for (const std::int64_t size : {1, 2, 3, 20}) {
      for (const std::int64_t shift : {1, 2, 3, 7}) {
        for (const std::int64_t stride : {1, 2, 5}) {
          for (const bool drop : {false, true}) {
            const WindowOptions options{
                .shift = shift, .stride = stride, .drop_remainder = drop};
            const Dataset ds = Dataset::range(n).window(size, options);
            const auto expected = model(n, size, shift, stride, drop);
            EXPECT_EQ(windows(ds), expected) << n << " " << size << " " << shift
                                             << " " << stride << " " << drop;
            EXPECT_EQ(ds.cardinality().value(),
                      static_cast<std::int64_t>(expected.size()));
          }
        }
      }
    }
  }
}

TEST(Window, ShiftsByItsSizeIfNotTold) {
  EXPECT_THAT(windows(testing::stream(5).window(2)),
              ElementsAre("0 1", "2 3", "4"));
}

TEST(Window, EveryLeafBecomesADataset) {
  const Dataset ds = Dataset::zip({{"a", Dataset::range(3)},
                                   {"b", Dataset::range(3).enumerate(5)}})
                         .window(2);
  EXPECT_THAT(windows(ds), ElementsAre("0 1 | 5 6 | 0 1", "2 | 7 | 2"));
  const Element first = ds.take(1).to_list().front();
  EXPECT_EQ(first.structure()->keys()[1], "b");
  EXPECT_EQ(Dataset::of(first[0]).element_spec(), Spec::scalar<std::int64_t>());
  EXPECT_EQ(Dataset::of(first[0]).cardinality().value(), 2);
  EXPECT_EQ(Dataset::of(first[2]).at(1).to_string(), "1");
}

TEST(Window, ARaggedValueStaysWhole) {
  const Dataset ds = Dataset::range(2).map([](const Element& e) {
    const std::int64_t x = e[0].value<std::int64_t>();
    return Element::tuple(
        {Element::ragged(Tensor::from<std::int64_t>({x, x + 1}),
                         {Tensor::from<std::int64_t>({0, 1 + x, 2})}),
         Element::absent()});
  });
  const Element window = ds.window(2).to_list().front();
  ASSERT_EQ(window.size(), 1u);
  const auto inner = Dataset::of(window[0]).to_list();
  ASSERT_EQ(inner.size(), 2u);
  EXPECT_EQ(inner[1], ds.to_list()[1].child(0));
}

TEST(Window, DatasetsOfAWindowAreDatasets) {
  const auto sums = Dataset::range(7)
                        .window(3, {.shift = 2, .drop_remainder = true})
                        .map([](const Element& w) {
                          return Dataset::of(w[0]).batch(3).at(0);
                        });
  EXPECT_THAT(show(sums), ElementsAre("[0, 1, 2]", "[2, 3, 4]", "[4, 5, 6]"));
}

TEST(Window, OutlivesItsIterator) {
  std::vector<Element> kept;
  {
    Iterator it = Dataset::range(2000).window(100, {.shift = 50}).iterator();
    while (auto window = it.next()) kept.push_back(*std::move(window));
  }
  ASSERT_EQ(kept.size(), 40u);
  EXPECT_EQ(Dataset::of(kept[1][0]).at(0).to_string(), "50");
}

TEST(Window, WithAnErrorInItIsOneError) {
  EXPECT_THAT(
      windows(testing::with_error(7, 3).window(2)),
      ElementsAre("0 1", "<map#1: element 3: bad element>", "4 5", "6"));
  EXPECT_THAT(windows(testing::with_error(7, 3).window(2, {.shift = 4})),
              ElementsAre("0 1", "4 5"));
  EXPECT_THAT(
      windows(testing::with_error(6, 1).window(2, {.shift = 4, .stride = 2})),
      ElementsAre("0 2", "4"));
}

TEST(Window, ElementsMustHaveOneStructure) {
  const Dataset ds = Dataset::range(4).map([](const Element& e) {
    return e[0].value<std::int64_t>() == 1 ? Element::tuple({e, e}) : e;
  });
  EXPECT_FALSE(ds.window(2).element_spec().known());
  EXPECT_THAT(windows(ds.window(2)),
              ElementsAre(HasSubstr("differ in structure"), "2 3"));
}

TEST(Window, RefusesBadArguments) {
  const auto status = [](std::int64_t size, WindowOptions options) {
    return std::string(build_status([&] {
                         return Dataset::range(3).window(size, options);
                       }).message());
  };
  EXPECT_EQ(status(0, {}), "window: size must be >= 1, got 0");
  EXPECT_EQ(status(1, {.shift = 0}), "window: shift must be >= 1, got 0");
  EXPECT_EQ(status(1, {.stride = -2}), "window: stride must be >= 1, got -2");
}

TEST(Window, ResumesAnywhere) {
  const auto resumes = [](std::int64_t size, WindowOptions options) {
    testing::expect_resumes_everywhere([=] {
      return testing::stream(23)
          .window(size, options)
          .map([](const Element& w) {
            return Element(Tensor::string(
                absl::StrCat(Dataset::of(w[0]).at(0).to_string(), "..",
                             Dataset::of(w[0]).cardinality().to_string())));
          });
    });
  };
  resumes(4, {});
  resumes(5, {.shift = 2});
  resumes(2, {.shift = 5});
  resumes(3, {.shift = 1, .stride = 3, .drop_remainder = true});
}

TEST(Window, ShufflesItsElements) {
  const auto shuffled = [](std::int64_t n, std::int64_t size,
                           std::int64_t buffer) {
    return Dataset::range(n).window(size).flat_map([buffer](const Element& w) {
      return Dataset::of(w[0]).shuffle({.buffer_size = buffer, .seed = 3});
    });
  };
  for (const std::int64_t buffer :
       {std::int64_t{8}, std::int64_t{40}, kGlobal}) {
    const auto order = show(shuffled(40, 40, buffer));
    auto sorted = order;
    std::sort(sorted.begin(), sorted.end());
    auto all = show(Dataset::range(40));
    EXPECT_NE(order, all) << buffer;
    std::sort(all.begin(), all.end());
    EXPECT_EQ(sorted, all) << buffer;
    testing::expect_resumes_everywhere([=] { return shuffled(24, 6, buffer); });
  }
}

}  // namespace
}  // namespace penstock

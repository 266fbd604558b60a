#include "penstock/ops/flat_map/flat_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "penstock/penstock.h"
#include "tests/support/show.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::outcomes;
using testing::values;

Dataset streamed(std::int64_t start, std::int64_t stop) {
  return Dataset::range(start, stop).filter([](std::int64_t) { return true; });
}

TEST(FlatMap, GivesTheElementsOfEachDatasetInOrder) {
  const auto ds = Dataset::range(4).flat_map(
      [](std::int64_t x) { return Dataset::range(x); });
  EXPECT_THAT(values(ds), ElementsAre(0, 0, 1, 0, 1, 2));
}

TEST(FlatMap, OverAnEmptyInputIsEmptyAndSaysSo) {
  const auto ds = Dataset::range(0).flat_map(
      [](std::int64_t x) { return Dataset::range(x); });
  EXPECT_EQ(ds.cardinality(), Cardinality(0));
  EXPECT_THAT(values(ds), IsEmpty());
}

TEST(FlatMap, EndsWhenEveryDatasetIsEmpty) {
  const auto ds = Dataset::range(1000).flat_map(
      [](std::int64_t) { return Dataset::range(0); });
  EXPECT_THAT(values(ds), IsEmpty());
}

TEST(FlatMap, CardinalityFollowsTheInput) {
  const auto fn = [](std::int64_t x) { return Dataset::range(x); };
  EXPECT_TRUE(Dataset::range(3).flat_map(fn).cardinality().is_unknown());
  EXPECT_TRUE(
      Dataset::range(3).repeat().flat_map(fn).cardinality().is_infinite());
}

TEST(FlatMap, SpecIsUnknownUnlessDeclared) {
  const auto fn = [](std::int64_t x) { return Dataset::range(x); };
  EXPECT_FALSE(Dataset::range(3).flat_map(fn).element_spec().known());
  EXPECT_EQ(
      Dataset::range(3)
          .flat_map(fn, {.output_signature = Spec::scalar<std::int64_t>()})
          .element_spec(),
      Spec::scalar<std::int64_t>());
}

TEST(FlatMap, ElementsThatBreakTheDeclaredSpecAreErrors) {
  for (const bool opened : {false, true}) {
    const auto ds = Dataset::range(3).flat_map(
        [opened](std::int64_t x) {
          Dataset inner =
              opened ? streamed(x, x + 1) : Dataset::range(x, x + 1);
          return x == 1 ? inner.batch(1) : inner;
        },
        {.output_signature = Spec::scalar<std::int64_t>()});
    const auto got = outcomes(ds);
    ASSERT_EQ(got.size(), 3u);
    EXPECT_EQ(got[0], "0");
    EXPECT_THAT(got[1], HasSubstr("flat_map#1: element 1.0: "));
    EXPECT_EQ(got[2], "2");
  }
}

TEST(FlatMap, DatasetsOfDifferentStructureFollowEachOther) {
  const auto ds = Dataset::range(3).flat_map([](std::int64_t x) {
    return x == 1 ? Dataset::range(2).batch(2) : Dataset::range(x, x + 1);
  });
  const auto got = ds.to_list();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(got[1][0].shape(), (Shape{2}));
  EXPECT_EQ(got[2][0].value<std::int64_t>(), 2);
}

TEST(FlatMap, LargeAndStreamedDatasetsAreOpened) {
  const auto ds = Dataset::range(3).flat_map([](std::int64_t x) {
    return x == 1 ? streamed(0, 5000) : Dataset::range(5000);
  });
  const auto got = values(ds);
  ASSERT_EQ(got.size(), 15000u);
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i], static_cast<std::int64_t>(i % 5000)) << i;
  }
}

TEST(FlatMap, AFailingFunctionMakesOneErrorAtItsPlace) {
  const auto ds =
      Dataset::range(4).flat_map([](std::int64_t x) -> StatusOr<Dataset> {
        if (x == 1) return absl::NotFoundError("no such file");
        if (x == 2) throw std::runtime_error("boom");
        return Dataset::range(x, x + 1);
      });
  EXPECT_THAT(
      outcomes(ds),
      ElementsAre("0", "flat_map#1: element 1: no such file",
                  "flat_map#1: element 2: the function threw: boom", "3"));
}

TEST(FlatMap, WrongArgumentsInsideTheFunctionKeepTheirMessage) {
  const auto ds = Dataset::range(1).flat_map(
      [](std::int64_t) { return Dataset::range(3).batch(0); });
  EXPECT_THAT(outcomes(ds),
              ElementsAre("flat_map#1: element 0: batch: batch_size must be "
                          ">= 1, got 0"));
}

TEST(FlatMap, ErrorsOfTheInputPassWithoutACall) {
  std::atomic<int> calls{0};
  const auto ds = Dataset::range(3)
                      .map([](std::int64_t x) {
                        if (x == 1) throw std::runtime_error("bad");
                        return x;
                      })
                      .flat_map([&](std::int64_t x) {
                        ++calls;
                        return Dataset::range(x, x + 1);
                      });
  EXPECT_THAT(outcomes(ds),
              ElementsAre("0", HasSubstr("map#1: element 1: "), "2"));
  EXPECT_EQ(calls, 2);
}

TEST(FlatMap, ErrorsInsideNestedDatasetsNameStageAndElement) {
  const auto ds = Dataset::range(2).flat_map([](std::int64_t x) {
    return Dataset::range(2).map([x](std::int64_t y) {
      if (x == 1 && y == 0) throw std::runtime_error("bad");
      return y;
    });
  });
  EXPECT_THAT(
      outcomes(ds),
      ElementsAre("0", "1",
                  "flat_map#1.map#1: element 1.0: the function threw: bad",
                  "1"));
}

TEST(FlatMap, RefusesAFunctionThatCannotTakeTheElement) {
  EXPECT_THROW(
      {
        Dataset::range(2).flat_map(
            [](float, float) { return Dataset::range(1); });
      },
      Error);
  try {
    Dataset::range(2).flat_map([](float) { return Dataset::range(1); });
    FAIL();
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("flat_map: argument 0 of the function"));
  }
}

TEST(FlatMap, BehindAnUnknownSpecArgumentsAreCheckedAtRunTime) {
  const auto ds = Dataset::range(2)
                      .map([](const Element& e) -> Element { return e; })
                      .flat_map([](float) { return Dataset::range(1); });
  EXPECT_THAT(outcomes(ds),
              ElementsAre(HasSubstr("takes float32"), HasSubstr("float32")));
}

TEST(FlatMap, TakesWholeElements) {
  const auto ds = Dataset::range(2).flat_map([](const Element& e) {
    return Dataset::range(e[0].value<std::int64_t>() + 1);
  });
  EXPECT_THAT(values(ds), ElementsAre(0, 0, 1));
}

TEST(FlatMap, CallsTheFunctionOncePerElement) {
  std::atomic<int> calls{0};
  const auto ds = Dataset::range(500).flat_map([&](std::int64_t x) {
    ++calls;
    return x % 2 ? Dataset::range(2) : streamed(0, 2);
  });
  EXPECT_EQ(values(ds).size(), 1000u);
  EXPECT_EQ(calls, 500);
}

TEST(FlatMap, RandomValuesDoNotDependOnHowADatasetIsRead) {
  const auto draw = [](std::int64_t, RandomStream& random) {
    return random.next_u64();
  };
  // The stage numbers inside are equal, so only reading differs.
  const auto make = [&](bool opened) {
    return Dataset::range(5)
        .flat_map([opened](std::int64_t) {
          return opened ? Dataset::range(3).take(3).shuffle(1)
                        : Dataset::range(3).take(3).skip(0);
        })
        .map(draw)
        .with_options({.seed = 3});
  };
  const auto a = make(false).to_list();
  const auto b = make(true).to_list();
  EXPECT_EQ(a, b);
  // Equal inner indices under different outer elements draw differently.
  EXPECT_NE(a[0], a[3]);
}

TEST(FlatMap, StateStaysSmallAndRestoresAnywhere) {
  const auto ds = Dataset::range(50).flat_map([](std::int64_t x) {
    return x % 2 ? streamed(100 * x, 100 * x + 7)
                 : Dataset::range(100 * x, 100 * x + 5);
  });
  const auto all = values(ds);
  Iterator it = ds.iterator();
  for (std::size_t i = 0; i <= all.size(); ++i) {
    const std::string state = it.state_dict();
    ASSERT_LT(state.size(), 1000u);
    Iterator restored = ds.iterator(state);
    for (std::size_t k = i; k < std::min(all.size(), i + 20); ++k) {
      ASSERT_EQ((*restored.next())[0].value<std::int64_t>(), all[k]) << i;
    }
    it.next();
  }
}

TEST(FlatMap, NothingRunsAheadOfPrefetchZero) {
  std::atomic<int> calls{0};
  const auto ds = Dataset::range(100)
                      .flat_map([&](std::int64_t x) {
                        ++calls;
                        return Dataset::range(x, x + 1);
                      })
                      .prefetch(0);
  Iterator it = ds.iterator();
  for (int i = 1; i <= 10; ++i) {
    ASSERT_TRUE(it.next().has_value());
    EXPECT_EQ(calls, i);
  }
}

// What a nested dataset holds is charged to nobody before it is opened.
TEST(FlatMap, MakesNoMoreDatasetsThanAreReadSoon) {
  std::atomic<int> made{0};
  std::atomic<bool> open{false};
  const auto ds = Dataset::range(100'000).flat_map([&](std::int64_t x) {
    ++made;
    return Dataset::range(40 * x, 40 * x + 40)
        .map(
            [&](std::int64_t y) {
              while (y >= 400 && !open) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
              }
              return y;
            },
            {.num_parallel_calls = 1});
  });
  Iterator it = ds.iterator();
  for (int i = 0; i < 400; ++i) {
    ASSERT_EQ((*it.next())[0].value<std::int64_t>(), i);
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  // Those that were read, 16 and what is opened beside them, and a width.
  EXPECT_LE(made, 10 + 16 + 64);
  open = true;
  ASSERT_EQ((*it.next())[0].value<std::int64_t>(), 400);
}

TEST(FlatMap, ReadsSmallDatasetsInLongBlocksAlsoBehindOnesThatAreOpened) {
  const auto ds = Dataset::range(20'000).flat_map([](std::int64_t x) {
    return x < 40 ? streamed(0, 3) : Dataset::range(3);
  });
  Iterator it = ds.iterator();
  std::int64_t n = 0;
  while (it.next()) ++n;
  EXPECT_EQ(n, 60'000);
  for (const StageStats& stage : it.stats().stages) {
    if (stage.stage == "range#0") {
      EXPECT_LT(stage.blocks, 1000);
    }
  }
}

TEST(FlatMap, ADamagedStateIsRefusedNotFollowed) {
  const auto ds =
      Dataset::range(5).flat_map([](std::int64_t x) { return streamed(0, x); });
  Iterator it = ds.iterator();
  for (int i = 0; i < 4; ++i) it.next();
  std::string state = it.state_dict();
  state[state.size() / 2] = static_cast<char>(state[state.size() / 2] ^ 1);
  EXPECT_THROW(ds.iterator(state), Error);
}

}  // namespace
}  // namespace penstock

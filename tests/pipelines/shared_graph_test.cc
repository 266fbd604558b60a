// Graphs in which a dataset is used more than once.
#include <gtest/gtest.h>

#include "penstock/penstock.h"

namespace penstock {
namespace {

Dataset doubled(Dataset dataset, int times) {
  for (int i = 0; i < times; ++i) dataset = dataset.concatenate(dataset);
  return dataset;
}

TEST(SharedGraph, IsNotVisitedOncePerPath) {
  const Dataset many = doubled(Dataset::range(3), 40);
  EXPECT_EQ(many.cardinality(), Cardinality(std::int64_t{3} << 40));
  EXPECT_EQ(many.fingerprint(), doubled(Dataset::range(3), 40).fingerprint());
  EXPECT_NE(many.fingerprint(), doubled(Dataset::range(3), 39).fingerprint());
  EXPECT_LT(many.explain().size(), 20'000u);
  Iterator it = many.iterator();
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ((*it.next())[0].value<std::int64_t>(), i % 3);
  }
  Iterator restored = many.iterator(it.state_dict());
  EXPECT_EQ((*restored.next())[0].value<std::int64_t>(), 1);
}

// 100,000 of them overflowed the stack when they were planned or destroyed.
TEST(LongGraph, HasALimitThatIsSaid) {
  const auto plus_one = [](std::int64_t x) { return x + 1; };
#ifdef PENSTOCK_SANITIZED
  constexpr int kRun = 1000;  // frames are several times as large there
#else
  constexpr int kRun = 4000;
#endif
  Dataset maps = Dataset::range(3);
  for (int i = 1; i < kRun; ++i) maps = maps.map(plus_one);
  try {
    Dataset longer = maps;
    for (int i = kRun; i <= 4000; ++i) longer = longer.map(plus_one);
    FAIL() << "4,001 stages";
  } catch (const Error& e) {
    EXPECT_EQ(e.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(std::string(e.what()).find("map: a chain has at most 4000"),
              std::string::npos)
        << e.what();
  }
  EXPECT_EQ(maps.at(1)[0].value<std::int64_t>(), kRun);
  Iterator it = maps.iterator();
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), kRun - 1);
  Iterator restored = maps.iterator(it.state_dict());
  EXPECT_EQ((*restored.next())[0].value<std::int64_t>(), kRun);
}

TEST(LongGraph, ContinuesFromAStateOfAllItsStages) {
  Dataset ds = Dataset::from_generator([] {
    return [i = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
      if (i == 3) return std::nullopt;
      return i++;
    };
  });
  for (int i = 0; i < 1200; ++i) ds = ds.skip(0);
  Iterator it = ds.iterator();
  EXPECT_EQ((*it.next())[0].value<std::int64_t>(), 0);
  Iterator restored = ds.iterator(it.state_dict());
  EXPECT_EQ((*restored.next())[0].value<std::int64_t>(), 1);
}

TEST(SharedGraph, IsVisitedOnceByAnErrorPolicy) {
  const Dataset odd =
      Dataset::range(4).map([](std::int64_t x) -> StatusOr<std::int64_t> {
        if (x % 2 == 0) return absl::DataLossError("even");
        return x;
      });
  Iterator it = doubled(odd, 40)
                    .with_options({.on_error = ErrorPolicy::skip()})
                    .iterator();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ((*it.next())[0].value<std::int64_t>(), i % 2 == 0 ? 1 : 3);
  }
}

TEST(SharedGraph, ExplainsAnInputThatIsUsedTwiceOnce) {
  const Dataset squares =
      Dataset::range(3).map([](std::int64_t x) { return x * x; });
  const std::string text = squares.concatenate(squares).explain();
  EXPECT_EQ(text.find("map#1"), text.rfind("map#1", text.find("plan:")))
      << text;
  EXPECT_NE(text.find("[1] as [0]"), std::string::npos) << text;
}

TEST(SharedGraph, TwoShardsOfOneDatasetAreTwo) {
  const Dataset range = Dataset::range(10);
  EXPECT_EQ(range.shard(2, 0).fingerprint(), range.shard(2, 1).fingerprint());
  EXPECT_NE(range.take(1).concatenate(range.skip(1)).fingerprint(),
            range.skip(1).concatenate(range.take(1)).fingerprint());
}

}  // namespace
}  // namespace penstock

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

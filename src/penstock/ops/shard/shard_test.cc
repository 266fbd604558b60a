#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "tests/support/show.h"

namespace penstock {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::build_status;
using testing::show;

TEST(Shard, TakesEveryNthElement) {
  EXPECT_THAT(show(Dataset::range(10).shard(3, 0)),
              ElementsAre("0", "3", "6", "9"));
  EXPECT_THAT(show(Dataset::range(10).shard(3, 2)), ElementsAre("2", "5", "8"));
  EXPECT_THAT(show(testing::stream(10).shard(3, 1)),
              ElementsAre("1", "4", "7"));
  EXPECT_THAT(show(testing::stream(3).shard(1, 0)), ElementsAre("0", "1", "2"));
}

TEST(Shard, OfAShardAndOfAnEmptyDataset) {
  EXPECT_THAT(show(Dataset::range(24).shard(2, 1).shard(3, 2)),
              ElementsAre("5", "11", "17", "23"));
  EXPECT_THAT(show(Dataset::range(0).shard(4, 3)), IsEmpty());
  EXPECT_THAT(show(testing::stream(2).shard(4, 3)), IsEmpty());
}

TEST(Shard, CountsErrorsAsElements) {
  EXPECT_THAT(show(testing::with_error(6, 3).shard(2, 1)),
              ElementsAre("1", "<map#1: element 3: bad element>", "5"));
  EXPECT_THAT(show(testing::with_error(6, 3).shard(2, 0)),
              ElementsAre("0", "2", "4"));
}

TEST(Shard, KnowsItsCardinality) {
  for (std::int64_t n : {0, 1, 5, 6, 7}) {
    for (std::int64_t i = 0; i < 3; ++i) {
      const Dataset ds = Dataset::range(n).shard(3, i);
      EXPECT_EQ(ds.cardinality().value(),
                static_cast<std::int64_t>(ds.to_list().size()));
    }
  }
  EXPECT_TRUE(Dataset::range(3).repeat().shard(2, 0).cardinality()
                  .is_infinite());
  EXPECT_TRUE(testing::stream(3).shard(2, 0).cardinality().is_unknown());
}

TEST(Shard, RefusesBadArguments) {
  const auto shard = [](std::int64_t n, std::int64_t i) {
    return build_status([=] { return Dataset::range(3).shard(n, i); });
  };
  EXPECT_EQ(shard(0, 0).message(), "shard: num_shards must be >= 1, got 0");
  EXPECT_EQ(shard(2, 2).message(), "shard: index must be in [0, 2), got 2");
  EXPECT_EQ(shard(2, -1).message(), "shard: index must be in [0, 2), got -1");
}

TEST(Shard, GivesRandomAccess) {
  testing::expect_random_access(Dataset::range(20).shard(3, 1));
  testing::expect_random_access(Dataset::range(20).shuffle(kGlobal, 7)
                                    .shard(3, 1));
  testing::expect_random_access(Dataset::range(20).shard(3, 1)
                                    .shuffle(kGlobal, 7));
  EXPECT_EQ(Dataset::range(10).repeat().shard(3, 1).at(1'000'000'000).to_string(),
            "1");
}

TEST(Shard, ResumesAnywhere) {
  testing::expect_resumes_everywhere(
      [] { return Dataset::range(20).shard(3, 1); });
  testing::expect_resumes_everywhere(
      [] { return testing::stream(20).shard(3, 1); });
  testing::expect_resumes_everywhere(
      [] { return Dataset::range(40).shuffle(5, 3).shard(3, 1); });
}

TEST(Shard, IsNotPartOfTheFingerprint) {
  EXPECT_EQ(Dataset::range(9).shard(4, 1).fingerprint(),
            Dataset::range(9).shard(2, 0).fingerprint());
}

// Every shard has read 6 elements: the first 24 are done, whoever goes on.
TEST(Shard, AnIndexedStateMovesToAnotherShardCount) {
  const auto sharded = [](std::int64_t n, std::int64_t i) {
    return Dataset::range(30)
        .shard(n, i)
        .map([](std::int64_t x) { return x * 10; })
        .with_options({});
  };
  Iterator one = sharded(4, 1).iterator();
  show(one, 6);
  std::vector<std::string> rest;
  for (std::int64_t i = 0; i < 2; ++i) {
    Iterator it = sharded(2, i).iterator(one.state_dict());
    for (std::string& e : show(it)) rest.push_back(std::move(e));
  }
  EXPECT_THAT(rest, ::testing::UnorderedElementsAre("240", "250", "260", "270",
                                                    "280", "290"));
}

using Build = std::function<Dataset(std::int64_t, std::int64_t)>;

// Each of `from` shards reads `each` elements; whichever state the `to` shards
// go on from, together they give what is left, in their order.
void expect_moves(const Build& sharded, std::int64_t from, std::int64_t to,
                  std::int64_t each) {
  std::vector<std::string> left = show(sharded(1, 0));
  std::vector<std::string> states;
  for (std::int64_t i = 0; i < from; ++i) {
    Iterator it = sharded(from, i).iterator();
    for (const std::string& e : show(it, each)) {
      const auto found = std::find(left.begin(), left.end(), e);
      ASSERT_NE(found, left.end()) << e;
      left.erase(found);
    }
    states.push_back(it.state_dict());
  }
  for (const std::string& state : states) {
    std::vector<std::string> rest;
    for (std::int64_t i = 0; i < to; ++i) {
      Iterator it = sharded(to, i).iterator(state);
      const std::vector<std::string> some = show(it, 2);
      // Once more from inside the new shard.
      Iterator again = sharded(to, i).iterator(it.state_dict());
      const std::vector<std::string> more = show(again);
      EXPECT_EQ(show(it), more);
      rest.insert(rest.end(), some.begin(), some.end());
      rest.insert(rest.end(), more.begin(), more.end());
    }
    EXPECT_THAT(rest, ::testing::UnorderedElementsAreArray(left));
  }
}

TEST(Shard, StatesOfIndexedChainsMoveBetweenShardCounts) {
  const auto tenfold = [](std::int64_t x) { return x * 10; };
  const std::vector<std::pair<std::string, Build>> chains = {
      {"shard, map",
       [=](auto n, auto i) {
         return Dataset::range(60).shard(n, i).map(tenfold);
       }},
      {"map, shard",
       [=](auto n, auto i) {
         return Dataset::range(60).map(tenfold).shard(n, i);
       }},
      {"global shuffle, shard, map",
       [=](auto n, auto i) {
         return Dataset::range(60).shuffle(kGlobal, 7).shard(n, i).map(tenfold);
       }},
      {"map, global shuffle, shard",
       [=](auto n, auto i) {
         return Dataset::range(60).map(tenfold).shuffle(kGlobal, 7).shard(n, i);
       }},
      {"shard, repeat",
       [](auto n, auto i) { return Dataset::range(60).shard(n, i).repeat(2); }},
      {"shard, map, repeat, map",
       [=](auto n, auto i) {
         return Dataset::range(60).shard(n, i).map(tenfold).repeat(2).map(
             tenfold);
       }},
      {"shard, two repeats",
       [](auto n, auto i) {
         return Dataset::range(60).shard(n, i).repeat(2).prefetch().repeat(2);
       }},
      {"global shuffle, shard, repeat",
       [](auto n, auto i) {
         return Dataset::range(60)
             .shuffle({.buffer_size = kGlobal, .seed = 7})
             .shard(n, i)
             .repeat(2);
       }},
      {"global shuffle, repeat, shard",
       [](auto n, auto i) {
         return Dataset::range(60).shuffle(kGlobal, 7).repeat(2).shard(n, i);
       }},
      {"batch, global shuffle, shard",
       [](auto n, auto i) {
         return Dataset::range(240).batch(4).shuffle(kGlobal, 7).shard(n, i);
       }},
  };
  for (const auto& [name, build] : chains) {
    SCOPED_TRACE(name);
    expect_moves(build, 4, 2, 6);
    expect_moves(build, 2, 4, 11);
    expect_moves(build, 3, 5, 1);
    expect_moves(build, 4, 1, 0);
    if (build(1, 0).cardinality() == Cardinality(120)) {
      // In the second repetition, and between the two.
      expect_moves(build, 4, 3, 15);
      expect_moves(build, 4, 3, 20);
    }
  }
}

TEST(Shard, AStateBehindARepeatThatOpensItsInputDoesNotMove) {
  const auto sharded = [](std::int64_t n, std::int64_t i) {
    return Dataset::range(40).shard(n, i).prefetch(2).repeat(2);
  };
  Iterator it = sharded(4, 1).iterator();
  show(it, 2);
  const std::string state = it.state_dict();
  EXPECT_EQ(build_status([&] {
              (void)sharded(2, 0).iterator(state);
              return sharded(2, 0);
            }).code(),
            StatusCode::kFailedPrecondition);
}

Status resume_status(const Dataset& from, const Dataset& to) {
  Iterator it = from.iterator();
  show(it, 2);
  const std::string state = it.state_dict();
  return build_status([&] {
    Iterator resumed = to.iterator(state);
    show(resumed);
    return to;
  });
}

TEST(Shard, RefusesAStateThatCannotMove) {
  const auto streamed = [](std::int64_t n, std::int64_t i) {
    return testing::stream(40).shard(n, i);
  };
  const Status status = resume_status(streamed(4, 1), streamed(2, 0));
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("it was saved under another shard(num_shards, "
                        "index)"));
  EXPECT_TRUE(resume_status(streamed(4, 1), streamed(4, 1)).ok());
}

TEST(Shard, RefusesToMoveWhatPicksElementsBehindIt) {
  const auto taken = [](std::int64_t n, std::int64_t i) {
    return Dataset::range(40).shard(n, i).take(5);
  };
  EXPECT_EQ(resume_status(taken(4, 1), taken(2, 0)).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(resume_status(taken(4, 1), taken(4, 1)).ok());
  const auto window = [](std::int64_t n, std::int64_t i) {
    return Dataset::range(40).shard(n, i).shuffle(4, 1);
  };
  EXPECT_EQ(resume_status(window(4, 1), window(2, 0)).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(resume_status(window(4, 1), window(4, 1)).ok());
}

}  // namespace
}  // namespace penstock

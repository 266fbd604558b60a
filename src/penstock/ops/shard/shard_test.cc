#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "tests/support/show.h"

namespace penstock {
namespace {

using testing::build_status;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::show;

TEST(Shard, TakesEveryNthElement) {
  EXPECT_THAT(show(Dataset::range(10).shard(3, 0)),
              ElementsAre("0", "3", "6", "9"));
  EXPECT_THAT(show(Dataset::range(10).shard(3, 2)), ElementsAre("2", "5", "8"));
  EXPECT_THAT(show(testing::stream(10).shard(3, 1)),
              ElementsAre("1", "4", "7"));
  EXPECT_THAT(show(testing::stream(3).shard(1, 0)), ElementsAre("0", "1", "2"));
}

TEST(Shard, AsManyShardsAsThereAreNumbers) {
  constexpr std::int64_t kMany = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(show(testing::stream(5).shard(kMany, 3)), ElementsAre("3"));
  EXPECT_THAT(show(testing::stream(5).shard(kMany, kMany - 1)), IsEmpty());
  EXPECT_THAT(show(Dataset::range(5).shard(kMany, 3)), ElementsAre("3"));
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
  EXPECT_TRUE(
      Dataset::range(3).repeat().shard(2, 0).cardinality().is_infinite());
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
  testing::expect_random_access(
      Dataset::range(20).shuffle(kGlobal, 7).shard(3, 1));
  testing::expect_random_access(
      Dataset::range(20).shard(3, 1).shuffle(kGlobal, 7));
  EXPECT_EQ(
      Dataset::range(10).repeat().shard(3, 1).at(1'000'000'000).to_string(),
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
      {"map, batch, shard",
       [=](auto n, auto i) {
         return Dataset::range(240).map(tenfold).batch(4).shard(n, i);
       }},
      {"global shuffle, batch, shard, map of batches",
       [](auto n, auto i) {
         return Dataset::range(240)
             .shuffle(kGlobal, 7)
             .batch(4)
             .shard(n, i)
             .map([](const Element& e) { return e; })
             .prefetch(2);
       }},
      {"batches of batches, shard",
       [](auto n, auto i) {
         return Dataset::range(479).batch(4).batch(2).shard(n, i);
       }},
      {"zip, shard",
       [](auto n, auto i) {
         return Dataset::zip({Dataset::range(60), Dataset::range(100, 170)})
             .shard(n, i);
       }},
      {"concatenate, shard",
       [](auto n, auto i) {
         return Dataset::range(31)
             .concatenate(Dataset::range(100, 129))
             .shard(n, i);
       }},
      {"skip, take, enumerate, shard",
       [](auto n, auto i) {
         return Dataset::range(90).skip(5).take(60).enumerate().shard(n, i);
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

TEST(Shard, AStateBehindABatchMovesTwice) {
  const auto sharded = [](std::int64_t n, std::int64_t i) {
    return Dataset::range(300).batch(3).shard(n, i);
  };
  std::vector<std::string> left = show(sharded(1, 0));
  std::string state;
  for (const auto& [shards, each] : {std::pair{4, 6}, {5, 3}, {3, 7}}) {
    std::string next;
    for (std::int64_t i = 0; i < shards; ++i) {
      Iterator it = sharded(shards, i).iterator(state);
      for (const std::string& e : show(it, each)) {
        const auto found = std::find(left.begin(), left.end(), e);
        ASSERT_NE(found, left.end()) << e;
        left.erase(found);
      }
      next = it.state_dict();
    }
    state = next;
  }
  EXPECT_EQ(left.size(), 100U - 4 * 6 - 5 * 3 - 3 * 7);
  Iterator rest = sharded(1, 0).iterator(state);
  EXPECT_EQ(show(rest), left);
}

// Batches differ by where the move happened, their elements do not.
TEST(Shard, StatesOfBatchesMoveBetweenShardCounts) {
  const auto tenfold = [](std::int64_t x) { return x * 10; };
  const std::vector<std::pair<std::string, Build>> chains = {
      {"shard, batch",
       [](auto n, auto i) { return Dataset::range(90).shard(n, i).batch(4); }},
      {"global shuffle, shard, map, batch, prefetch",
       [=](auto n, auto i) {
         return Dataset::range(90)
             .shuffle(kGlobal, 7)
             .shard(n, i)
             .map(tenfold)
             .batch(4)
             .prefetch(2);
       }},
      {"shard, map, batch, map of batches",
       [=](auto n, auto i) {
         return Dataset::range(90).shard(n, i).map(tenfold).batch(4).map(
             [](const Element& e) { return e; });
       }},
      {"shard, repeat, batch",
       [](auto n, auto i) {
         return Dataset::range(90).shard(n, i).repeat(2).batch(4);
       }},
      {"shard, padded batch",
       [](auto n, auto i) {
         return Dataset::range(90).shard(n, i).padded_batch(4);
       }},
  };
  const auto numbers = [](Iterator& it, std::int64_t batches) {
    std::vector<std::int64_t> values;
    for (; batches != 0; --batches) {
      auto batch = it.next();
      if (!batch) break;
      const auto some = (*batch)[0].as<std::int64_t>();
      values.insert(values.end(), some.begin(), some.end());
    }
    return values;
  };
  for (const auto& [name, build] : chains) {
    for (const auto& [from, to, each] : {std::array<std::int64_t, 3>{4, 2, 3},
                                         {2, 4, 5},
                                         {3, 5, 1},
                                         {2, 1, 11},
                                         {1, 3, 7},
                                         {2, 3, 0},
                                         {3, 2, 100}}) {
      SCOPED_TRACE(absl::StrCat(name, ": ", from, " to ", to, " after ", each));
      Iterator whole = build(1, 0).iterator();
      std::vector<std::int64_t> left = numbers(whole, -1);
      std::string state;
      for (std::int64_t i = 0; i < from; ++i) {
        Iterator it = build(from, i).iterator();
        for (std::int64_t x : numbers(it, each)) {
          const auto found = std::find(left.begin(), left.end(), x);
          ASSERT_NE(found, left.end()) << x;
          left.erase(found);
        }
        state = it.state_dict();
      }
      std::vector<std::int64_t> rest;
      for (std::int64_t i = 0; i < to; ++i) {
        Iterator it = build(to, i).iterator(state);
        const auto some = numbers(it, 2);
        Iterator again = build(to, i).iterator(it.state_dict());
        const auto more = numbers(again, -1);
        EXPECT_EQ(numbers(it, -1), more);
        rest.insert(rest.end(), some.begin(), some.end());
        rest.insert(rest.end(), more.begin(), more.end());
      }
      EXPECT_THAT(rest, ::testing::UnorderedElementsAreArray(left));
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
  const auto batches_of_batches = [](std::int64_t n, std::int64_t i) {
    return Dataset::range(40).shard(n, i).batch(2).batch(2);
  };
  EXPECT_EQ(
      resume_status(batches_of_batches(4, 1), batches_of_batches(2, 0)).code(),
      StatusCode::kFailedPrecondition);
  EXPECT_TRUE(
      resume_status(batches_of_batches(4, 1), batches_of_batches(4, 1)).ok());
  const auto unordered = [](std::int64_t n, std::int64_t i) {
    return Dataset::range(40).shard(n, i).map([](std::int64_t x) { return x; },
                                              {.deterministic = false});
  };
  EXPECT_EQ(resume_status(unordered(4, 1), unordered(2, 0)).code(),
            StatusCode::kFailedPrecondition);
  EXPECT_TRUE(resume_status(unordered(4, 1), unordered(4, 1)).ok());
}

}  // namespace
}  // namespace penstock

// The runtime under thousands of simulated schedules.
//
// PENSTOCK_SIM_SEEDS says how many (300), PENSTOCK_SIM_FIRST which is the
// first.
#include "penstock/runtime/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "penstock/penstock.h"
#include "penstock/runtime/iterator.h"

namespace penstock {
namespace {

int number_of(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoi(text) : otherwise;
}
int seeds() { return number_of("PENSTOCK_SIM_SEEDS", 300); }
int first_seed() { return number_of("PENSTOCK_SIM_FIRST", 0); }
int end_seed() { return first_seed() + seeds(); }

// A pipeline drawn from a seed, and what it must give: values, or -1 for an
// error in its place.
struct Drawn {
  Dataset dataset;
  std::vector<std::int64_t> expected;
  bool ordered = true;
  bool reproducible = true;  // the order is the same each time
};

MapOptions draw_call_options(RandomStream& random, Drawn& drawn) {
  MapOptions options;
  if (random.below(2) == 0) {
    options.num_parallel_calls = static_cast<std::int64_t>(1 + random.below(4));
  }
  if (random.below(4) == 0) {
    options.deterministic = false;
    drawn.ordered = false;
    drawn.reproducible = false;
  }
  return options;
}

// Every third schedule gives most blocks back.
SimulationOptions schedule(int seed) {
  SimulationOptions options;
  options.seed = static_cast<std::uint64_t>(seed);
  if (seed % 3 == 0) options.overdue = 0.7;
  return options;
}

Drawn draw(std::uint64_t seed) {
  RandomStream random(seed, 77);
  const auto n = static_cast<std::int64_t>(random.below(60));
  Drawn drawn{Dataset::range(n), {}};
  for (std::int64_t i = 0; i < n; ++i) drawn.expected.push_back(i);
  const auto stages = random.below(6);
  for (std::uint64_t k = 0; k < stages; ++k) {
    auto& values = drawn.expected;
    std::uint64_t kind = random.below(8);
    // Behind a shuffle nobody can say which elements these would drop.
    if (!drawn.ordered && (kind == 2 || kind == 3)) kind = 5;
    switch (kind) {
      case 0: {  // fails for some elements
        const auto modulus = static_cast<std::int64_t>(2 + random.below(9));
        const MapOptions options = draw_call_options(random, drawn);
        drawn.dataset = drawn.dataset.map(
            [modulus](std::int64_t x) -> StatusOr<std::int64_t> {
              if (x % modulus == 1) return absl::DataLossError("planted");
              return x + 1;
            },
            options);
        for (auto& v : values) {
          if (v >= 0) v = v % modulus == 1 ? -1 : v + 1;
        }
        break;
      }
      case 1:
        drawn.dataset =
            drawn.dataset.filter([](std::int64_t x) { return x % 3 != 0; },
                                 draw_call_options(random, drawn));
        std::erase_if(values, [](auto v) { return v >= 0 && v % 3 == 0; });
        break;
      case 2: {
        const auto count = random.below(80);
        drawn.dataset = drawn.dataset.take(static_cast<std::int64_t>(count));
        if (values.size() > count) values.resize(count);
        break;
      }
      case 3: {
        const auto count =
            std::min<std::size_t>(random.below(20), values.size());
        drawn.dataset = drawn.dataset.skip(static_cast<std::int64_t>(count));
        values.erase(values.begin(),
                     values.begin() + static_cast<std::ptrdiff_t>(count));
        break;
      }
      case 4: {
        const auto count = random.below(4);
        drawn.dataset = drawn.dataset.repeat(static_cast<std::int64_t>(count));
        const auto once = values;
        values.clear();
        for (std::uint64_t i = 0; i < count; ++i) {
          values.insert(values.end(), once.begin(), once.end());
        }
        break;
      }
      case 5:
        drawn.dataset =
            drawn.dataset.prefetch(static_cast<std::int64_t>(random.below(4)));
        break;
      case 6:
        drawn.dataset = drawn.dataset.shuffle(
            static_cast<std::int64_t>(1 + random.below(20)), seed);
        drawn.ordered = false;
        break;
      case 7:  // a call per batch; one with an error in it would be an error
        if (std::count(values.begin(), values.end(), -1) > 0) break;
        drawn.dataset =
            drawn.dataset.batch(static_cast<std::int64_t>(1 + random.below(5)))
                .map([](const Tensor& batch) { return batch; })
                .unbatch();
        break;
    }
  }
  Options options;
  if (random.below(2) == 0) {
    options.max_block_rows = static_cast<std::int64_t>(1 + random.below(8));
  }
  if (random.below(3) == 0) {
    // Just above what a window of errors holds: none may be refused.
    options.memory_budget =
        static_cast<std::int64_t>(5000 + random.below(4000));
  }
  if (random.below(4) == 0) options.fuse = false;
  drawn.dataset = drawn.dataset.with_options(options);
  return drawn;
}

std::vector<std::int64_t> run_to_end(Iterator& it) {
  std::vector<std::int64_t> out;
  for (;;) {
    auto next = it.try_next();
    if (!next.ok()) {
      if (next.status().code() == StatusCode::kCancelled) {
        out.push_back(-2);
        return out;
      }
      out.push_back(-1);
      continue;
    }
    if (!next->has_value()) return out;
    out.push_back((**next)[0].value<std::int64_t>());
  }
}

TEST(Simulation, NothingIsLostDoubledReorderedOrStuck) {
  for (int seed = first_seed(); seed < end_seed(); ++seed) {
    Drawn drawn = draw(static_cast<std::uint64_t>(seed));
    SimulationOptions options = schedule(seed);
    options.workers = 1 + seed % 4;
    Simulation simulation(options);
    std::vector<std::int64_t> got;
    {
      Iterator it = drawn.dataset.iterator_on(simulation);
      got = run_to_end(it);
    }
    ASSERT_FALSE(simulation.stuck()) << "seed " << seed << "\n"
                                     << drawn.dataset.explain();
    if (!drawn.ordered) {
      std::sort(got.begin(), got.end());
      std::sort(drawn.expected.begin(), drawn.expected.end());
    }
    ASSERT_EQ(got, drawn.expected) << "seed " << seed << "\n"
                                   << drawn.dataset.explain();
  }
}

TEST(Simulation, CancelAtAnyStepEndsAndLeavesNothing) {
  const std::int64_t held = Account::process().used();
  for (int seed = first_seed(); seed < end_seed(); ++seed) {
    const Drawn drawn = draw(static_cast<std::uint64_t>(seed));
    SimulationOptions options = schedule(seed);
    options.cancel_at = 1 + seed % 97;
    Simulation simulation(options);
    {
      Iterator it = drawn.dataset.iterator_on(simulation);
      const std::vector<std::int64_t> got = run_to_end(it);
      if (!got.empty() && got.back() == -2) {
        ASSERT_LE(got.size() - 1, drawn.expected.size()) << "seed " << seed;
      }
      it.close();
    }
    ASSERT_FALSE(simulation.stuck()) << "seed " << seed;
    ASSERT_EQ(Account::process().used(), held) << "seed " << seed;
  }
}

TEST(Simulation, SaveAndRestoreAtAnyElementContinuesExactly) {
  for (int seed = first_seed(); seed < end_seed(); ++seed) {
    const Drawn drawn = draw(static_cast<std::uint64_t>(seed));
    SimulationOptions options = schedule(seed);
    options.seed += 1'000'000;
    std::vector<std::int64_t> whole;
    {
      Simulation simulation(options);
      Iterator it = drawn.dataset.iterator_on(simulation);
      const std::string start = it.state_dict();
      whole = run_to_end(it);
      Simulation again(options);
      Iterator from_start = drawn.dataset.iterator_on(again, start);
      std::vector<std::int64_t> repeated = run_to_end(from_start);
      if (!drawn.reproducible) {
        std::sort(repeated.begin(), repeated.end());
        std::sort(whole.begin(), whole.end());
      }
      ASSERT_EQ(repeated, whole) << "seed " << seed;
    }
    const std::size_t stop = whole.empty() ? 0 : (seed * 7) % whole.size();
    // A new Dataset object counts its iterations from 0 again.
    const Drawn rebuilt = draw(static_cast<std::uint64_t>(seed));
    Simulation first(options);
    Iterator it = rebuilt.dataset.iterator_on(first);
    std::vector<std::int64_t> got;
    for (std::size_t i = 0; i < stop; ++i) {
      auto next = it.try_next();
      got.push_back(next.ok() && next->has_value()
                        ? (**next)[0].value<std::int64_t>()
                        : -1);
    }
    const std::string state = it.state_dict();
    options.workers = 1 + seed % 3;
    options.seed += 17;
    Simulation second(options);
    Iterator restored = draw(static_cast<std::uint64_t>(seed))
                            .dataset.iterator_on(second, state);
    for (std::int64_t v : run_to_end(restored)) got.push_back(v);
    ASSERT_FALSE(second.stuck()) << "seed " << seed << "\n"
                                 << rebuilt.dataset.explain();
    if (!drawn.reproducible) std::sort(got.begin(), got.end());
    ASSERT_EQ(got, whole) << "seed " << seed << " stopped at " << stop << "\n"
                          << rebuilt.dataset.explain();
  }
}

// What `dataset` gives if it is saved and restored every `elements` elements,
// by another schedule each time; one element too many at most.
std::vector<std::int64_t> run_in_pieces(const Dataset& dataset,
                                        SimulationOptions options, int elements,
                                        std::size_t at_most) {
  std::vector<std::int64_t> got;
  std::string state;
  for (;; options.seed += 1'000'000) {
    Simulation simulation(options);
    Iterator it = dataset.iterator_on(simulation, state);
    for (int i = 0; i < elements; ++i) {
      auto next = it.try_next();
      if (next.ok() && !next->has_value()) return got;
      got.push_back(next.ok() ? (**next)[0].value<std::int64_t>() : -1);
      if (got.size() > at_most) return got;
    }
    EXPECT_FALSE(simulation.stuck()) << "seed " << options.seed;
    state = it.state_dict();
  }
}

TEST(Simulation, SavedAndRestoredOverAndOverLosesAndDoublesNothing) {
  for (int seed = first_seed(); seed < end_seed(); ++seed) {
    Drawn drawn = draw(static_cast<std::uint64_t>(seed));
    std::vector<std::int64_t> got = run_in_pieces(
        drawn.dataset, schedule(seed), 1 + seed % 5, drawn.expected.size());
    if (!drawn.ordered) {
      std::sort(got.begin(), got.end());
      std::sort(drawn.expected.begin(), drawn.expected.end());
    }
    ASSERT_EQ(got, drawn.expected) << "seed " << seed << "\n"
                                   << drawn.dataset.explain();
  }
}

TEST(Simulation, RestoresRepeatTheOrderOfNestedDatasetsToo) {
  const MapOptions any_order{.deterministic = false};
  const auto keep = [](std::int64_t x) { return x % 3 != 0; };
  const auto same = [](std::int64_t x) { return x; };
  const auto nested = [=](std::int64_t x) {
    return Dataset::range(10 * x, 10 * x + 8).filter(keep, any_order);
  };
  const Dataset range = Dataset::range(5);
  const std::vector<Dataset> opening = {
      Dataset::range(24).filter(keep, any_order).repeat(2),
      range.flat_map(nested),
      range.interleave(nested, {.cycle_length = 2}),
      range.interleave(nested, {.cycle_length = 3, .deterministic = false}),
      nested(1).concatenate(nested(2)),
  };
  for (std::size_t k = 0; k < opening.size(); ++k) {
    const Dataset dataset = opening[k]
                                .map(same, any_order)
                                .shuffle(2, 7)
                                .map(same, any_order)
                                .with_options({.max_block_rows = 3});
    Iterator it = dataset.iterator();
    std::vector<std::int64_t> expected = run_to_end(it);
    std::sort(expected.begin(), expected.end());
    for (int seed = 0; seed < seeds() / 10; ++seed) {
      std::vector<std::int64_t> got =
          run_in_pieces(dataset, schedule(seed), 1 + seed % 5, expected.size());
      std::sort(got.begin(), got.end());
      ASSERT_EQ(got, expected) << "pipeline " << k << ", seed " << seed;
    }
  }
}

TEST(Simulation, RowsOfABlockThatIsGivenBackAreStillWrittenIntoTheirBatch) {
  constexpr std::int64_t kRows = 400;
  constexpr std::int64_t kBatch = 8;
  constexpr std::int64_t kNumbers = 8192;  // 32 KiB
  for (int seed = 0; seed < 20; ++seed) {
    std::vector<const void*> written(kRows);
    const Dataset dataset =
        Dataset::range(kRows)
            .map([&](std::int64_t x) {
              Tensor row = *Tensor::allocate<float>(Shape{kNumbers});
              std::ranges::fill(row.mutable_as<float>(), static_cast<float>(x));
              written[static_cast<std::size_t>(x)] = row.data();
              return row;
            })
            .batch(kBatch);
    SimulationOptions options;
    options.seed = static_cast<std::uint64_t>(seed);
    options.overdue = 0.5;
    Simulation simulation(options);
    Iterator it = dataset.iterator_on(simulation);
    std::int64_t at = 0;
    std::int64_t in_place = 0;
    while (auto batch = it.next()) {
      const auto values = (*batch)[0].as<float>();
      for (std::int64_t i = 0; i < kBatch; ++i, ++at) {
        const float* row = values.data() + i * kNumbers;
        ASSERT_EQ(row[0], static_cast<float>(at)) << "seed " << seed;
        ASSERT_EQ(row[kNumbers - 1], static_cast<float>(at));
        in_place += row == written[static_cast<std::size_t>(at)] ? 1 : 0;
      }
    }
    EXPECT_EQ(at, kRows);
    // Until the shape is known they are not.
    EXPECT_GT(in_place, kRows * 3 / 4) << "seed " << seed;
  }
}

TEST(Simulation, WithPrefetchZeroWhatWasGivenBackWaitsForTheConsumer) {
  SimulationOptions options;
  options.overdue = 1;
  Simulation simulation(options);
  Iterator it =
      Dataset::range(200)
          .map([](std::int64_t x) { return x; }, {.num_parallel_calls = 4})
          .prefetch(0)
          .iterator_on(simulation);
  for (std::int64_t i = 0; i < 200; ++i) {
    EXPECT_EQ((*it.next())[0].value<std::int64_t>(), i);
    EXPECT_FALSE(it.core().run().has_work(ClaimKind::kCpu)) << i;
    EXPECT_FALSE(it.core().run().has_work(ClaimKind::kElastic)) << i;
  }
  EXPECT_FALSE(it.next());
}

// Datasets that take turns end at different times, some have nothing at all:
// which of them the next outputs come from is not known when calls start.
TEST(Simulation, WithPrefetchNoCallBeginsFurtherAheadOfTheConsumer) {
  for (int seed = first_seed(); seed < end_seed(); ++seed) {
    RandomStream random(static_cast<std::uint64_t>(seed), 78);
    SimulationOptions options = schedule(seed);
    options.blocking = 0;  // how wide the calls are then is another matter
    Simulation simulation(options);
    const int cores = static_cast<int>(1 + random.below(3));
    std::int64_t started = 0;
    const auto longest = static_cast<std::int64_t>(1 + random.below(7));
    const auto cycle = static_cast<std::int64_t>(1 + random.below(5));
    Dataset dataset = Dataset::range(12).interleave(
        [&started, longest](std::int64_t x) {
          return Dataset::range(x * 5 % longest)
              .map([&started](std::int64_t y) {
                ++started;
                return y;
              });
        },
        {.cycle_length = cycle,
         .block_length = static_cast<std::int64_t>(1 + random.below(3)),
         .deterministic = random.below(3) > 0});
    const auto rows = static_cast<std::int64_t>(1 + random.below(3));
    const auto n = static_cast<std::int64_t>(random.below(10));
    if (rows > 1) dataset = dataset.batch(rows);
    // Each map is as wide as the cores, and each open dataset has one.
    const std::int64_t open = std::max(cycle, rows * (n + 1));
    const std::int64_t beyond = n == 0 ? 0 : open * (cores - 1);
    Iterator it = dataset.prefetch(n)
                      .with_options({.cpu_budget = cores})
                      .iterator_on(simulation);
    for (std::int64_t i = 1; it.next(); ++i) {
      EXPECT_LE(started, rows * (i + n) + beyond)
          << "seed " << seed << ", output " << i;
      simulation.run_ahead(static_cast<int>(random.below(60)));
      EXPECT_LE(started, rows * (i + n) + beyond)
          << "seed " << seed << ", after " << i;
    }
    EXPECT_FALSE(simulation.stuck()) << "seed " << seed;
  }
}

TEST(Simulation, WithPrefetchAMapHasAsManyCallsAtOnceAsThereAreCores) {
  for (const std::int64_t n : {0, 1, 2, 5}) {
    for (const int cores : {1, 3, 4}) {
      SimulationOptions options;
      options.workers = cores;
      options.blocking = 0;
      options.overdue = 0;
      Simulation simulation(options);
      std::int64_t started = 0;
      Iterator it = Dataset::range(100)
                        .map([&started](std::int64_t x) {
                          ++started;
                          return x;
                        })
                        .prefetch(n)
                        .iterator_on(simulation);
      const auto slow_steps = [&](std::int64_t from, std::int64_t ahead) {
        for (std::int64_t i = from; i < from + 20; ++i) {
          ASSERT_TRUE(it.next());
          simulation.run_ahead(1000);
          EXPECT_EQ(started, i + ahead)
              << "n " << n << ", " << cores << " cores, element " << i;
        }
      };
      // Whoever is slower than the map needs n and no more.
      slow_steps(1, n);
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(it.next());
      slow_steps(41, n == 0 ? 0 : std::max<std::int64_t>(n, cores - 1));
    }
  }
}

TEST(Simulation, TheSameSeedGivesTheSameSchedule) {
  std::uint64_t traces[2] = {};
  for (std::uint64_t& trace : traces) {
    SimulationOptions options;
    options.seed = 5;
    Simulation simulation(options);
    Iterator it = draw(5).dataset.iterator_on(simulation);
    run_to_end(it);
    trace = simulation.trace();
  }
  EXPECT_EQ(traces[0], traces[1]);
}

}  // namespace
}  // namespace penstock

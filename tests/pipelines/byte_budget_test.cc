// What pipelines of large elements really hold, against their byte budget.
//
// Random pipelines of all operators run under simulated schedules. The buffers
// alive are counted where they are allocated, so that what an operator forgets
// to charge counts too, and so does what is alive inside one call only.
//
// PENSTOCK_BUDGET_SEEDS says how many are drawn, PENSTOCK_BUDGET_FIRST where to
// begin.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "penstock/memory/buffer.h"
#include "penstock/memory/live_bytes.h"
#include "penstock/penstock.h"
#include "penstock/runtime/simulation.h"

namespace penstock::testing {
namespace {

// A block each, so that no element's memory lasts as long as a neighbour's; and
// a size of the pool's, so that capacities are what elements say.
constexpr std::int64_t kRow = 256 * 1024;

std::int64_t budget_number(const char* variable, std::int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::atoll(text) : otherwise;
}

std::vector<std::uint8_t> make_row(std::int64_t x) {
  return std::vector<std::uint8_t>(static_cast<std::size_t>(kRow),
                                   static_cast<std::uint8_t>(x));
}

Spec row_spec() {
  return Spec::tensor(DType::kUInt8, PartialShape(Shape{kRow}));
}

// The bytes again, in memory of their own.
Element copied(const Element& e) {
  const std::span<const std::uint8_t> bytes = e[0].as<std::uint8_t>();
  return Tensor::from(bytes, e[0].shape());
}

/// A pipeline whose elements are rows of kRow bytes, and how many rows its
/// largest element and its largest window have.
struct Heavy {
  Dataset dataset;
  std::int64_t largest = 1;
  std::int64_t together = 1;  // rows that stages in a row make at once
  std::int64_t held = 0;      // rows that its stages must hold to go on
  std::string text = {};
  bool declared = false;  // the sizes of elements

  MapOptions map_options() const {
    return {.output_signature = declared ? row_spec() : Spec()};
  }
  void makes(std::int64_t rows) { largest = std::max(largest, rows); }
};

struct HeavyStage {
  const char* name;
  void (*add)(Heavy&, RandomStream&);
};

std::int64_t between(RandomStream& random, std::int64_t low,
                     std::int64_t high) {
  return low + static_cast<std::int64_t>(
                   random.below(static_cast<std::uint64_t>(high - low + 1)));
}

Dataset rows_of_range(std::int64_t n, bool declared) {
  const MapOptions options{.output_signature = declared ? row_spec() : Spec()};
  return Dataset::range(n).map(
      [](std::int64_t x) -> StatusOr<Element> {
        return Element(Tensor::from(make_row(x)));
      },
      options);
}

constexpr HeavyStage kHeavyStages[] = {
    {"map",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.map(copied, h.map_options());
     }},
    {"map with a width",
     [](Heavy& h, RandomStream& r) {
       MapOptions options = h.map_options();
       options.num_parallel_calls = between(r, 1, 4);
       h.dataset = h.dataset.map(copied, options);
     }},
    {"map in any order",
     [](Heavy& h, RandomStream&) {
       MapOptions options = h.map_options();
       options.deterministic = false;
       h.dataset = h.dataset.map(copied, options);
     }},
    {"filter",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.filter([](const Element& e) {
         return e[0].as<std::uint8_t>()[0] % 4 != 3;
       });
     }},
    {"batch",
     [](Heavy& h, RandomStream& r) {
       const std::int64_t n = between(r, 2, 4);
       h.dataset = h.dataset.batch(n).unbatch();
       h.makes(h.together = n);
       h.held += n;
     }},
    {"padded_batch",
     [](Heavy& h, RandomStream& r) {
       const std::int64_t n = between(r, 2, 4);
       h.dataset = h.dataset.padded_batch(n).unbatch();
       h.makes(h.together = n);
       h.held += n;
     }},
    {"ragged_batch",
     [](Heavy& h, RandomStream& r) {
       const std::int64_t n = between(r, 2, 4);
       h.dataset = h.dataset.ragged_batch(n).unbatch();
       h.makes(h.together = n);
       h.held += n;
     }},
    {"batch and rebatch",
     [](Heavy& h, RandomStream& r) {
       const std::int64_t n = between(r, 2, 4);
       const std::int64_t m = between(r, 2, 4);
       h.dataset = h.dataset.batch(n).rebatch(m).unbatch();
       h.makes(n);
       h.makes(h.together = m);
       h.held += 2 * n + m;
     }},
    {"shuffle",
     [](Heavy& h, RandomStream& r) {
       const std::int64_t n = between(r, 1, 12);
       h.dataset = h.dataset.shuffle(n, 3);
       h.held += n;
     }},
    {"repeat",
     [](Heavy& h, RandomStream&) { h.dataset = h.dataset.repeat(2); }},
    {"prefetch",
     [](Heavy& h, RandomStream& r) {
       h.dataset = h.dataset.prefetch(between(r, 0, 2));
     }},
    {"zip",
     [](Heavy& h, RandomStream&) {
       h.dataset = Dataset::zip({h.dataset, rows_of_range(30, h.declared)})
                       .map([](const Element& e) { return Element(e[0]); },
                            h.map_options());
       h.makes(2);
       h.together = 1;
       h.held += 2;
     }},
    {"concatenate",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.concatenate(rows_of_range(5, h.declared));
     }},
    {"sample_from_datasets",
     [](Heavy& h, RandomStream&) {
       h.dataset = Dataset::sample_from_datasets(
           {h.dataset, rows_of_range(8, h.declared)}, {.seed = 3});
       h.held += 2;
     }},
    {"enumerate",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.enumerate().map(
           [](const Element& e) { return Element(e[1]); }, h.map_options());
     }},
    {"take and skip",
     [](Heavy& h, RandomStream& r) {
       h.dataset = h.dataset.skip(between(r, 0, 3)).take(between(r, 5, 40));
     }},
    {"flat_map read on the spot",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.flat_map(
           [](const Element& e) { return Dataset::from_tensors(e).repeat(2); },
           {.output_signature = h.map_options().output_signature});
       h.makes(2 * h.together);
       h.together = 1;
       h.held += 2;
     }},
    {"flat_map",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.flat_map(
           [options = h.map_options()](const Element& e) {
             return Dataset::from_tensors(e).map(copied, options);
           },
           {.output_signature = h.map_options().output_signature});
       h.held += 4;
     }},
    {"interleave",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.interleave(
           [options = h.map_options()](const Element& e) {
             return Dataset::from_tensors(e).map(copied, options);
           },
           {.cycle_length = 2,
            .output_signature = h.map_options().output_signature});
       h.held += 6;
     }},
    {"window",
     [](Heavy& h, RandomStream& r) {
       const std::int64_t n = between(r, 2, 4);
       h.dataset =
           h.dataset.window(n, {.shift = between(r, 1, 3)})
               .flat_map([](const Element& w) { return Dataset::of(w[0]); },
                         {.output_signature = h.map_options().output_signature})
               .take(60);
       h.makes(n);
       h.together = 1;
       h.held += 3 * n;
     }},
    {"group_by_window",
     [](Heavy& h, RandomStream& r) {
       const std::int64_t n = between(r, 2, 3);
       h.dataset =
           h.dataset
               .group_by_window(
                   [](const Element& e) {
                     return std::int64_t{e[0].as<std::uint8_t>()[0] % 2};
                   },
                   [n](std::int64_t, const Dataset& window) {
                     return window.batch(n);
                   },
                   {.window_size = n,
                    .output_signature =
                        h.declared ? Spec::tensor(DType::kUInt8,
                                                  PartialShape({-1, kRow}))
                                   : Spec()})
               .unbatch();
       h.makes(h.together = n);
       h.held += 4 * n;
     }},
    {"pack",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.pack(2 * kRow, {.num_open = 2})
                       .map(
                           [](const Element& e) {
                             const std::span<const std::uint8_t> all =
                                 e[0].as<std::uint8_t>();
                             return Element(Tensor::from(
                                 all.first(static_cast<std::size_t>(kRow)),
                                 Shape{kRow}));
                           },
                           h.map_options());
       h.makes(18);
       h.together = 1;
       h.held += 22;
     }},
    {"scan",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.scan(
           std::int64_t{0},
           [](const Element& s, const Element& e) {
             return StatusOr<std::pair<Element, Element>>(
                 std::pair(s, copied(e)));
           },
           {.output_signature = h.map_options().output_signature});
       h.held += 1;
     }},
    {"unique", [](Heavy& h, RandomStream&) { h.dataset = h.dataset.unique(); }},
    {"take_while",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset.take_while(
           [](const Element& e) { return e[0].as<std::uint8_t>()[0] != 250; });
     }},
    {"errors left out",
     [](Heavy& h, RandomStream&) {
       h.dataset = h.dataset
                       .map(
                           [](const Element& e) -> StatusOr<Element> {
                             if (e[0].as<std::uint8_t>()[0] % 5 == 4) {
                               return absl::DataLossError("planted");
                             }
                             return copied(e);
                           },
                           h.map_options())
                       .ignore_errors();
     }},
};

Heavy draw_heavy(std::uint64_t seed, bool declared) {
  RandomStream random(seed, 91);
  const std::int64_t n = between(random, 8, 40);
  Heavy h{random.below(2) == 0
              ? rows_of_range(n, declared)
              : Dataset::from_generator([n] {
                  return [n, i = std::int64_t{0}]() mutable
                         -> std::optional<std::vector<std::uint8_t>> {
                    if (i == n) return std::nullopt;
                    return make_row(i++);
                  };
                })};
  h.declared = declared;
  const std::int64_t stages = between(random, 1, 4);
  for (std::int64_t i = 0; i < stages; ++i) {
    const HeavyStage& stage =
        kHeavyStages[random.below(std::size(kHeavyStages))];
    h.text += std::string(" . ") + stage.name;
    stage.add(h, random);
  }
  return h;
}

struct Peak {
  std::int64_t held = 0;     // buffers alive
  std::int64_t charged = 0;  // by the ledger
  std::int64_t elements = 0;
  Status refused;
  bool stuck = false;
};

int workers_of(std::uint64_t seed) { return 1 + static_cast<int>(seed % 4); }

Peak peak_of(const Heavy& heavy, std::int64_t budget, std::uint64_t seed) {
  SimulationOptions options;
  options.seed = seed;
  options.workers = workers_of(seed);
  Simulation simulation(options);
  Options limits;
  limits.memory_budget = budget;
  if (seed % 3 == 0) limits.fuse = false;
  reset_peak_live_bytes();
  const auto before = static_cast<std::int64_t>(BufferPool::live_bytes());
  Peak peak;
  {
    Iterator it = heavy.dataset.with_options(limits).iterator_on(simulation);
    for (;;) {
      auto next = it.try_next();
      if (!next.ok()) {
        if (next.status().code() == StatusCode::kCancelled) break;
        peak.refused = next.status();
        continue;
      }
      if (!next->has_value()) break;
      ++peak.elements;
    }
    peak.charged = it.stats().bytes_peak;
    peak.stuck = simulation.stuck();
  }
  peak.held = static_cast<std::int64_t>(peak_live_bytes()) - before;
  return peak;
}

constexpr std::int64_t kAmple = std::int64_t{1} << 40;

// What is over the budget at most: the element that the critical path is about
// to make, and as much again where a window fills up while others have read
// ahead. Where nobody says how large elements are, the first calls of each
// worker are on credit.
void expect_within_budget(bool declared) {
  const auto first = budget_number("PENSTOCK_BUDGET_FIRST", 0);
  const auto seeds = budget_number("PENSTOCK_BUDGET_SEEDS", 100);
  for (std::int64_t i = first; i < first + seeds; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const Heavy heavy = draw_heavy(seed, declared);
    const std::int64_t wanted = peak_of(heavy, kAmple, seed).elements;
    for (const std::int64_t rows :
         {heavy.held + 3, heavy.held + 8, std::int64_t{40}}) {
      const std::int64_t budget = rows * kRow;
      const Peak peak = peak_of(heavy, budget, seed);
      const std::int64_t credit = declared ? 2 : 2 + workers_of(seed);
      // One row, and numbers, offsets and the like beside the rows.
      constexpr std::int64_t kSmall = kRow + kRow / 8;
      const std::int64_t limit =
          budget + credit * heavy.largest * kRow + kSmall;
      EXPECT_FALSE(peak.stuck) << "seed " << seed << heavy.text;
      EXPECT_TRUE(peak.refused.ok())
          << "seed " << seed << heavy.text << ": " << peak.refused;
      EXPECT_EQ(peak.elements, wanted) << "seed " << seed << heavy.text;
      EXPECT_LE(peak.held, limit)
          << "seed " << seed << ", " << rows << " rows:" << heavy.text
          << " held " << static_cast<double>(peak.held) / kRow
          << " rows; its largest element has " << heavy.largest;
      // What a stage passes on as a view counts twice while it runs.
      EXPECT_LE(peak.charged, limit + heavy.largest * kRow)
          << "seed " << seed << ", " << rows << " rows:" << heavy.text
          << " charged " << static_cast<double>(peak.charged) / kRow
          << " rows; its largest element has " << heavy.largest;
    }
  }
}

TEST(ByteBudget, IsPassedByTheElementThatIsWaitedForOnly) {
  expect_within_budget(true);
}

TEST(ByteBudget, IsPassedByTheFirstCallsWhereNobodySaysHowLargeElementsAre) {
  expect_within_budget(false);
}

TEST(ByteBudget, ThatIsTooSmallIsAnErrorNeverAStandstill) {
  const auto first = budget_number("PENSTOCK_BUDGET_FIRST", 0);
  const auto seeds = budget_number("PENSTOCK_BUDGET_SEEDS", 100);
  for (std::int64_t i = first; i < first + seeds; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    const Heavy heavy = draw_heavy(seed, seed % 2 == 0);
    const std::int64_t wanted = peak_of(heavy, kAmple, seed).elements;
    for (const std::int64_t rows : {1, 2, 4}) {
      const Peak peak = peak_of(heavy, rows * kRow, seed);
      EXPECT_FALSE(peak.stuck)
          << "seed " << seed << ", " << rows << " rows:" << heavy.text;
      if (peak.refused.ok()) {
        // An element larger than the budget is an error that can be left out.
        if (heavy.text.find("errors left out") == std::string::npos) {
          EXPECT_EQ(peak.elements, wanted) << "seed " << seed << heavy.text;
        }
      } else {
        EXPECT_EQ(peak.refused.code(), StatusCode::kResourceExhausted)
            << "seed " << seed << heavy.text << ": " << peak.refused;
      }
    }
  }
}

Dataset filtered_rows(std::int64_t n, bool declared) {
  return rows_of_range(n, declared).filter([](const Element& e) {
    return e[0].as<std::uint8_t>()[0] % 4 != 3;
  });
}

TEST(ByteBudget, HoldsForAWindowBehindAFilterToItsLastElement) {
  for (const bool declared : {false, true}) {
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const Heavy heavy{filtered_rows(200, declared).shuffle(50, 1)};
      const Peak peak = peak_of(heavy, 64 * kRow, seed);
      EXPECT_TRUE(peak.refused.ok()) << peak.refused;
      EXPECT_EQ(peak.elements, 150);
      // A row that a worker's filter passes on counts twice meanwhile.
      EXPECT_LE(peak.charged, (67 + workers_of(seed)) * kRow)
          << "seed " << seed << ", declared " << declared;
      EXPECT_LE(peak.held, 66 * kRow);
    }
  }
}

// Of each batch one row stays, which is a view of all four.
TEST(ByteBudget, HoldsForAWindowOfRowsOfBatches) {
  const auto first_of_four = [](const Element& e) {
    return e[0].as<std::uint8_t>()[0] % 4 == 0;
  };
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Heavy heavy{rows_of_range(240, true)
                          .batch(4)
                          .unbatch()
                          .filter(first_of_four)
                          .shuffle(20, 1)};
    const Peak peak = peak_of(heavy, 40 * kRow, seed);
    EXPECT_TRUE(peak.refused.ok()) << peak.refused;
    EXPECT_EQ(peak.elements, 60);
    EXPECT_LE(peak.held, 49 * kRow) << "seed " << seed;
  }
}

// Its memory was taken for rows that other workers are to make.
TEST(ByteBudget, CountsABatchWhoseRowsWereGivenBack) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Heavy heavy{rows_of_range(60, true).batch(4)};
    const Peak peak = peak_of(heavy, 10 * kRow, seed);
    EXPECT_TRUE(peak.refused.ok()) << peak.refused;
    EXPECT_LE(peak.held, (10 + 4 + 4 + 1) * kRow) << "seed " << seed;
    EXPECT_LE(peak.held, peak.charged + 6 * kRow) << "seed " << seed;
  }
}

// A file that a function reads, say, and gives as a dataset of its rows.
TEST(ByteBudget, CountsWhatDatasetsHoldThatAFunctionMade) {
  constexpr std::int64_t kRowsEach = 16;
  const auto opened = [](std::int64_t) {
    return Dataset::from_tensor_slices(
               Element(*Tensor::allocate<std::uint8_t>(Shape{kRowsEach, kRow})))
        .map([](const Tensor& row) { return row; });
  };
  const Dataset numbers = Dataset::range(40);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (const Dataset& dataset :
         {numbers.flat_map(opened),
          numbers.interleave(opened, {.cycle_length = 2})}) {
      const Peak peak = peak_of({dataset}, 5 * kRowsEach * kRow, seed);
      EXPECT_TRUE(peak.refused.ok()) << peak.refused;
      EXPECT_FALSE(peak.stuck);
      EXPECT_EQ(peak.elements, 40 * kRowsEach);
      // The first calls are on credit: nobody says what they will hold.
      const std::int64_t credit = 4 + 2 * workers_of(seed);
      EXPECT_LE(peak.held, (5 + credit) * kRowsEach * kRow) << "seed " << seed;
    }
  }
}

// What several datasets share is held by none of them.
TEST(ByteBudget, DoesNotCountATableForEachDatasetThatReadsIt) {
  const Dataset table = Dataset::from_tensor_slices(
      Element(*Tensor::allocate<std::uint8_t>(Shape{40, kRow})));
  const Dataset dataset = Dataset::range(40).flat_map([table](std::int64_t x) {
    return table.skip(x).take(1).map([](const Tensor& row) {
      return static_cast<std::int64_t>(row.num_elements());
    });
  });
  const Peak peak = peak_of({dataset}, 8 * kRow, 1);
  EXPECT_TRUE(peak.refused.ok()) << peak.refused;
  EXPECT_EQ(peak.elements, 40);
  EXPECT_LE(peak.charged, 8 * kRow);
}

TEST(ByteBudget, ThatAWindowDoesNotFitIsAnErrorWithNeedBudgetAndRemedy) {
  const auto refusal = [](const Dataset& dataset) {
    const Peak peak = peak_of({dataset}, 8 * kRow, 1);
    EXPECT_FALSE(peak.stuck);
    EXPECT_EQ(peak.refused.code(), StatusCode::kResourceExhausted);
    return std::string(peak.refused.message());
  };
  const Dataset rows = filtered_rows(400, true);
  const struct {
    Dataset dataset;
    std::int64_t rows;
    const char* remedy;
  } kWindows[] = {
      {rows.shuffle(50, 1), 50, "buffer_size"},
      {rows.batch(20), 20, "batch_size"},
      {rows.padded_batch(20), 20, "batch_size"},
      {rows.window(30), 30, "size"},
      {rows_of_range(60, true).batch(2).rebatch(16), 16, "batch_size"},
      {rows.group_by_window([](const Element&) { return std::int64_t{7}; },
                            [](std::int64_t, const Dataset& w) { return w; },
                            {.window_size = 40}),
       40, "window_size"},
  };
  for (const auto& window : kWindows) {
    const std::string text = refusal(window.dataset);
    EXPECT_NE(text.find(window.remedy), std::string::npos) << text;
    EXPECT_NE(text.find(std::to_string(8 * kRow)), std::string::npos) << text;
    const std::size_t at = text.find("needs ");
    ASSERT_NE(at, std::string::npos) << text;
    const double needs = std::atof(text.c_str() + at + 6) / kRow;
    EXPECT_NEAR(needs, static_cast<double>(window.rows), 0.1) << text;
  }
}

}  // namespace
}  // namespace penstock::testing

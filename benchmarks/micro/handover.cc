// What a hand-over costs: between segments, to a sleeping consumer, and from
// building an iterator to its first element.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "benchmarks/micro/bench.h"
#include "penstock/penstock.h"

namespace penstock::bench {
namespace {

// Blocks of two rows of different length, so that they stay loose.
Dataset loose_blocks(std::int64_t blocks, int maps, bool fuse) {
  Dataset ds = Dataset::range(2 * blocks).map([](std::int64_t x) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(1 + x % 2), x);
  });
  for (int i = 1; i < maps; ++i) {
    ds = ds.map([](const Element& element) { return element; });
  }
  return ds.with_options({.fuse = fuse, .max_block_rows = 2});
}

long futex(std::atomic<std::uint32_t>& word, int op, std::uint32_t value) {
  return syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), op, value,
                 nullptr, nullptr, 0);
}

// So long that a core of a virtual machine has given up polling and sleeps. How
// fast the fastest wakes are depends on the core that the system chose; the
// median does not.
constexpr std::int64_t kAsleepNs = 1'000'000;

// Nanoseconds from the end of a waker's work to the start of the sleeper.
double futex_wake(int rounds) {
  std::atomic<std::uint32_t> word{0};
  std::atomic<std::int64_t> sent{0};
  std::atomic<bool> taken{true};
  std::thread waker([&] {
    for (int i = 1; i <= rounds; ++i) {
      while (!taken.load()) std::this_thread::yield();
      taken = false;
      spin(kAsleepNs);
      sent = now_ns();
      word = static_cast<std::uint32_t>(i);
      futex(word, FUTEX_WAKE_PRIVATE, 1);
    }
  });
  Samples wakes;
  for (int i = 1; i <= rounds; ++i) {
    const auto before = static_cast<std::uint32_t>(i - 1);
    while (word.load() == before) futex(word, FUTEX_WAIT_PRIVATE, before);
    wakes.add(static_cast<double>(now_ns() - sent.load()));
    taken = true;
  }
  waker.join();
  return wakes.median();
}

// The same with a map as the waker and next() as the sleeper.
double next_wake(int rounds) {
  const Dataset ds = Dataset::range(rounds).map(
      [](std::int64_t) {
        spin(kAsleepNs);
        return now_ns();
      },
      {.num_parallel_calls = 1});
  Samples wakes;
  Iterator it = ds.iterator();
  while (auto element = it.next()) {
    wakes.add(
        static_cast<double>(now_ns() - (*element)[0].value<std::int64_t>()));
  }
  return wakes.median();
}

double first_element(const Dataset& ds) {
  const std::int64_t start = now_ns();
  Iterator it = ds.iterator();
  keep(*it.next());
  return static_cast<double>(now_ns() - start);
}

}  // namespace

PENSTOCK_BENCH(4, handover) {
  // CPU time of the whole process: with two workers at work the wall time
  // would hide half of it.
  const std::int64_t blocks = table.quick() ? 4'000 : 40'000;
  constexpr int kMaps = 5;
  const Dataset fused = loose_blocks(blocks, kMaps, true);
  const Dataset cut = loose_blocks(blocks, kMaps, false);
  const auto t = interleave(table.quick() ? 3 : 15,
                            {[&] { return cpu_of([&] { drain(fused); }); },
                             [&] { return cpu_of([&] { drain(cut); }); },
                             [&] { return time_of([&] { drain(fused); }); },
                             [&] { return time_of([&] { drain(cut); }); }});
  // The first map is cut off too, from the source in front of it not.
  const double handovers = static_cast<double>(blocks) * (kMaps - 1);
  table.at_most("hand-over of a loose block between segments, CPU time",
                (t[1].best() - t[0].best()) / handovers / 1e3, "us", 1);
  table.reference("  the same, wall time of two workers",
                  (t[3].best() - t[2].best()) / handovers / 1e3, "us");
}

PENSTOCK_BENCH(5, wake) {
  const int rounds = table.quick() ? 50 : 200;
  const auto t = interleave(
      table.quick() ? 3 : 9,
      {[&] { return futex_wake(rounds); }, [&] { return next_wake(rounds); }});
  table.at_most("hand-over to a sleeping next(), over a futex wake",
                median_ratio(t[1], t[0]), "x", 1.3);
  table.reference("  the machine's futex wake", t[0].median() / 1e3, "us");
  table.reference("  to a sleeping next()", t[1].median() / 1e3, "us");
}

PENSTOCK_BENCH(6, first_element) {
  const Dataset ds =
      Dataset::range(1'000).map([](std::int64_t x) { return x + 1; }).batch(10);
  keep(first_element(ds));  // the executor's threads start once
  Samples t;
  for (int i = 0; i < (table.quick() ? 50 : 500); ++i) {
    t.add(first_element(ds));
  }
  table.at_most("iterator built -> first element, median", t.median() / 1e3,
                "us", 200);
}

}  // namespace penstock::bench

// The harness of penstock_bench: groups of rows, samples, table, JSON.
//
// A group measures what belongs together and adds its rows to the table. What
// is compared is measured in turns within one run (interleave), because the
// machine is shared and its speed drifts. Groups run one after another.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "penstock/penstock.h"

namespace penstock::bench {

struct Row {
  std::string name;
  double value = 0;
  std::string unit;
  std::string must;  // "<= 1", or empty for a figure to compare with
  bool ok = true;
};

/// The rows, printed as they come.
class Table {
 public:
  explicit Table(bool quick) : quick_(quick) {}

  /// Fewer repeats and shorter streams: to see that everything runs.
  bool quick() const { return quick_; }
  void at_most(const std::string& name, double value, const std::string& unit,
               double limit);
  void at_least(const std::string& name, double value, const std::string& unit,
                double limit);
  /// Not a promise: what a row above or below is compared with.
  void reference(const std::string& name, double value,
                 const std::string& unit);
  const std::vector<Row>& rows() const { return rows_; }

 private:
  void add(Row row);

  bool quick_;
  std::vector<Row> rows_;
};

/// Measurements of one thing.
class Samples {
 public:
  void add(double value) { values_.push_back(value); }
  double operator[](std::size_t i) const { return values_[i]; }
  std::size_t size() const { return values_.size(); }
  double quantile(double q) const;
  double median() const { return quantile(0.5); }
  /// What the code costs when nobody disturbs it.
  double best() const {
    return *std::min_element(values_.begin(), values_.end());
  }

 private:
  std::vector<double> values_;
};

/// Calls each of `measure` in turns, `repeats` times; one Samples for each.
std::vector<Samples> interleave(
    int repeats, const std::vector<std::function<double()>>& measure);
/// The median of a[i] / b[i]: both were measured within the same turn.
double median_ratio(const Samples& a, const Samples& b);

/// Monotonic nanoseconds.
std::int64_t now_ns();
/// CPU nanoseconds of the process, all threads.
std::int64_t cpu_ns();
/// Nanoseconds that `work` takes.
template <class F>
double time_of(F&& work) {
  const std::int64_t start = now_ns();
  work();
  return static_cast<double>(now_ns() - start);
}
/// CPU nanoseconds of the process while `work` runs.
template <class F>
double cpu_of(F&& work) {
  const std::int64_t start = cpu_ns();
  work();
  return static_cast<double>(cpu_ns() - start);
}

/// The compiler must assume that `value` is read and all memory is written.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}
/// Takes every element of `ds`.
inline void drain(const Dataset& ds) {
  Iterator it = ds.iterator();
  while (auto element = it.next()) keep(*element);
}
/// About `ns` nanoseconds of arithmetic on an undisturbed core. The amount of
/// work is fixed once, so a disturbed thread takes longer as real work would.
void spin(std::int64_t ns);

/// Resident bytes of the process now, and at most since reset_peak_rss().
std::int64_t rss_bytes();
std::int64_t peak_rss_bytes();
void reset_peak_rss();
/// Runs the probe `name` in a fresh process, so that its memory is not mixed
/// with what earlier groups left in pools; gives what it returned.
double run_probe(const std::string& name);

struct Group {
  int order;
  const char* name;
  void (*run)(Table&);
};
struct Probe {
  const char* name;
  double (*run)();
};
bool add_group(Group group);
bool add_probe(Probe probe);

}  // namespace penstock::bench

/// PENSTOCK_BENCH(3, chain) { table.at_most(...); }: a group of rows; the
/// number is its place in the table.
#define PENSTOCK_BENCH(order, name)                               \
  static void bench_##name(::penstock::bench::Table&);            \
  [[maybe_unused]] static const bool bench_##name##_added =       \
      ::penstock::bench::add_group({order, #name, bench_##name}); \
  static void bench_##name([[maybe_unused]] ::penstock::bench::Table& table)

/// PENSTOCK_PROBE(name) { ...; return value; }: see run_probe().
#define PENSTOCK_PROBE(name)                                \
  static double probe_##name();                             \
  [[maybe_unused]] static const bool probe_##name##_added = \
      ::penstock::bench::add_probe({#name, probe_##name});  \
  static double probe_##name()

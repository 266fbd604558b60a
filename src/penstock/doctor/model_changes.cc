// What a change of the pipeline would give: its needs after the change, held
// against the needs that give the rate which was measured.
#include <algorithm>
#include <cmath>

#include "penstock/doctor/model.h"

namespace penstock::doctor {
namespace {

// How wide a stage that waits is on average: the tuner tries other widths now
// and then.
constexpr double kTunedWidth = 62;
// Of a thread that wakes and finds its core taken.
constexpr double kSliceS = 0.3e-3;
// A call that waits is found out when it takes this long, or however short it
// is when it takes no more than this share of a core.
constexpr double kFoundOutS = 5e-3;
constexpr double kBlockedCpuShare = 0.2;
// Calls of maps in open datasets are found out from here on.
constexpr double kFoundInRowsS = 1e-3;
// interleave(cycle_length=AUTOTUNE) on every machine.
constexpr double kOpenInputs = 16;
// Per element out of a cache.
constexpr double kCacheReadS = 0.3e-6;
constexpr double kCopyBytesPerS = 5e9;
// Per row that crosses to a worker process and back, in blocks.
constexpr double kCrossingS = 8e-6;
// Per item of a sequencer, in large blocks.
constexpr double kSequencedS = 0.1e-6;
// Others use less of the cores than this, or threads of the pipeline hardly
// wait for one: what is measured is the pipeline's.
constexpr double kQuietShare = 0.1;
constexpr double kLateShare = 0.15;
constexpr double kTellingElements = 8;
// Calls had a core for this share of their time, by their own number alone.
constexpr double kKeptCores = 0.5;
// The model is not taken to be further off than this.
constexpr double kMostMissing = 4;
// What native code needs of the time of a Python call that computes.
constexpr double kNativeShare = 0.1;

bool mostly_waits(const Need& need) {
  return need.compute <= kBlockedCpuShare * (need.compute + need.wait);
}

}  // namespace

Ceiling Model::with(const std::vector<Change>& changes) const {
  return with(changes, calibrated());
}

Ceiling Model::with(const std::vector<Change>& changes, Needs all) const {
  std::vector<Need>& needs = all.stages;
  const double was = least(all, true).rate;
  double rows = 1;  // per output, against now
  for (const Change& change : changes) {
    if (change.prefetch) all.turns = *change.prefetch == 0;
    if (change.stage < 0) continue;
    const auto i = static_cast<std::size_t>(change.stage);
    Need& need = needs[i];
    const StageFacts& s = facts_.stages[i];
    const double per_out = ratios_[i];
    need.compute *= change.compute;
    need.gil *= change.compute;
    need.wait *= change.wait;
    if (change.room != 1) {
      // Calls are held back by bytes: those at work now are all that fit.
      const double calls = std::max(1.0, parallelism(change.stage));
      const double most = s.parallel_calls > 0 ? s.parallel_calls : kTunedWidth;
      need.lanes = std::min(most, calls * change.room);
      need.kind = Limit::kWait;
    }
    if (change.parallel_calls) {
      need.lanes = *change.parallel_calls;
      need.kind = Limit::kWidth;
      // An explicit number is obeyed by calls that wait for any time.
      if (need.wait > need.compute) need.keeps_worker = false;
      if (need.lanes <= 0) {
        const double call =
            (need.compute + need.wait) / std::max(per_out, 1e-12);
        const bool found_out = call >= kFoundOutS || !s.user_code ||
                               mostly_waits(need) ||
                               (s.blocking && !s.sequential);
        need.lanes = need.wait <= need.compute ? 0
                     : found_out               ? kTunedWidth
                                               : facts_.cores;
        need.keeps_worker = !found_out;
        if (s.op == "interleave") need.lanes = kOpenInputs;
        need.lanes = std::min({need.lanes, most_ahead(change.stage),
                               most_in_datasets(change.stage)});
        need.kind = need.lanes > 0 ? Limit::kWait : Limit::kNone;
      }
      // What is opened inside goes with it.
      for (std::size_t k = 0; k < needs.size(); ++k) {
        if (facts_.stages[k].parent == change.stage) {
          needs[k].lanes = need.lanes;
          needs[k].kind = need.kind;
          // Calls that follow each other in every open dataset are found out
          // also when each of them is short.
          if (needs[k].wait > needs[k].compute) {
            needs[k].keeps_worker =
                !facts_.stages[k].source &&
                needs[k].compute + needs[k].wait < kFoundInRowsS * ratios_[k];
          }
        }
      }
      // A function without a fixed place goes to processes by itself.
      if (need.lanes != 1 && s.executor == "thread" && !s.executor_forced &&
          s.stays.empty()) {
        need.gil = 0;
      }
    }
    if (change.executor == "process") {
      if (s.executor != "process") {
        need.compute +=
            kCrossingS * per_out + 2 * for_output(i, s.bytes) / kCopyBytesPerS;
      }
      // A step that took turns with its calls no longer does.
      if (need.gil > 0 && facts_.step_alone_s > 0 &&
          facts_.gil_busy > kCrowdedGil) {
        all.think = std::min(all.think, facts_.step_alone_s);
      }
      need.gil = 0;
    } else if (change.executor == "thread") {
      if (s.executor == "process") {
        // Time in the function without a core is no need; or it sleeps there.
        const double computes = std::min(s.work_s, s.worker_cpu_s);
        const double rest = s.work_s * stretch_ - computes;
        const bool sleeps = rest > computes;
        need.gil = for_output(i, computes) + facts_.call_overhead_s * per_out;
        // Workers lay results side by side, so that a batch of them is a view.
        // Those of threads are copied, which costs no more than it did there.
        const double packing = std::max(0.0, s.worker_cpu_s - s.work_s);
        need.compute =
            need.gil +
            for_output(i, std::min(packing, s.bytes / kCopyBytesPerS));
        need.wait = sleeps ? for_output(i, rest) : 0;
        need.lanes = s.parallel_calls > 0 || !sleeps
                         ? s.parallel_calls
                         : std::min(kTunedWidth, most_ahead(change.stage));
        need.kind = s.parallel_calls > 0 ? Limit::kWidth : Limit::kWait;
        need.keeps_worker = !sleeps;
      }
    } else if (change.executor == "native") {
      if (s.executor != "native") copy_into_batches(i, needs);
      need.compute = native_compute(i, need);
      need.gil = 0;
      need.lanes = 0;
      need.kind = Limit::kNone;
    }
    if (change.cache) {
      for (const int up : upstream(change.stage)) {
        needs[static_cast<std::size_t>(up)] = Need();
      }
      needs[i].compute =
          per_out * (kCacheReadS + s.bytes_per_element() / kCopyBytesPerS);
    }
    if (change.batch && s.batch_size > 0 && *change.batch > 0) {
      // Per batch behind it the cost stays; in front of it there are more rows.
      rows = static_cast<double>(*change.batch) /
             static_cast<double>(s.batch_size);
      for (const int up : upstream(change.stage)) {
        Need& before = needs[static_cast<std::size_t>(up)];
        if (up == change.stage) continue;
        before.compute *= rows;
        before.wait *= rows;
        before.gil *= rows;
      }
    }
  }
  // What waits and has not been asked for more goes wider when it is.
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const StageFacts& s = facts_.stages[i];
    const bool is_found_out = s.blocking || mostly_waits(needs[i]);
    if (needs[i].kind == Limit::kWait && is_found_out && s.user_code &&
        s.parallel_calls == 0 && needs[i].lanes < kTunedWidth &&
        static_cast<int>(i) != pipeline_.stage) {
      needs[i].lanes = kTunedWidth;
      needs[i].keeps_worker = false;
    }
  }
  // A pipeline that is no longer behind runs ahead, beside the consumer: a step
  // that computes gets a core less often, one that wakes finds it taken.
  const Ceiling ahead = least(all, false);
  if (facts_.consumer_given && !facts_.bounded && !all.turns &&
      now_.limit != Limit::kConsumer && ahead.rate * all.think > 1) {
    double compute = 0;
    for (const Need& need : needs) compute += need.compute;
    const double used = std::min(0.7, ahead.rate * compute / facts_.cores);
    const double step_cpu =
        facts_.consumer_cpu_s / std::max(facts_.elements, 1e-9);
    all.think +=
        std::max(std::min(kSliceS, all.think) * used / (1 - used),
                 ahead.limit == Limit::kCores ? step_cpu / facts_.cores : 0.0);
  }
  // Cheaper blocks make it faster, and that makes for cheaper blocks.
  constexpr int kRounds = 12;
  Ceiling result = least(all, true);
  Needs spread = all;
  for (int round = 0; round < kRounds && was > 0; ++round) {
    const double growth = result.rate / was;
    if (growth <= 1.5) break;
    spread = all;
    spread_blocks(growth, spread);
    result = least(spread, true);
  }
  use_trials(changes, spread);
  result = least(spread, true);
  result.rate *= rows;
  return result;
}

// Calls without a number of their own that may run ahead of the consumer:
// those of n further outputs behind a prefetch(n) at the end.
double Model::most_ahead(int stage) const {
  if (!facts_.bounded || facts_.output < 0) return kTunedWidth;
  const auto output = static_cast<std::size_t>(facts_.output);
  const auto n = static_cast<double>(facts_.stages[output].prefetch);
  return std::max(1.0, (n + 1) * ratios_[static_cast<std::size_t>(stage)]);
}

// Inside of datasets that are opened a stage gets wide anew in each of them:
// the shorter they are, the less. Measured of calls of 5 and 12 ms in datasets
// of 4, 40 and 400: 4, 10 and 30 at work in a flat_map, 10, 30 and 55 in an
// interleave.
double Model::most_in_datasets(int stage) const {
  const StageFacts& s = facts_.stages[static_cast<std::size_t>(stage)];
  if (s.parent < 0) return kTunedWidth;
  const StageFacts& opener = facts_.stages[static_cast<std::size_t>(s.parent)];
  if (opener.inputs.size() != 1 || s.elements <= 0) return kTunedWidth;
  const auto input = static_cast<std::size_t>(opener.inputs.front());
  const double opened = std::max(1.0, facts_.stages[input].elements);
  const double times = opener.op == "flat_map" ? 2 : 5;
  return std::max(1.0, times * std::sqrt(s.elements / opened));
}

// Where little is to be had at a time, blocks hold a row or two, and native
// stages cost what handling a block costs. More at a time are cheaper each.
void Model::spread_blocks(double growth, Needs& all) const {
  std::vector<Need>& needs = all.stages;
  constexpr double kSmallBlockS = 100e-6;
  constexpr double kMostGrowth = 1024;
  constexpr double kFewRows = 4;
  constexpr double kFewBytes = 16 << 10;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const StageFacts& s = facts_.stages[i];
    if (s.blocks <= 0 || s.busy_s > kSmallBlockS * s.blocks) continue;
    if (s.elements > kFewRows * s.blocks || s.bytes > kFewBytes * s.blocks) {
      continue;
    }
    if (is_thread(s) || is_process(s)) continue;
    double floor = ratios_[i] * (facts_.native_row_s +
                                 s.bytes_per_element() / kCopyBytesPerS);
    if (s.sequential || s.batch_size > 0) floor += ratios_[i] * kSequencedS;
    const double spread = needs[i].compute / std::min(growth, kMostGrowth);
    needs[i].compute = std::min(needs[i].compute, std::max(floor, spread));
  }
  // So are hand-overs; the loop around next() stays.
  const double loop = std::min(all.engine, all.next);
  all.engine = loop + (all.engine - loop) / std::min(growth, kMostGrowth);
}

// How the pipeline ran with the change, where that was tried.
Trial Model::fix_tried(const Change& change) const {
  if (change.stage < 0) return {};
  const StageFacts& s = facts_.stages[static_cast<std::size_t>(change.stage)];
  if (change.cache) return s.cached;
  if (change.packed) return s.packed;
  if (change.unused) return s.rest;
  if (change.room != 1) return s.roomy;
  if (change.batch && *change.batch == s.batched_size) return s.batched;
  if (change.executor == "native") return s.native;
  if (change.executor == "thread") return s.threads;
  return {};
}

// What was tried says what all that lies behind a stage costs, the loop around
// next() included.
void Model::use_trials(const std::vector<Change>& changes, Needs& all) const {
  for (const Change& change : changes) {
    if (change.stage < 0) continue;
    const StageFacts& s = facts_.stages[static_cast<std::size_t>(change.stage)];
    const Trial fix = fix_tried(change);
    const bool mended = fix.wall_s > 0;
    const Trial tried = mended ? fix : s.free;
    if (tried.wall_s <= 0) continue;
    std::vector<bool> kept(all.stages.size(), false);
    const int outer = s.parent >= 0 ? s.parent : change.stage;
    for (const int up : upstream(outer)) {
      kept[static_cast<std::size_t>(up)] = true;
    }
    const bool last =
        std::all_of(changes.begin(), changes.end(), [&](const Change& other) {
          return other.stage >= 0 &&
                 kept[static_cast<std::size_t>(other.stage)];
        });
    if (!last) continue;
    for (std::size_t i = 0; i < all.stages.size(); ++i) {
      if (!kept[i] || mended) all.stages[i] = Need();
    }
    all.next = tried.wall_s;
    all.engine = tried.cpu_s;
    return;
  }
}

// Large results of Python functions are laid side by side as they are made, so
// that a batch of them is a view. Those of native code are copied.
void Model::copy_into_batches(std::size_t stage,
                              std::vector<Need>& needs) const {
  constexpr double kLarge = 64 << 10;
  const double bytes = facts_.stages[stage].bytes_per_element();
  if (bytes < kLarge) return;
  for (std::size_t i = stage + 1; i < facts_.stages.size(); ++i) {
    const StageFacts& s = facts_.stages[i];
    if (s.inputs != std::vector<int>{static_cast<int>(stage)}) continue;
    if (s.op == "batch") {
      needs[i].compute =
          std::max(needs[i].compute, ratios_[stage] * bytes / kCopyBytesPerS);
    }
    return;
  }
}

// Of a Python function as native code: as measured; or else a tiny one is as
// good as nothing, and of others the part with the GIL, which is the
// interpreter's, shrinks, while what ran without it is native already.
double Model::native_compute(std::size_t stage, const Need& need) const {
  const StageFacts& s = facts_.stages[stage];
  if (s.native_left > 0) return need.compute * s.native_left;
  const double call =
      s.calls > 0 ? (is_process(s) ? s.work_s : s.gil_hold_s) / s.calls : 0;
  // A filter is asked about rows that it does not keep, too.
  const double rows = s.elements > 0 ? s.calls / s.elements : 1;
  const double row =
      s.op == "filter" ? facts_.native_filter_s : facts_.native_row_s;
  const double least = ratios_[stage] * std::max(rows, 1.0) * row;
  if (call < 4 * facts_.call_overhead_s || call < 4e-6) return least;
  double interpreted = need.gil;
  if (is_process(s)) {
    // Before it moved, its calls showed how much of their time has the GIL.
    constexpr double kTelling = 0.1;
    const bool seen = s.gil_held_s >= 0 && s.gil_hold_s > kTelling * s.work_s;
    const double held = seen ? std::min(1.0, s.gil_held_s / s.gil_hold_s) : 1;
    interpreted = held * need.compute;
  }
  return std::max(least,
                  need.compute - interpreted + kNativeShare * interpreted);
}

double Model::gain(const std::vector<Change>& changes) const {
  // What was tried ran beside the same load as what was measured.
  const bool tried = std::any_of(
      changes.begin(), changes.end(),
      [&](const Change& change) { return fix_tried(change).wall_s > 0; });
  if (tried && facts_.rate() > 0) return gain_over_measured(changes);
  const Needs all = calibrated();
  const double before = least(all, true).rate;
  return before > 0 ? with(changes, all).rate / before : 1;
}

double Model::gain_over_measured(const std::vector<Change>& changes) const {
  const double rate = facts_.rate();
  return rate > 0 ? with(changes, all_).rate / rate : 1;
}

bool Model::beside_others() const {
  const bool late = facts_.run_delay_s < 0 ||
                    facts_.run_delay_s > kLateShare * facts_.own_cpu_s;
  return late && facts_.other_cpu > kQuietShare * facts_.cores;
}

Model::Needs Model::calibrated() const {
  Needs all = all_;
  // What others took of the cores is no need; few elements say little.
  const bool disturbed = beside_others() || stretch_ < kKeptCores;
  if (disturbed || facts_.elements < kTellingElements || now_.rate <= 0) {
    return all;
  }
  const double missing = std::clamp(residual(), 1 / kMostMissing, kMostMissing);
  const auto stretch = [&](Need& need) {
    need.compute *= missing;
    need.wait *= missing;
  };
  switch (now_.limit) {
    case Limit::kCores:
      for (Need& need : all.stages) need.compute *= missing;
      all.engine *= missing;
      break;
    case Limit::kGil: {
      // A consumer that waits for the GIL, too, and for who looks at it, takes
      // less than is made.
      const auto at = static_cast<std::size_t>(now_.stage);
      const double per_s = facts_.stages[at].elements / facts_.seconds;
      const double made =
          facts_.consumer_given && ratios_[at] > 0 ? per_s / ratios_[at] : 0;
      const double ahead = std::max(1.0, made / facts_.rate());
      const double left = std::max(missing / ahead, std::min(missing, 1.0));
      for (Need& need : all.stages) need.gil *= left;
      break;
    }
    case Limit::kWidth:
    case Limit::kSerial:
    case Limit::kWait:
    case Limit::kDevice:
      stretch(all.stages[static_cast<std::size_t>(now_.stage)]);
      break;
    case Limit::kNone: {
      // Taking turns: the consumer's own time was measured. That a core has
      // nothing to do while another ends the last rows, or threads wake up, is
      // no need of a stage: read-ahead takes it away.
      const double think = all.think + all.next;
      const double made = 1 / now_.rate - think;
      const double seen = 1 / facts_.rate() - think;
      if (made <= 0 || seen <= 0) break;
      all.late = std::clamp(seen / made, 1 / kMostMissing, kMostMissing);
      break;
    }
    case Limit::kConsumer:
      break;
  }
  return all;
}

}  // namespace penstock::doctor

#include "penstock/doctor/model.h"

#include <algorithm>
#include <cmath>

namespace penstock::doctor {
namespace {

// The widest that the engine makes a stage that waits.
constexpr double kMostWidth = 64;
// A call that waits is found out when it takes this long.
constexpr double kFoundOutS = 5e-3;
// Per element out of a cache.
constexpr double kCacheReadS = 0.3e-6;
constexpr double kCopyBytesPerS = 5e9;
// Per row that crosses to a worker process and back, in blocks.
constexpr double kCrossingS = 8e-6;
// What native code needs of the time of a Python call that computes.
constexpr double kNativeShare = 0.1;

bool is_thread(const StageFacts& s) { return s.executor == "thread"; }
bool is_process(const StageFacts& s) { return s.executor == "process"; }

}  // namespace

const char* limit_name(Limit limit) {
  switch (limit) {
    case Limit::kNone: return "";
    case Limit::kCores: return "cores";
    case Limit::kWidth: return "width";
    case Limit::kSerial: return "serial";
    case Limit::kGil: return "gil";
    case Limit::kWait: return "wait";
    case Limit::kDevice: return "device";
    case Limit::kConsumer: return "consumer";
  }
  return "";
}

Model::Model(const Facts& facts) : facts_(facts) {
  const double out = std::max(facts_.elements, 1e-9);
  const double wall = std::max(facts_.seconds, 1e-9);
  think_ = facts_.consumer_think_s / out;

  // The GIL limits when calls side by side hold it for all of the time, by
  // turns. Calls that give it up inside (they sleep, or NumPy computes) hold
  // it for longer than there is, by this count.
  double hold = 0;
  double held_wait = 0;
  double thread_cpu = 0;
  double thread_busy = 0;
  for (const StageFacts& s : facts_.stages) {
    if (!is_thread(s)) continue;
    hold += s.gil_hold_s;
    held_wait += s.gil_wait_s;
    thread_cpu += s.cpu_s;
    thread_busy += s.busy_s;
  }
  // A consumer that computes in Python holds it too.
  const double consumer_hold = hold > 0 ? facts_.consumer_cpu_s : 0;
  const bool side_by_side = thread_busy + consumer_hold > 1.25 * wall;
  const bool by_turns = hold > 0.3 * wall && hold + consumer_hold > 0.7 * wall &&
                        hold + consumer_hold < 1.2 * wall &&
                        held_wait > 0.15 * hold;
  // A call that is long is made to hand the GIL over on its way: spans overlap.
  const bool in_spans = hold > 0.7 * wall && held_wait > 0.15 * hold &&
                        thread_cpu > 0.12 * hold && thread_cpu < 1.15 * wall;
  const bool one_core = thread_cpu > 0.7 * wall && thread_cpu < 1.15 * wall &&
                        thread_busy > 1.5 * thread_cpu;
  gil_bound_ = facts_.cores > 1 && side_by_side && (by_turns || one_core || in_spans);

  // More threads than cores compute (the consumer helps): each is stretched.
  double computing = facts_.consumer_cpu_s;
  for (const StageFacts& s : facts_.stages) {
    if (!is_thread(s) && !is_process(s) && s.cpu_s > 0.4 * s.busy_s) {
      computing += s.busy_s;
    }
  }
  const double stretch =
      computing > facts_.cores * wall ? facts_.cores * wall / computing : 1;

  for (const StageFacts& s : facts_.stages) {
    Need need;
    const double lane = s.busy_s / out;
    const double cpu = s.cpu_s / out;
    if (is_process(s)) {
      const double inside = s.worker_cpu_s > 0.5 * s.work_s ? s.work_s
                                                            : s.worker_cpu_s;
      need.compute = std::max(inside, s.worker_cpu_s) / out + cpu;
      // Where the workers are not what is busy, the way to them is.
      const bool saturates =
          s.worker_cpu_s + s.cpu_s > 0.7 * facts_.cores * wall;
      need.wait = std::max(
          0.0, (saturates ? s.work_s / out : lane) - need.compute);
      if (!saturates && s.parallel_calls == 0) {
        need.lanes = s.blocking ? std::max(1, s.width) : facts_.cores;
        need.kind = Limit::kWait;
      }
    } else if (is_thread(s)) {
      // Waiting to run, be it for the GIL or a core, is no need of the call.
      const bool turns = gil_bound_ && (by_turns || in_spans);
      const double held = s.gil_hold_s * std::min(1.0, wall / hold) / out;
      need.compute = turns ? std::max(cpu, held) : cpu;
      need.gil = gil_bound_ ? need.compute : cpu;
      // More than one core: the GIL is free for a part of the time at least.
      if (thread_cpu > 1.2 * wall) need.gil *= 0.5 * wall / thread_cpu;
      const double rest = lane - s.gil_wait_s / out - need.compute;
      const bool waits = s.blocking && cpu < 0.5 * lane && !gil_bound_;
      need.wait = waits || cpu < 0.3 * (lane - s.gil_wait_s / out)
                      ? std::max(0.0, rest)
                      : 0;
      if (gil_bound_) need.wait = 0;
      if (need.wait == 0 && !gil_bound_ && rest > 0) need.compute += rest;
    } else if (!s.user_code || s.executor == "native") {
      // Only files make native code wait; else it was kept from its core.
      const double io = (s.read_s + s.open_s) / out;
      need.wait = std::clamp(io, 0.0, std::max(0.0, lane - cpu));
      need.compute = std::max(cpu, (lane - need.wait) * stretch);
    } else if (s.cpu_s > 0.4 * s.busy_s) {
      need.compute = std::max(cpu, lane * stretch);
    } else {
      need.compute = cpu;
      need.wait = std::max(0.0, lane - cpu);
    }
    // The width that an explicit number sets; else what waits goes as wide as
    // the engine makes it, and what one worker makes at a time is alone.
    if (s.sequential) {
      need.lanes = 1;
      need.kind = Limit::kSerial;
    } else if (s.parallel_calls > 0 && s.executor != "native" &&
               (s.user_code || s.op == "interleave")) {
      need.lanes = s.parallel_calls;
      need.kind = Limit::kWidth;
    } else if (s.cycle_length > 0) {
      need.lanes = s.cycle_length;
      need.kind = Limit::kWidth;
    } else if (s.blocking && !is_process(s)) {
      need.lanes = std::max<double>(s.width, s.max_parallelism);
      if (need.lanes <= 0) need.lanes = kMostWidth;
      need.kind = Limit::kWait;
    } else if (need.lanes == 0 && need.wait > 2 * need.compute &&
               s.parent < 0) {
      // Too short to be found out: such calls keep their worker.
      need.lanes = facts_.cores;
      need.kind = Limit::kWait;
    }
    needs_.push_back(need);
  }
  // Inside a nested dataset, as many run at once as are open.
  for (std::size_t i = 0; i < facts_.stages.size(); ++i) {
    const int parent = facts_.stages[i].parent;
    if (parent < 0) continue;
    const Need& outer = needs_[static_cast<std::size_t>(parent)];
    const StageFacts& opener = facts_.stages[static_cast<std::size_t>(parent)];
    if (opener.op == "flat_map") {
      needs_[i].lanes = 1;
      needs_[i].kind = Limit::kSerial;
    } else if (outer.kind == Limit::kWidth) {
      needs_[i].lanes = outer.lanes;
      needs_[i].kind = Limit::kWidth;
    } else if (needs_[i].kind == Limit::kSerial) {
      needs_[i].lanes = 0;
      needs_[i].kind = Limit::kNone;
    }
  }
  if (facts_.device >= 0) {
    Need& need = needs_[static_cast<std::size_t>(facts_.device)];
    need.wait = facts_.put_s / out;
    need.lanes = 1;
    need.kind = Limit::kDevice;
  }
  for (const StageFacts& s : facts_.stages) {
    if (s.prefetch == 0) turns_ = true;
  }
  now_ = least(needs_, think_, turns_, true);
  pipeline_ = least(needs_, 0, false, false);
}

Ceiling Model::of_stage(int stage) const {
  const Need& need = needs_[static_cast<std::size_t>(stage)];
  Ceiling best;
  const auto offer = [&](double rate, Limit limit) {
    if (best.rate == 0 || rate < best.rate) best = {rate, limit, stage};
  };
  const double lane = need.compute + need.wait;
  if (need.lanes > 0 && lane > 0) offer(need.lanes / lane, need.kind);
  if (need.compute > 0) offer(facts_.cores / need.compute, Limit::kCores);
  if (need.gil > 0) offer(1 / need.gil, Limit::kGil);
  return best;
}

Ceiling Model::least(const std::vector<Need>& needs, double think, bool turns,
                     bool with_consumer) const {
  Ceiling best;
  const auto offer = [&](double rate, Limit limit, int stage) {
    if (best.rate == 0 || rate < best.rate) best = {rate, limit, stage};
  };
  double compute = 0;
  double gil = 0;
  int most = -1;
  int most_gil = -1;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const Need& need = needs[i];
    const int stage = static_cast<int>(i);
    compute += need.compute;
    gil += need.gil;
    if (most < 0 ||
        need.compute > needs[static_cast<std::size_t>(most)].compute) {
      most = stage;
    }
    if (most_gil < 0 ||
        need.gil > needs[static_cast<std::size_t>(most_gil)].gil) {
      most_gil = stage;
    }
    const double lane = need.compute + need.wait;
    if (need.lanes > 0 && lane > 0) {
      offer(need.lanes / lane, need.kind, stage);
    }
  }
  const double out = std::max(facts_.elements, 1e-9);
  const double step_cpu = with_consumer ? facts_.consumer_cpu_s / out : 0;
  if (compute > 0) {
    offer(facts_.cores / (compute + step_cpu), Limit::kCores, most);
  }
  if (gil > 0) offer(1 / (gil + step_cpu), Limit::kGil, most_gil);
  if (!with_consumer || think <= 0) return best;
  if (turns) {
    // What read-ahead would overlap is added up.
    double latency = think;
    for (const Need& need : needs) {
      const double lanes =
          need.lanes > 0 ? need.lanes : static_cast<double>(facts_.cores);
      latency += (need.compute + need.wait) / lanes;
    }
    offer(1 / latency, Limit::kNone, -1);
    if (best.limit == Limit::kNone) best.stage = -1;
    return best;
  }
  offer(1 / think, Limit::kConsumer, -1);
  return best;
}

std::vector<int> Model::upstream(int stage) const {
  std::vector<int> found{stage};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const StageFacts& s = facts_.stages[static_cast<std::size_t>(found[i])];
    found.insert(found.end(), s.inputs.begin(), s.inputs.end());
  }
  for (std::size_t i = 0; i < facts_.stages.size(); ++i) {
    const int parent = facts_.stages[i].parent;
    if (parent >= 0 &&
        std::find(found.begin(), found.end(), parent) != found.end()) {
      found.push_back(static_cast<int>(i));
    }
  }
  return found;
}

Ceiling Model::with(const std::vector<Change>& changes) const {
  std::vector<Need> needs = needs_;
  double think = think_;
  bool turns = turns_;
  double rows = 1;  // per output, against now
  for (const Change& change : changes) {
    if (change.prefetch) turns = *change.prefetch == 0;
    if (change.stage < 0) continue;
    const auto i = static_cast<std::size_t>(change.stage);
    Need& need = needs[i];
    const StageFacts& s = facts_.stages[i];
    const double per_out = s.elements / std::max(facts_.elements, 1e-9);
    need.compute *= change.compute;
    need.gil *= change.compute;
    need.wait *= change.wait;
    if (change.parallel_calls) {
      need.lanes = *change.parallel_calls;
      need.kind = Limit::kWidth;
      if (need.lanes <= 0) {
        const double call =
            (need.compute + need.wait) / std::max(per_out, 1e-12);
        const bool found_out = call >= kFoundOutS || s.user_code == false;
        need.lanes = need.wait <= need.compute ? 0
                     : found_out               ? kMostWidth
                                               : facts_.cores;
        need.kind = need.lanes > 0 ? Limit::kWait : Limit::kNone;
      }
      // What is opened inside goes with it.
      for (std::size_t k = 0; k < needs.size(); ++k) {
        if (facts_.stages[k].parent == change.stage) {
          needs[k].lanes = need.lanes;
          needs[k].kind = need.kind;
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
        need.compute += kCrossingS * per_out +
                        2 * s.bytes / std::max(facts_.elements, 1e-9) /
                            kCopyBytesPerS;
      }
      need.gil = 0;
    } else if (change.executor == "thread") {
      if (s.executor == "process") {
        const double out = std::max(facts_.elements, 1e-9);
        const double call = facts_.call_overhead_s * per_out;
        need.compute = std::max(s.work_s, s.worker_cpu_s * 0.5) / out + call;
        need.compute = std::min(need.compute, s.work_s / out + call);
        need.gil = need.compute;
      }
    } else if (change.executor == "native") {
      need.compute *= kNativeShare;
      need.gil = 0;
      need.lanes = 0;
      need.kind = Limit::kNone;
    }
    if (change.cache) {
      for (const int up : upstream(change.stage)) {
        needs[static_cast<std::size_t>(up)] = Need();
      }
      needs[i].compute = per_out * (kCacheReadS + s.bytes_per_element() /
                                                      kCopyBytesPerS);
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
  Ceiling result = least(needs, think, turns, true);
  result.rate *= rows;
  return result;
}

double Model::gain(const std::vector<Change>& changes) const {
  if (now_.rate <= 0) return 1;
  return with(changes).rate / now_.rate;
}

double Model::gain_over_measured(const std::vector<Change>& changes) const {
  const double rate = facts_.rate();
  return rate > 0 ? with(changes).rate / rate : 1;
}

double Model::residual() const {
  const double rate = facts_.rate();
  return rate > 0 && now_.rate > 0 ? now_.rate / rate : 1;
}

double Model::compute_share(int stage) const {
  double all = 0;
  for (const Need& need : needs_) all += need.compute;
  return all > 0 ? needs_[static_cast<std::size_t>(stage)].compute / all : 0;
}

double Model::parallelism(int stage) const {
  const StageFacts& s = facts_.stages[static_cast<std::size_t>(stage)];
  return facts_.seconds > 0 ? s.busy_s / facts_.seconds : 0;
}

}  // namespace penstock::doctor

#include "penstock/doctor/model.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace penstock::doctor {
namespace {

// The widest that the engine makes a stage that waits.
constexpr double kMostWidth = 64;
// Threads that take turns have the GIL for this share of the time: it is given
// up for 50 us in each millisecond.
constexpr double kGilUse = 0.94;
// Share of a call that computes, from which on it is no sleeper.
constexpr double kComputes = 0.1;

// An element out for each one in.
bool one_to_one(const StageFacts& s) {
  static const std::set<std::string>* ops =
      new std::set<std::string>{"map",
                                "prefetch",
                                "shuffle",
                                "enumerate",
                                "scan",
                                "with_options",
                                "prefetch_to_device",
                                "repeat",
                                "zip",
                                "parse_example",
                                "take"};
  return ops->contains(s.op);
}
// What lies before them may be read once and then no more.
bool holds_results(const StageFacts& s) {
  return s.op == "cache" || s.op == "snapshot";
}

// Threads that neither the engine nor the consumer started keep cores busy; on
// a loaded machine, most of what others left to this process.
bool foreign_threads_work(const Facts& f) {
  if (f.foreign_threads < f.cores || f.seconds <= 0) return false;
  const double foreign = f.foreign_cpu_s / f.seconds;
  const double own = f.own_cpu_s / f.seconds;
  const double to_be_had = std::max(own, f.cores - f.other_cpu);
  return foreign >= 0.35 * f.cores ||
         (foreign >= 0.35 * to_be_had && foreign >= 0.5 * own &&
          foreign >= 0.1 * f.cores);
}

}  // namespace

int threaded_stage(const Facts& facts) {
  if (!foreign_threads_work(facts)) return -1;
  int stage = -1;
  for (std::size_t i = 0; i < facts.stages.size(); ++i) {
    const StageFacts& s = facts.stages[i];
    if (!s.user_code || (!is_thread(s) && !is_process(s))) continue;
    if (stage < 0 ||
        s.busy_s > facts.stages[static_cast<std::size_t>(stage)].busy_s) {
      stage = static_cast<int>(i);
    }
  }
  return stage;
}

const char* limit_name(Limit limit) {
  switch (limit) {
    case Limit::kNone:
      return "";
    case Limit::kCores:
      return "cores";
    case Limit::kWidth:
      return "width";
    case Limit::kSerial:
      return "serial";
    case Limit::kGil:
      return "gil";
    case Limit::kWait:
      return "wait";
    case Limit::kDevice:
      return "device";
    case Limit::kConsumer:
      return "consumer";
  }
  return "";
}

Model::Model(const Facts& facts) : facts_(facts) {
  const double out = std::max(facts_.elements, 1e-9);
  const double wall = std::max(facts_.seconds, 1e-9);
  all_.think = facts_.consumer_think_s / out;
  all_.next = facts_.next_s + facts_.begin_s;
  find_ratios();

  double in_calls = 0;
  double cpu = 0;
  double busy = facts_.consumer_cpu_s;
  for (const StageFacts& s : facts_.stages) {
    in_calls += s.busy_s - s.gil_wait_s;
    cpu += s.cpu_s + s.worker_cpu_s;
    if (!is_thread(s) && !is_process(s) && s.cpu_s > 0.4 * s.busy_s) {
      busy += s.busy_s;
    }
  }
  if (facts_.run_delay_s >= 0 && in_calls > 0) {
    // Those in worker processes wait for a core inside of calls that wait.
    const double least = cpu / std::max(cpu + facts_.run_delay_s, 1e-9);
    stretch_ = std::clamp(1 - facts_.run_delay_s / in_calls, least, 1.0);
  } else if (busy > facts_.cores * wall) {
    // More threads than cores compute (the consumer helps).
    stretch_ = facts_.cores * wall / busy;
  }

  for (std::size_t i = 0; i < facts_.stages.size(); ++i) {
    const StageFacts& s = facts_.stages[i];
    Need need = is_process(s)  ? process_need(i)
                : is_thread(s) ? thread_need(i)
                               : native_need(i);
    set_lanes(s, need);
    all_.stages.push_back(need);
  }
  set_nested_lanes();
  if (const int threaded = threaded_stage(facts_); threaded >= 0) {
    // Its calls wait for threads that compute.
    Need& need = all_.stages[static_cast<std::size_t>(threaded)];
    need.compute +=
        for_output(static_cast<std::size_t>(threaded), facts_.foreign_cpu_s);
    need.wait = 0;
  }
  all_.engine = engine_need();
  if (facts_.device >= 0) {
    Need& need = all_.stages[static_cast<std::size_t>(facts_.device)];
    need.wait = facts_.put_s / out;
    need.lanes = 1;
    need.kind = Limit::kDevice;
  }
  for (const StageFacts& s : facts_.stages) {
    if (s.prefetch == 0) all_.turns = true;
  }
  pipeline_ = least(all_, false);
  // A step that comes back from waiting needs the GIL: where the pipeline is
  // behind, what it waits for is the pipeline.
  const double alone = facts_.step_alone_s;
  if (alone > 0 && all_.think > alone && facts_.gil_busy > kCrowdedGil &&
      pipeline_.rate > 0 && pipeline_.rate * alone < 1) {
    facts_.consumer_wait_s += (all_.think - alone) * out;
    facts_.consumer_think_s = alone * out;
    all_.think = alone;
  }
  now_ = least(all_, true);
  gil_bound_ = facts_.cores > 1 && pipeline_.limit == Limit::kGil;
}

void Model::find_ratios() {
  const std::size_t n = facts_.stages.size();
  ratios_.assign(n, 0);
  if (n == 0) return;
  const auto end = facts_.device >= 0 ? facts_.device : facts_.output;
  if (end >= 0) ratios_[static_cast<std::size_t>(end)] = 1;
  // Sources come first: a stage is met after all that read it. Nested stages
  // come last and belong to one that is not nested.
  for (std::size_t k = n; k-- > 0;) {
    const StageFacts& s = facts_.stages[k];
    if (s.parent >= 0) continue;
    for (const int input : s.inputs) {
      const auto i = static_cast<std::size_t>(input);
      const StageFacts& before = facts_.stages[i];
      const bool seen = s.elements > 0 && before.elements > 0;
      const double measured = seen ? before.elements / s.elements : 1;
      double per = measured;
      if (one_to_one(s)) {
        per = 1;
      } else if (holds_results(s)) {
        per = s.elements > 0 ? std::min(1.0, before.elements / s.elements) : 1;
      } else if (s.batch_size > 0) {
        // The last batch of an epoch may be short.
        per = static_cast<double>(s.batch_size);
        if (seen && measured < 0.9 * per) per = measured;
      } else if (s.calls > 0 && s.elements > 0) {
        // A call takes one; what lies before it may have run ahead.
        per = std::min(measured, s.calls / s.elements);
      }
      ratios_[i] += ratios_[k] * per;
    }
  }
  // What the last stage inside gives is what the outer one gives on, but for
  // what was read ahead.
  for (std::size_t k = 0; k < n; ++k) {
    const StageFacts& s = facts_.stages[k];
    if (s.parent < 0) continue;
    const auto p = static_cast<std::size_t>(s.parent);
    double inner = 0;
    int last = -1;
    for (const StageFacts& other : facts_.stages) {
      if (other.parent != s.parent || other.index <= last) continue;
      last = other.index;
      inner = other.elements;
    }
    ratios_[k] = ratios_[p] * (inner > 0 ? s.elements / inner : 1);
  }
}

// Hand-over of blocks, and the loop around next(): all of the CPU time of this
// process that is no stage's. A pipeline that runs ahead spends it ahead, too.
double Model::engine_need() const {
  if (facts_.engine_cpu_s <= 0 || threaded_stage(facts_) >= 0) return 0;
  double cpu = 0;
  double needed = 0;
  for (std::size_t i = 0; i < facts_.stages.size(); ++i) {
    const StageFacts& s = facts_.stages[i];
    cpu += s.cpu_s + s.worker_cpu_s;
    needed += for_output(i, s.cpu_s + s.worker_cpu_s);
  }
  const double out = std::max(facts_.elements, 1e-9);
  const double ahead = cpu > 0 ? std::min(1.0, needed * out / cpu) : 1;
  return ahead * facts_.engine_cpu_s / out;
}

double Model::for_output(std::size_t stage, double total) const {
  const StageFacts& s = facts_.stages[stage];
  return s.elements > 0 ? total / s.elements * ratios_[stage]
                        : total / std::max(facts_.elements, 1e-9);
}

// The GIL, a core without it, and sleep. Waiting to run, be it for the GIL or
// for a core, is no need of a call.
Need Model::thread_need(std::size_t stage) const {
  const StageFacts& s = facts_.stages[stage];
  double held = s.gil_held_s;
  if (held < 0) {
    // Nobody looked: calls that together used more than a core have given it
    // up, and those that hardly computed did something else.
    double cpu = 0;
    for (const StageFacts& other : facts_.stages) {
      if (is_thread(other)) cpu += other.cpu_s;
    }
    held = cpu > 1.2 * facts_.seconds ? 0.5 * s.cpu_s * facts_.seconds / cpu
                                      : s.cpu_s;
    if (s.gil_wait_s > 0.15 * s.gil_hold_s &&
        s.cpu_s > kComputes * s.gil_hold_s) {
      held = std::max(held, std::min(s.gil_hold_s, s.busy_s - s.gil_wait_s));
      held = std::min(held, facts_.seconds);
    }
  }
  // Who lost the core has kept the GIL.
  const double gil = std::max(std::min(held, s.cpu_s), held * stretch_);
  const double compute = std::max(s.cpu_s, gil);
  // Some of the calls may have been in worker processes already.
  const double in_threads =
      s.work_s > 0 ? std::min(s.busy_s, s.gil_wait_s + s.gil_hold_s) : s.busy_s;
  const double inside = std::max(0.0, in_threads - s.gil_wait_s);
  // Waiting for a core is a part of all that a call's time went to.
  const double rest =
      std::max(0.0, inside * stretch_ - std::max(compute, held));
  Need need;
  need.gil = for_output(stage, gil);
  need.compute = for_output(stage, compute);
  // In the rest a call sleeps; or it was made to hand the GIL over on its way
  // and waits for it, when somebody has it at all times.
  const bool crowded = facts_.gil_busy >= 0
                           ? facts_.gil_busy > kCrowdedGil
                           : s.gil_wait_s > 0.15 * s.gil_hold_s;
  const bool computes = compute > kComputes * inside;
  if (crowded && computes) return need;
  if (rest > compute || s.blocking) {
    need.wait = for_output(stage, rest);
  } else {
    need.compute += for_output(stage, rest * stretch_);
  }
  return need;
}

Need Model::process_need(std::size_t stage) const {
  const StageFacts& s = facts_.stages[stage];
  Need need;
  need.compute = for_output(stage, s.worker_cpu_s + s.cpu_s);
  // Workers that have no core wait for one, inside the function too.
  const bool saturates = s.worker_cpu_s + s.cpu_s >
                         0.85 * facts_.cores * facts_.seconds * stretch_;
  const double inside = std::max(0.0, s.work_s - s.worker_cpu_s);
  if (saturates) {
    const bool sleeps = s.work_s > 2 * s.worker_cpu_s / std::max(stretch_, 0.1);
    need.wait = sleeps ? for_output(stage, inside) : 0;
    return need;
  }
  // Where the workers are not what is busy, the way to them is.
  need.wait =
      std::max(0.0, for_output(stage, s.busy_s * stretch_) - need.compute);
  if (s.parallel_calls == 0) {
    need.lanes = s.blocking ? std::max(1, s.width) : facts_.cores;
    need.kind = Limit::kWait;
  }
  return need;
}

Need Model::native_need(std::size_t stage) const {
  const StageFacts& s = facts_.stages[stage];
  // Only openers of datasets take the GIL here, for their own function.
  const double lane = for_output(stage, std::max(0.0, s.busy_s - s.gil_wait_s));
  const double cpu = for_output(stage, s.cpu_s);
  Need need;
  need.gil = for_output(stage, s.gil_held_s >= 0 ? s.gil_held_s : s.gil_hold_s);
  if (!s.user_code || s.executor == "native") {
    // Only files make native code wait; else it was kept from its core.
    const double io = for_output(stage, s.read_s + s.open_s);
    need.wait = std::clamp(io, 0.0, std::max(0.0, lane - cpu));
    // CPU time is an estimate from some of the blocks; where others hardly take
    // cores, the time in the stage says more.
    constexpr double kQuiet = 0.85;
    need.compute = cpu;
    if (facts_.run_delay_s < 0 || stretch_ > kQuiet) {
      need.compute = std::max(cpu, (lane - need.wait) * stretch_);
    }
  } else if (s.cpu_s > 0.4 * s.busy_s * stretch_) {
    need.compute = std::max(cpu, lane * stretch_);
  } else {
    need.compute = cpu;
    need.wait = std::max(0.0, lane - cpu);
  }
  return need;
}

// An explicit number sets the width; else what waits goes as wide as the engine
// makes it, and what one worker makes at a time is alone.
void Model::set_lanes(const StageFacts& s, Need& need) const {
  need.keeps_worker = !s.blocking && !is_process(s);
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
  } else if (need.lanes == 0 && need.wait > 2 * need.compute && s.parent < 0) {
    // Too short to be found out: such calls keep their worker.
    need.lanes = facts_.cores;
    need.kind = Limit::kWait;
  }
}

// Inside a nested dataset, as many run at once as are open.
void Model::set_nested_lanes() {
  for (std::size_t i = 0; i < facts_.stages.size(); ++i) {
    const int parent = facts_.stages[i].parent;
    if (parent < 0) continue;
    const Need& outer = all_.stages[static_cast<std::size_t>(parent)];
    const StageFacts& opener = facts_.stages[static_cast<std::size_t>(parent)];
    // Datasets are opened ahead, so functions inside run side by side.
    const StageFacts& inner = facts_.stages[i];
    const bool calls = !inner.executor.empty();
    // What fills datasets that nobody reads from yet is no lane of the output.
    const double made =
        inner.elements * ratios_[static_cast<std::size_t>(parent)];
    const double read =
        made > 0 ? std::min(1.0, opener.elements * ratios_[i] / made) : 1;
    const double at_work = read * parallelism(static_cast<int>(i));
    if (inner.parallel_calls > 0 && all_.stages[i].kind == Limit::kWidth) {
      // Its own number holds for each dataset that is open.
      const double open = outer.kind == Limit::kWidth ? outer.lanes : 1;
      all_.stages[i].lanes =
          std::max(open * inner.parallel_calls, std::round(at_work));
    } else if ((opener.op == "flat_map" && !calls) || opener.files == 1) {
      all_.stages[i].lanes = 1;
      all_.stages[i].kind = Limit::kSerial;
    } else if (outer.kind == Limit::kWidth) {
      // Datasets behind those of the cycle are opened ahead, and run ahead,
      // too.
      all_.stages[i].lanes = std::max(outer.lanes, at_work);
      all_.stages[i].kind = Limit::kWidth;
    } else if (all_.stages[i].kind == Limit::kSerial) {
      all_.stages[i].lanes = 0;
      all_.stages[i].kind = Limit::kNone;
    }
  }
}

// Outputs/s that the lanes of a stage allow. Calls that come back from waiting,
// or from computing without the GIL, queue for it and for cores.
double Model::lane_rate(const Need& need) const {
  const double cores = facts_.cores;
  const double n = need.lanes > 0 ? need.lanes : cores;
  const double service = need.compute + need.wait;
  if (n <= 1 || (need.wait <= 0 && need.gil <= 0)) return n / service;
  const double gil = need.gil;
  const double free = std::max(0.0, need.compute - gil);
  // A station of several servers: one that is as many times faster, and a
  // delay. Calls that are no more than cores do not queue for them.
  const double queued = n > cores ? free / cores : 0;
  const double at[2] = {gil, queued};
  const double delay = need.wait + free - queued;
  double queue[2] = {0, 0};
  double rate = n / service;
  for (int round = 0; round < 100; ++round) {
    double response = delay;
    double stay[2];
    for (int k = 0; k < 2; ++k) {
      stay[k] = at[k] * (1 + queue[k] * (n - 1) / n);
      response += stay[k];
    }
    rate = n / response;
    for (int k = 0; k < 2; ++k) queue[k] = rate * stay[k];
  }
  return rate;
}

Ceiling Model::of_stage(int stage) const {
  const Need& need = all_.stages[static_cast<std::size_t>(stage)];
  Ceiling best;
  const auto offer = [&](double rate, Limit limit) {
    if (best.rate == 0 || rate < best.rate) best = {rate, limit, stage};
  };
  const double lane = need.compute + need.wait;
  if (need.lanes > 0 && lane > 0) offer(lane_rate(need), need.kind);
  if (need.compute > 0) offer(facts_.cores / need.compute, Limit::kCores);
  if (need.gil > 0) offer(kGilUse / need.gil, Limit::kGil);
  return best;
}

Ceiling Model::least(const Needs& all, bool with_consumer) const {
  const std::vector<Need>& needs = all.stages;
  Ceiling best;
  const auto offer = [&](double rate, Limit limit, int stage) {
    if (best.rate == 0 || rate < best.rate) best = {rate, limit, stage};
  };
  double compute = 0;
  double gil = 0;
  double asleep = 0;  // on a worker's time
  int most = -1;
  int most_gil = -1;
  int most_asleep = -1;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    const Need& need = needs[i];
    const int stage = static_cast<int>(i);
    compute += need.compute;
    gil += need.gil;
    if (need.keeps_worker && need.wait > 0) {
      asleep += need.wait;
      if (most_asleep < 0 ||
          need.wait > needs[static_cast<std::size_t>(most_asleep)].wait) {
        most_asleep = stage;
      }
    }
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
      offer(lane_rate(need), need.kind, stage);
    } else if (need.gil > 0) {
      const bool by_gil = need.gil * facts_.cores > kGilUse * need.compute;
      offer(lane_rate(need), by_gil ? Limit::kGil : Limit::kCores, stage);
    }
  }
  const double out = std::max(facts_.elements, 1e-9);
  const double step_cpu = with_consumer ? facts_.consumer_cpu_s / out : 0;
  if (compute + all.engine > 0) {
    offer(facts_.cores / (compute + all.engine + step_cpu), Limit::kCores,
          most);
  }
  if (asleep > 0) {
    // An explicit number that says the same is the nearer cause.
    offer(1.02 * facts_.cores / (compute + asleep), Limit::kWait, most_asleep);
  }
  if (gil > 0) {
    // One call at a time has nobody to take turns with.
    const Need& holder = needs[static_cast<std::size_t>(most_gil)];
    const bool alone = holder.lanes == 1 && holder.gil > 0.9 * gil;
    offer((alone ? 1 : kGilUse) / (gil + step_cpu), Limit::kGil, most_gil);
  }
  if (!with_consumer) return best;
  const double think = all.think + all.next;
  if (think <= 0) return best;
  if (all.turns) {
    // What read-ahead would overlap is added up.
    double made = 0;
    for (std::size_t i = 0; i < needs.size(); ++i) {
      Need need = needs[i];
      if (need.compute + need.wait <= 0) continue;
      // No more calls at once than there are elements in an output.
      const double lanes = need.lanes > 0 ? need.lanes : facts_.cores;
      need.lanes = std::max(1.0, std::min(lanes, ratios_[i]));
      made += 1 / lane_rate(need);
    }
    offer(1 / (think + all.late * made), Limit::kNone, -1);
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

double Model::residual() const {
  const double rate = facts_.rate();
  return rate > 0 && now_.rate > 0 ? now_.rate / rate : 1;
}

double Model::compute_share(int stage) const {
  double all = 0;
  for (const Need& need : all_.stages) all += need.compute;
  return all > 0 ? all_.stages[static_cast<std::size_t>(stage)].compute / all
                 : 0;
}

double Model::parallelism(int stage) const {
  const StageFacts& s = facts_.stages[static_cast<std::size_t>(stage)];
  return facts_.seconds > 0 ? s.busy_s / facts_.seconds : 0;
}

}  // namespace penstock::doctor

// Runs any pipeline on one thread under a seeded schedule and fault plan.
//
// Stands in for the executor: its workers are slots, and at each step a random
// number decides which slot claims, executes or completes, when the monitor
// finds a stage to block, and when the iterator is cancelled. Between a claim
// and its completion any number of other steps may happen, so every
// interleaving of the runtime's critical sections can come up. The same seed
// gives the same schedule; a failing seed reproduces.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "penstock/base/clock.h"
#include "penstock/base/random.h"
#include "penstock/runtime/run.h"
#include "penstock/runtime/scheduler.h"

namespace penstock {

struct SimulationOptions {
  std::uint64_t seed = 0;
  /// CPU workers.
  int workers = 3;
  /// Further slots for stages found to block.
  int elastic_workers = 4;
  /// Chance per step that the monitor takes a stage in execution for blocking.
  double blocking = 0.01;
  /// Chance per claim that its result is held back for very long.
  double straggler = 0.05;
  /// Chance per call of user code that its block is to be given back.
  double overdue = 0.05;
  /// Cancels all iterators at this step; -1 never does.
  std::int64_t cancel_at = -1;
};

/// Not thread-safe: everything happens on the thread that calls next().
class Simulation final : public Scheduler {
 public:
  explicit Simulation(SimulationOptions options);
  ~Simulation() override;

  const Clock& clock() const override { return clock_; }
  int cpu_budget() const override { return options_.workers; }
  Status add(std::shared_ptr<Run> run) override;
  void remove(Run* run) override;
  void notify(Run*) override {}
  bool wait(Run* run, const std::function<bool()>& done,
            std::int64_t timeout_ns) override;
  void wake_waiters(Run*) override {}
  void user_code_begin(Run* run, void* stage) override;
  void user_code_end() override {}
  const std::atomic<bool>* overdue() override { return &overdue_; }

  /// What the workers do while no consumer waits: at most so many steps.
  void run_ahead(int steps) {
    while (steps-- > 0 && step()) {
    }
  }

  /// Nobody could make progress although a consumer waited: a bug.
  bool stuck() const { return stuck_; }
  std::int64_t steps() const { return steps_; }
  /// Hash of everything that happened, in order.
  std::uint64_t trace() const { return trace_; }

 private:
  class SimulatedClock final : public Clock {
   public:
    std::int64_t now() const override { return time; }
    std::int64_t thread_cpu() const override { return time; }
    mutable std::int64_t time = 1;
  };
  struct Slot {
    enum class State { kIdle, kClaimed, kExecuting, kExecuted };
    State state = State::kIdle;
    bool elastic = false;
    std::shared_ptr<Run> run;
    Work work;
    int patience = 0;  // steps before its completion may be chosen
  };

  /// One random step; false when there is none to make.
  bool step();
  bool advance(Slot& slot);
  bool try_claim(Slot& slot);
  void note(std::uint64_t event) { trace_ = mix64(trace_, event); }

  const SimulationOptions options_;
  RandomStream random_;
  SimulatedClock clock_;
  std::vector<std::shared_ptr<Run>> runs_;
  std::vector<std::unique_ptr<Slot>> slots_;
  Stage* last_stage_ = nullptr;
  Run* last_run_ = nullptr;
  std::int64_t steps_ = 0;
  std::uint64_t trace_ = 0;
  bool stuck_ = false;
  std::atomic<bool> overdue_{false};
};

}  // namespace penstock

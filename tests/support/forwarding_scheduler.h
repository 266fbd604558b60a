// A scheduler that hands everything on to the executor, for tests and
// benchmarks that replace one part of it. Thread-safe as far as what replaces
// it is.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "penstock/runtime/scheduler.h"

namespace penstock {

class ForwardingScheduler : public Scheduler {
 public:
  /// One that is never destroyed: a worker may look at a run, and with it at
  /// the scheduler, a little longer than the iterator lives.
  template <class S, class... Args>
  static S& lasting(Args&&... args) {
    static auto* const mutex = new std::mutex;
    static auto* const all = new std::vector<std::unique_ptr<Scheduler>>;
    auto made = std::make_unique<S>(std::forward<Args>(args)...);
    S& scheduler = *made;
    const std::lock_guard lock(*mutex);
    all->push_back(std::move(made));
    return scheduler;
  }

  const Clock& clock() const override { return under().clock(); }
  int cpu_budget() const override { return under().cpu_budget(); }
  Status add(std::shared_ptr<Run> run) override {
    return under().add(std::move(run));
  }
  void remove(Run* run) override { under().remove(run); }
  void notify(Run* run) override { under().notify(run); }
  bool wait(Run* run, const std::function<bool()>& done,
            std::int64_t timeout_ns) override {
    return under().wait(run, done, timeout_ns);
  }
  void wake_waiters(Run* run) override { under().wake_waiters(run); }
  void user_code_begin(Run* run, void* stage) override {
    under().user_code_begin(run, stage);
  }
  void user_code_end() override { under().user_code_end(); }

 private:
  static Scheduler& under() { return default_scheduler(); }
};

}  // namespace penstock

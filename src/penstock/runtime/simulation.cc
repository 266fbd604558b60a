#include "penstock/runtime/simulation.h"

#include <algorithm>

namespace penstock {

Simulation::Simulation(SimulationOptions options)
    : options_(options), random_(mix64(options.seed, 0x73696dull)) {
  for (int i = 0; i < options_.workers + options_.elastic_workers; ++i) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->elastic = i >= options_.workers;
  }
}

Simulation::~Simulation() = default;

Status Simulation::add(std::shared_ptr<Run> run) {
  runs_.push_back(std::move(run));
  return absl::OkStatus();
}

void Simulation::remove(Run* run) {
  std::erase_if(runs_, [run](const auto& r) { return r.get() == run; });
  if (last_run_ == run) last_run_ = nullptr;
}

void Simulation::user_code_begin(Run* run, void* stage) {
  last_run_ = run;
  last_stage_ = static_cast<Stage*>(stage);
  overdue_ = random_.uniform() < options_.overdue;
}

bool Simulation::wait(Run* run, const std::function<bool()>& done,
                      std::int64_t timeout_ns) {
  const std::int64_t start = clock_.now();
  const auto is_done = [&] {
    std::lock_guard lock(run->mutex());
    return done();
  };
  while (!is_done()) {
    if (timeout_ns >= 0 && clock_.now() - start > timeout_ns) return false;
    if (step() || is_done()) continue;
    stuck_ = true;
    // Let the waiting call return, so that the test can report the seed.
    run->cancel();
    if (!is_done()) return false;
  }
  return true;
}

bool Simulation::try_claim(Slot& slot) {
  if (runs_.empty()) return false;
  const std::size_t first = random_.below(runs_.size());
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    const std::shared_ptr<Run>& run = runs_[(first + i) % runs_.size()];
    const ClaimKind kind = slot.elastic ? ClaimKind::kElastic : ClaimKind::kCpu;
    if (!run->claim(kind, slot.work)) continue;
    slot.run = run;
    slot.state = Slot::State::kClaimed;
    slot.patience = random_.uniform() < options_.straggler
                        ? static_cast<int>(random_.below(200))
                        : 0;
    return true;
  }
  return false;
}

bool Simulation::advance(Slot& slot) {
  switch (slot.state) {
    case Slot::State::kIdle:
      return try_claim(slot);
    case Slot::State::kExecuting:
      return false;  // further up this stack
    case Slot::State::kClaimed:
      slot.state = Slot::State::kExecuting;
      slot.run->execute(slot.work);
      slot.state = Slot::State::kExecuted;
      return true;
    case Slot::State::kExecuted: {
      const std::shared_ptr<Run> run = std::move(slot.run);
      Work work = std::move(slot.work);
      slot.work = Work();
      slot.state = Slot::State::kIdle;
      run->complete(work);
      return true;
    }
  }
  return false;
}

bool Simulation::step() {
  ++steps_;
  clock_.time += 100 + static_cast<std::int64_t>(random_.below(10'000));
  if (steps_ == options_.cancel_at) {
    for (const auto& run : runs_) run->cancel();
    note(1);
  }
  if (last_run_ != nullptr && random_.uniform() < options_.blocking) {
    const auto calls = static_cast<int>(random_.below(4));
    if (random_.below(4) == 0) {
      last_run_->mark_working(last_stage_);
    } else {
      last_run_->mark_blocking({{last_stage_, calls}});
    }
    note(2);
  }
  // Try slots in random order until one can move; a slot whose result is held
  // back moves only when nothing else can.
  std::vector<std::size_t> order(slots_.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[random_.below(i)]);
  }
  for (const bool patient : {true, false}) {
    for (std::size_t i : order) {
      Slot& slot = *slots_[i];
      if (patient && slot.patience > 0 &&
          slot.state == Slot::State::kExecuted) {
        --slot.patience;
        continue;
      }
      const auto before = static_cast<std::uint64_t>(slot.state);
      if (advance(slot)) {
        note(16 + i * 8 + before);
        return true;
      }
    }
  }
  return false;
}

}  // namespace penstock

#include "faulty_transport.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "penstock/base/random.h"

namespace penstock::python {
namespace {

/// One stream of decisions for all workers: the plan does not depend on how
/// many there are, only on the order in which they are asked.
class Plan {
 public:
  explicit Plan(const WorkerFaults& faults) : faults(faults) {}

  bool happens(double how_often) { return next() < how_often; }
  double next() {
    const auto bits = philox(faults.seed, 0, count_.fetch_add(1));
    return static_cast<double>(bits[0]) / 4294967296.0;
  }

  const WorkerFaults faults;

 private:
  std::atomic<std::uint64_t> count_{0};
};

class FaultyLink final : public WorkerLink {
 public:
  FaultyLink(std::unique_ptr<WorkerLink> real, std::shared_ptr<Plan> plan)
      : real_(std::move(real)), plan_(std::move(plan)) {}

  bool send(const Message& message) override {
    if (message.kind == Message::kCall &&
        plan_->happens(plan_->faults.die_before_call)) {
      end();
      return false;
    }
    if (!real_->send(message)) return false;
    if (message.kind == Message::kCall &&
        plan_->happens(plan_->faults.die_in_call)) {
      end();
    }
    return true;
  }

  Received receive(Message& message, std::int64_t timeout_ns,
                   const std::function<bool()>& cancelled) override {
    if (!ended_.empty()) return Received::kDied;
    const Received received = real_->receive(message, timeout_ns, cancelled);
    if (plan_->happens(plan_->faults.answer_late)) {
      std::this_thread::sleep_for(
          std::chrono::microseconds(static_cast<int>(1e4 * plan_->next())));
    }
    return received;
  }

  bool has_sent() const override { return real_->has_sent(); }
  std::int64_t row() const override { return row_ >= 0 ? row_ : real_->row(); }
  int process() const override { return real_->process(); }
  std::string kill() override {
    return ended_.empty() ? real_->kill() : ended_;
  }

 private:
  void end() {
    row_ = std::max<std::int64_t>(0, real_->row());
    real_->kill();
    ended_ = "was ended by a planned fault";
  }

  std::unique_ptr<WorkerLink> real_;
  std::shared_ptr<Plan> plan_;
  std::int64_t row_ = -1;  // at which it was ended
  std::string ended_;
};

class FaultyTransport final : public WorkerTransport {
 public:
  FaultyTransport(const WorkerFaults& faults,
                  std::shared_ptr<WorkerTransport> real)
      : plan_(std::make_shared<Plan>(faults)), real_(std::move(real)) {}

  StatusOr<std::unique_ptr<WorkerLink>> start() override {
    if (plan_->happens(plan_->faults.fail_to_start)) {
      return absl::UnavailableError("worker processes: a planned fault");
    }
    std::this_thread::sleep_for(
        std::chrono::duration<double>(plan_->faults.start_late));
    PS_ASSIGN_OR_RETURN(std::unique_ptr<WorkerLink> link, real_->start());
    return std::make_unique<FaultyLink>(std::move(link), plan_);
  }

 private:
  std::shared_ptr<Plan> plan_;
  std::shared_ptr<WorkerTransport> real_;
};

}  // namespace

std::shared_ptr<WorkerTransport> faulty_transport(
    WorkerFaults faults, std::shared_ptr<WorkerTransport> real) {
  return std::make_shared<FaultyTransport>(faults, std::move(real));
}

}  // namespace penstock::python

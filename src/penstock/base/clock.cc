#include "penstock/base/clock.h"

namespace penstock {
namespace {

std::int64_t read(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

class RealClock final : public Clock {
 public:
  std::int64_t now() const override { return read(CLOCK_MONOTONIC); }
  std::int64_t thread_cpu() const override {
    return read(CLOCK_THREAD_CPUTIME_ID);
  }
};

}  // namespace

const Clock& Clock::real() {
  static const auto* const clock = new RealClock;
  return *clock;
}

}  // namespace penstock

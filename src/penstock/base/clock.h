// The clock the engine reads, so that simulation can supply its own.
#pragma once

#include <cstdint>
#include <ctime>

namespace penstock {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Monotonic nanoseconds.
  virtual std::int64_t now() const = 0;
  /// CPU nanoseconds of the calling thread. Costs ~0.5 us: sample it.
  virtual std::int64_t thread_cpu() const = 0;

  /// The machine's own clock; lives as long as the process.
  static const Clock& real();
};

}  // namespace penstock

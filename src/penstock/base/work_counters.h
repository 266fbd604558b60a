// What the calling thread did below the level of stages: files, inflating,
// pictures. The runtime resets them before a stage runs and files what is there
// behind it, so whoever does such work only adds to them.
#pragma once

#include <cstdint>

#include "penstock/base/clock.h"

namespace penstock {

struct WorkCounters {
  std::int64_t opens = 0;  // files
  std::int64_t open_ns = 0;
  std::int64_t read_ns = 0;  // in read calls
  std::int64_t read_bytes = 0;
  std::int64_t inflate_ns = 0;  // decompressing
  std::int64_t decoded_pixels = 0;
  std::int64_t resized_pixels = 0;  // that resizes gave

  bool any() const {
    return (opens | read_bytes | inflate_ns | decoded_pixels |
            resized_pixels) != 0;
  }
  void add(const WorkCounters& other) {
    opens += other.opens;
    open_ns += other.open_ns;
    read_ns += other.read_ns;
    read_bytes += other.read_bytes;
    inflate_ns += other.inflate_ns;
    decoded_pixels += other.decoded_pixels;
    resized_pixels += other.resized_pixels;
  }
};

/// Of the calling thread.
inline WorkCounters& work_counters() {
  thread_local WorkCounters counters;
  return counters;
}

/// Adds the time from its making to its end to a counter.
class TimeInto {
 public:
  explicit TimeInto(std::int64_t& counter)
      : counter_(counter), started_(Clock::real().now()) {}
  ~TimeInto() { counter_ += Clock::real().now() - started_; }
  TimeInto(const TimeInto&) = delete;
  TimeInto& operator=(const TimeInto&) = delete;

 private:
  std::int64_t& counter_;
  const std::int64_t started_;
};

}  // namespace penstock

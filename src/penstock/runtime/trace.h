// What a timeline is drawn from: which thread worked for which stage, when.
//
// Off unless asked for: a run that is not traced pays one load per block. Each
// thread writes to a ring of its own, under a lock that only the end of the
// trace contends for. A full ring forgets its oldest events and counts them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace penstock {

struct TraceEvent {
  enum class Kind : std::uint8_t {
    kStage,         // a worker ran a stage over a block
    kConsumerWait,  // next() waited
    kConsumerStep,  // between two calls of next()
  };
  Kind kind = Kind::kStage;
  /// Of the trace, from 0, in the order in which they first appeared.
  int thread = 0;
  /// Index into Trace::stages; -1 for the consumer.
  int stage = -1;
  std::int64_t begin_ns = 0;  // of the monotonic clock
  std::int64_t end_ns = 0;
  std::int64_t rows = 0;
};

struct Trace {
  std::vector<std::string> stages;
  std::vector<TraceEvent> events;  // by begin_ns
  int threads = 0;
  /// Events that did not fit, oldest first.
  std::int64_t lost = 0;
};

/// Collects the events of one run. Thread-safe.
class TraceRecorder {
 public:
  explicit TraceRecorder(std::int64_t events_per_thread);
  void add(TraceEvent::Kind kind, const std::string* stage,
           std::int64_t begin_ns, std::int64_t end_ns, std::int64_t rows);
  /// What was recorded; nothing may be added any more.
  Trace finish();

 private:
  struct Event {
    TraceEvent event;
    const std::string* stage;
  };
  struct Ring {
    std::thread::id thread;
    std::mutex mutex;
    std::vector<Event> events;
    std::size_t next = 0;  // to be overwritten, once full
    std::int64_t lost = 0;
  };
  Ring& own_ring();

  const std::size_t capacity_;
  const std::uint64_t id_;  // told apart from an earlier one at this address
  std::mutex mutex_;
  std::vector<std::unique_ptr<Ring>> rings_;
};

}  // namespace penstock

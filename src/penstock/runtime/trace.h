// What a timeline is drawn from: which thread worked for which stage, when;
// which blocks went from one to the other; how full the queues were.
//
// Off unless asked for: a run that is not traced pays one load per block. Each
// thread writes to a ring of its own, under a lock that only the end of the
// trace contends for, taken once per block. A full ring forgets its oldest
// events and counts them.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace penstock {

class Rows;

struct TraceEvent {
  enum class Kind : std::uint8_t {
    kStage,         // a worker ran a stage over a block
    kConsumerWait,  // next() waited
    kConsumerStep,  // between two calls of next()
    kFlowIn,        // only inside the recorder: a block that work took,
    kFlowOut,       // one that it passed on,
    kFlowMade,      // one that it made
  };
  Kind kind = Kind::kStage;
  /// Of the trace, from 0, in the order in which they first appeared.
  int thread = 0;
  /// Index into Trace::stages; -1 for the consumer.
  int stage = -1;
  std::int64_t begin_ns = 0;  // of the monotonic clock
  std::int64_t end_ns = 0;
  std::int64_t rows = 0;
  /// Trace::flows[flow, flow + flows): the blocks that came in or went out. An
  /// id that several events have is one block on its way between them.
  std::int64_t flow = 0;
  std::int64_t flows = 0;
};

/// A thread of the system.
struct TraceThread {
  int tid = 0;
  std::string name;
};

/// A value that changes over time.
struct TraceSeries {
  enum class Unit : std::uint8_t { kCount, kBytes };
  std::string name;
  Unit unit = Unit::kCount;
};

struct TraceSample {
  int series = 0;  // index into Trace::series
  std::int64_t at_ns = 0;
  std::int64_t value = 0;
};

/// Something the engine changed by itself.
struct TraceDecision {
  std::int64_t at_ns = 0;
  std::string stage;
  std::string what;
  std::string reason;
};

struct Trace {
  std::vector<std::string> stages;
  std::vector<TraceEvent> events;  // by begin_ns
  std::vector<std::uint64_t> flows;
  int threads = 0;
  std::vector<TraceThread> thread_info;  // one for each of `threads`
  std::vector<TraceSeries> series;
  std::vector<TraceSample> samples;  // by at_ns
  std::vector<TraceDecision> decisions;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  /// Events that did not fit, oldest first.
  std::int64_t lost = 0;
};

/// Collects the events of one run. Thread-safe.
class TraceRecorder {
 public:
  TraceRecorder(std::int64_t events_per_thread, std::int64_t now);
  /// Kept if it differs from the last one of this name.
  void sample(std::string_view name, TraceSeries::Unit unit, std::int64_t at_ns,
              std::int64_t value);
  std::int64_t begin_ns() const { return begin_ns_; }
  /// What was recorded; what is added later is lost.
  Trace finish();

  /// Names a block while it lives: its address and its first element's origin.
  /// 0 if nothing has been computed yet. Addresses are used again: finish()
  /// tells blocks of one name apart by when each was made.
  static std::uint64_t block_id(const Rows& rows);

 private:
  friend class TraceWriter;
  struct Event {
    TraceEvent::Kind kind;
    const std::string* stage;
    std::int64_t begin_ns;  // of a flow: so many events of its writer before it
    std::int64_t end_ns;
    std::uint64_t rows;  // of a flow: the block
  };
  struct Ring {
    std::thread::id thread;
    TraceThread info;
    std::mutex mutex;
    std::vector<Event> events;
    std::size_t next = 0;  // to be overwritten, once full
    std::int64_t lost = 0;
  };
  struct Flow {
    std::size_t event;  // of Trace::events
    std::uint64_t block;
    bool made;
    std::int64_t at_ns;
  };
  Ring& own_ring();
  static void collect(Ring& ring, int thread,
                      std::map<const std::string*, int>& stages, Trace& trace,
                      std::vector<Flow>& flows);
  static void attach(std::vector<Flow> flows, Trace& trace);

  const std::size_t capacity_;
  const std::uint64_t id_;  // told apart from an earlier one at this address
  const std::int64_t begin_ns_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Ring>> rings_;
  std::mutex samples_mutex_;
  std::vector<TraceSeries> series_;
  std::map<std::string, int, std::less<>> series_of_;
  std::vector<std::int64_t> last_;  // by series
  std::deque<TraceSample> samples_;
  std::int64_t samples_lost_ = 0;
};

/// Adds events of the calling thread to its ring, whose lock it holds.
class TraceWriter {
 public:
  explicit TraceWriter(TraceRecorder& recorder)
      : capacity_(recorder.capacity_),
        ring_(recorder.own_ring()),
        lock_(ring_.mutex) {}
  void add(TraceEvent::Kind kind, const std::string* stage,
           std::int64_t begin_ns, std::int64_t end_ns, std::int64_t rows) {
    push({kind, stage, begin_ns, end_ns, static_cast<std::uint64_t>(rows)});
    ++events_;
  }
  /// Hangs a block on what this writer has added: kFlowIn on its first event,
  /// others on its last.
  void add_flow(TraceEvent::Kind kind, std::uint64_t block) {
    push({kind, nullptr, events_, 0, block});
  }

 private:
  void push(const TraceRecorder::Event& event);

  const std::size_t capacity_;
  TraceRecorder::Ring& ring_;
  std::lock_guard<std::mutex> lock_;
  std::int64_t events_ = 0;
};

/// Runs that are made from now on record this many events per thread from their
/// first moment; 0 ends that.
void set_trace_new_runs(std::int64_t events_per_thread);
std::int64_t trace_new_runs();

}  // namespace penstock

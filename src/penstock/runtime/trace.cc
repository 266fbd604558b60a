#include "penstock/runtime/trace.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>

#include "penstock/base/random.h"
#include "penstock/graph/rows.h"

namespace penstock {
namespace {

// Values of counters; at one sample of each of 100 series in 4 ms, ten seconds.
constexpr std::size_t kMaxSamples = std::size_t{1} << 18;

// Events of a thread that are made room for at once: a megabyte, touched as it
// is used.
constexpr std::size_t kReserved = std::size_t{1} << 15;

std::atomic<std::uint64_t> g_next_id{1};
std::atomic<std::int64_t> g_trace_new_runs{0};

struct OwnRing {
  std::uint64_t recorder = 0;
  void* ring = nullptr;
};
thread_local OwnRing t_ring;

TraceThread this_thread() {
  TraceThread info;
  info.tid = gettid();
  char name[16] = {};
  pthread_getname_np(pthread_self(), name, sizeof(name));
  info.name = info.tid == getpid() ? "main" : name;
  return info;
}

bool is_flow(TraceEvent::Kind kind) {
  return kind >= TraceEvent::Kind::kFlowIn;
}

}  // namespace

void set_trace_new_runs(std::int64_t events_per_thread) {
  g_trace_new_runs.store(events_per_thread, std::memory_order_relaxed);
}

std::int64_t trace_new_runs() {
  return g_trace_new_runs.load(std::memory_order_relaxed);
}

TraceRecorder::TraceRecorder(std::int64_t events_per_thread, std::int64_t now)
    : capacity_(static_cast<std::size_t>(
          std::max<std::int64_t>(1, events_per_thread))),
      id_(g_next_id.fetch_add(1)),
      begin_ns_(now) {}

std::uint64_t TraceRecorder::block_id(const Rows& rows) {
  if (rows.is_lazy() || rows.block().empty()) return 0;
  const auto address = reinterpret_cast<std::uintptr_t>(&rows.block());
  const Origins& origins = rows.block().origins();
  return mix64(address, origins.key_at(0)) | 1;
}

TraceRecorder::Ring& TraceRecorder::own_ring() {
  if (t_ring.recorder == id_) return *static_cast<Ring*>(t_ring.ring);
  std::lock_guard lock(mutex_);
  const std::thread::id self = std::this_thread::get_id();
  for (const auto& ring : rings_) {
    if (ring->thread == self) {
      t_ring = {id_, ring.get()};
      return *ring;
    }
  }
  rings_.push_back(std::make_unique<Ring>());
  rings_.back()->thread = self;
  rings_.back()->info = this_thread();
  // Growing in the middle of a block would show in its time.
  rings_.back()->events.reserve(std::min(capacity_, kReserved));
  t_ring = {id_, rings_.back().get()};
  return *rings_.back();
}

void TraceWriter::push(const TraceRecorder::Event& event) {
  if (ring_.events.size() < capacity_) {
    ring_.events.push_back(event);
    return;
  }
  ring_.events[ring_.next] = event;
  ring_.next = (ring_.next + 1) % capacity_;
  ++ring_.lost;
}

void TraceRecorder::sample(std::string_view name, TraceSeries::Unit unit,
                           std::int64_t at_ns, std::int64_t value) {
  std::lock_guard lock(samples_mutex_);
  auto at = series_of_.find(name);
  if (at == series_of_.end()) {
    at = series_of_.emplace(std::string(name), static_cast<int>(series_.size()))
             .first;
    series_.push_back({std::string(name), unit});
    last_.push_back(~value);
  }
  std::int64_t& last = last_[static_cast<std::size_t>(at->second)];
  if (last == value) return;
  last = value;
  samples_.push_back({at->second, at_ns, value});
  if (samples_.size() > kMaxSamples) {
    samples_.pop_front();
    ++samples_lost_;
  }
}

// The events of one thread in the order in which they were added, and the event
// each flow belongs to.
void TraceRecorder::collect(Ring& ring, int thread,
                            std::map<const std::string*, int>& stages,
                            Trace& trace, std::vector<Flow>& flows) {
  std::rotate(ring.events.begin(),
              ring.events.begin() + static_cast<std::ptrdiff_t>(ring.next),
              ring.events.end());
  const std::size_t first = trace.events.size();
  for (const Event& e : ring.events) {
    if (!is_flow(e.kind)) {
      TraceEvent& event = trace.events.emplace_back();
      event.kind = e.kind;
      event.thread = thread;
      event.begin_ns = e.begin_ns;
      event.end_ns = e.end_ns;
      event.rows = static_cast<std::int64_t>(e.rows);
      if (e.stage != nullptr) {
        const auto [at, added] =
            stages.emplace(e.stage, static_cast<int>(trace.stages.size()));
        if (added) trace.stages.push_back(*e.stage);
        event.stage = at->second;
      }
      continue;
    }
    const std::size_t held = trace.events.size() - first;
    const bool in = e.kind == TraceEvent::Kind::kFlowIn;
    const std::size_t back = in ? static_cast<std::size_t>(e.begin_ns) : 1;
    if (back == 0 || held < back) continue;  // its event was overwritten
    const std::size_t to = trace.events.size() - back;
    flows.push_back({to, e.rows, e.kind == TraceEvent::Kind::kFlowMade,
                     in ? trace.events[to].begin_ns : trace.events[to].end_ns});
  }
}

void TraceRecorder::attach(std::vector<Flow> flows, Trace& trace) {
  std::stable_sort(
      flows.begin(), flows.end(), [](const Flow& a, const Flow& b) {
        return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.made > b.made;
      });
  std::map<std::uint64_t, std::uint64_t> made;  // how often, by block
  for (Flow& flow : flows) {
    std::uint64_t& times = made[flow.block];
    if (flow.made) ++times;
    flow.block = mix64(flow.block, times);
  }
  std::stable_sort(
      flows.begin(), flows.end(),
      [](const Flow& a, const Flow& b) { return a.event < b.event; });
  for (const Flow& flow : flows) {
    TraceEvent& event = trace.events[flow.event];
    if (event.flows == 0) {
      event.flow = static_cast<std::int64_t>(trace.flows.size());
    }
    ++event.flows;
    trace.flows.push_back(flow.block);
  }
}

Trace TraceRecorder::finish() {
  Trace trace;
  trace.begin_ns = begin_ns_;
  std::map<const std::string*, int> stages;
  std::vector<Flow> flows;
  {
    std::lock_guard lock(mutex_);
    trace.threads = static_cast<int>(rings_.size());
    for (std::size_t i = 0; i < rings_.size(); ++i) {
      Ring& ring = *rings_[i];
      std::lock_guard own(ring.mutex);
      trace.lost += ring.lost;
      trace.thread_info.push_back(ring.info);
      collect(ring, static_cast<int>(i), stages, trace, flows);
    }
  }
  attach(std::move(flows), trace);
  std::stable_sort(trace.events.begin(), trace.events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) {
                     return a.begin_ns < b.begin_ns;
                   });
  std::lock_guard lock(samples_mutex_);
  trace.series = series_;
  trace.samples.assign(samples_.begin(), samples_.end());
  std::stable_sort(trace.samples.begin(), trace.samples.end(),
                   [](const TraceSample& a, const TraceSample& b) {
                     return a.at_ns < b.at_ns;
                   });
  trace.lost += samples_lost_;
  return trace;
}

}  // namespace penstock

#include "penstock/runtime/trace.h"

#include <algorithm>
#include <atomic>
#include <map>

namespace penstock {
namespace {

std::atomic<std::uint64_t> g_next_id{1};

struct OwnRing {
  std::uint64_t recorder = 0;
  void* ring = nullptr;
};
thread_local OwnRing t_ring;

}  // namespace

TraceRecorder::TraceRecorder(std::int64_t events_per_thread)
    : capacity_(static_cast<std::size_t>(
          std::max<std::int64_t>(1, events_per_thread))),
      id_(g_next_id.fetch_add(1)) {}

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
  t_ring = {id_, rings_.back().get()};
  return *rings_.back();
}

void TraceRecorder::add(TraceEvent::Kind kind, const std::string* stage,
                        std::int64_t begin_ns, std::int64_t end_ns,
                        std::int64_t rows) {
  Ring& ring = own_ring();
  const Event event{{kind, 0, -1, begin_ns, end_ns, rows}, stage};
  std::lock_guard lock(ring.mutex);
  if (ring.events.size() < capacity_) {
    ring.events.push_back(event);
    return;
  }
  ring.events[ring.next] = event;
  ring.next = (ring.next + 1) % capacity_;
  ++ring.lost;
}

Trace TraceRecorder::finish() {
  Trace trace;
  std::map<const std::string*, int> stages;
  std::lock_guard lock(mutex_);
  trace.threads = static_cast<int>(rings_.size());
  for (std::size_t i = 0; i < rings_.size(); ++i) {
    Ring& ring = *rings_[i];
    std::lock_guard own(ring.mutex);
    trace.lost += ring.lost;
    for (Event& e : ring.events) {
      e.event.thread = static_cast<int>(i);
      if (e.stage != nullptr) {
        const auto [at, added] =
            stages.emplace(e.stage, static_cast<int>(trace.stages.size()));
        if (added) trace.stages.push_back(*e.stage);
        e.event.stage = at->second;
      }
      trace.events.push_back(e.event);
    }
  }
  std::stable_sort(trace.events.begin(), trace.events.end(),
                   [](const TraceEvent& a, const TraceEvent& b) {
                     return a.begin_ns < b.begin_ns;
                   });
  return trace;
}

}  // namespace penstock

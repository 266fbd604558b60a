#include "penstock/timeline/perfetto.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace penstock {
namespace {

using Writer = protozero::pbf_writer;

// Field numbers of perfetto/protos, by message.
namespace trace_packet {
constexpr std::uint32_t kClockSnapshot = 6;
constexpr std::uint32_t kTimestamp = 8;
constexpr std::uint32_t kSequenceId = 10;
constexpr std::uint32_t kTrackEvent = 11;
constexpr std::uint32_t kInternedData = 12;
constexpr std::uint32_t kSequenceFlags = 13;
constexpr std::uint32_t kDefaults = 59;
constexpr std::uint32_t kTrackDescriptor = 60;
constexpr std::uint32_t kFirstOnSequence = 87;
constexpr std::uint32_t kStateCleared = 1;  // of the sequence flags
constexpr std::uint32_t kNeedsState = 2;
}  // namespace trace_packet
namespace defaults {
constexpr std::uint32_t kTrackEvent = 11;
constexpr std::uint32_t kTimestampClock = 58;
}  // namespace defaults
namespace track_event {
constexpr std::uint32_t kCategoryIids = 3;
constexpr std::uint32_t kAnnotations = 4;
constexpr std::uint32_t kType = 9;
constexpr std::uint32_t kNameIid = 10;
constexpr std::uint32_t kTrack = 11;
constexpr std::uint32_t kName = 23;
constexpr std::uint32_t kCounterValue = 30;
constexpr std::uint32_t kFlows = 47;
constexpr std::int32_t kSliceBegin = 1;
constexpr std::int32_t kSliceEnd = 2;
constexpr std::int32_t kInstant = 3;
constexpr std::int32_t kCounter = 4;
}  // namespace track_event
namespace interned {
constexpr std::uint32_t kCategories = 1;
constexpr std::uint32_t kNames = 2;
constexpr std::uint32_t kAnnotationNames = 3;
constexpr std::uint32_t kIid = 1;
constexpr std::uint32_t kText = 2;
}  // namespace interned
namespace annotation {
constexpr std::uint32_t kNameIid = 1;
constexpr std::uint32_t kInt = 4;
constexpr std::uint32_t kString = 6;
}  // namespace annotation
namespace track {
constexpr std::uint32_t kUuid = 1;
constexpr std::uint32_t kName = 2;
constexpr std::uint32_t kProcess = 3;
constexpr std::uint32_t kThread = 4;
constexpr std::uint32_t kParent = 5;
constexpr std::uint32_t kCounter = 8;
}  // namespace track
namespace process {
constexpr std::uint32_t kPid = 1;
constexpr std::uint32_t kName = 6;
}  // namespace process
namespace thread {
constexpr std::uint32_t kPid = 1;
constexpr std::uint32_t kTid = 2;
constexpr std::uint32_t kName = 5;
}  // namespace thread
namespace counter {
constexpr std::uint32_t kUnit = 3;
constexpr std::int32_t kCount = 2;
constexpr std::int32_t kBytes = 3;
}  // namespace counter

constexpr std::uint32_t kMonotonic = 3;  // of the builtin clocks
constexpr std::uint64_t kCategory = 1;   // "penstock", interned everywhere
constexpr std::uint64_t kRows = 1;       // names of annotations
constexpr std::uint64_t kPipeline = 2;
constexpr std::uint64_t kReason = 3;

std::int64_t read_clock(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return static_cast<std::int64_t>(ts.tv_sec) * 1'000'000'000 + ts.tv_nsec;
}

std::string process_name() {
  std::ifstream file("/proc/self/comm");
  std::string name;
  std::getline(file, name);
  return name.empty() ? "penstock" : name;
}

struct Slice {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::uint64_t name = 0;  // interned
  std::int64_t rows = 0;
  std::size_t part = 0;
  std::vector<std::uint64_t> flows;
};

/// Slices of one track. Calls of nested iterators lie inside those of the outer
/// one; an inner end that clocks put outside is pulled in.
void nest(std::vector<Slice>& slices) {
  std::stable_sort(
      slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
      });
  std::vector<std::int64_t> open;
  for (Slice& slice : slices) {
    while (!open.empty() && open.back() <= slice.begin) open.pop_back();
    if (!open.empty()) slice.end = std::min(slice.end, open.back());
    open.push_back(slice.end);
  }
}

class TimelineEncoder {
 public:
  explicit TimelineEncoder(std::span<const TimelinePart> parts)
      : parts_(parts) {}

  std::string encode() {
    find_flows();
    write_clocks();
    write_process();
    write_threads();
    for (std::size_t i = 0; i < parts_.size(); ++i) write_part(i);
    return std::move(out_);
  }

 private:
  /// The packets of one track that follow each other in time.
  struct Sequence {
    std::uint32_t id;
    std::map<std::string, std::uint64_t> names;
    std::uint64_t intern(const std::string& name) {
      return names.emplace(name, names.size() + 1).first->second;
    }
  };

  std::uint64_t new_track() { return next_track_++; }
  Sequence new_sequence() { return {next_sequence_++, {}}; }

  void packet(std::string_view body) {
    Writer(out_).add_message(1, body.data(), body.size());
  }

  static void add(Writer& to, std::uint32_t field, const std::string& body) {
    to.add_message(field, body.data(), body.size());
  }

  // Blocks that were seen on at least two slices.
  void find_flows() {
    absl::flat_hash_map<std::uint64_t, int> seen;
    for (const TimelinePart& part : parts_) {
      for (const std::uint64_t id : part.trace.flows) ++seen[id];
    }
    for (const auto& [id, times] : seen) {
      if (times > 1) flows_.emplace(id, flows_.size() + 1);
    }
  }

  std::vector<std::uint64_t> flows_of(const Trace& trace,
                                      const TraceEvent& event) const {
    std::vector<std::uint64_t> ids;
    for (std::int64_t i = 0; i < event.flows; ++i) {
      const auto at =
          flows_.find(trace.flows[static_cast<std::size_t>(event.flow + i)]);
      if (at != flows_.end()) ids.push_back(at->second);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

  // Events carry monotonic time; other tools' traces use other clocks.
  void write_clocks() {
    std::string snapshot;
    Writer writer(snapshot);
    const std::pair<std::uint32_t, clockid_t> clocks[] = {
        {1, CLOCK_REALTIME},
        {kMonotonic, CLOCK_MONOTONIC},
        {6, CLOCK_BOOTTIME}};
    for (const auto& [id, clock] : clocks) {
      std::string one;
      Writer clock_writer(one);
      clock_writer.add_uint32(1, id);
      clock_writer.add_uint64(2, static_cast<std::uint64_t>(read_clock(clock)));
      add(writer, 1, one);
    }
    writer.add_enum(2, kMonotonic);
    std::string body;
    Writer packet_writer(body);
    packet_writer.add_uint32(trace_packet::kSequenceId, next_sequence_++);
    add(packet_writer, trace_packet::kClockSnapshot, snapshot);
    packet(body);
  }

  void write_descriptor(std::uint64_t uuid, std::uint64_t parent,
                        std::string_view name, std::uint32_t field = 0,
                        const std::string& message = {}) {
    std::string descriptor;
    Writer writer(descriptor);
    writer.add_uint64(track::kUuid, uuid);
    if (!name.empty())
      writer.add_string(track::kName, name.data(), name.size());
    if (parent != 0) writer.add_uint64(track::kParent, parent);
    if (field != 0) add(writer, field, message);
    std::string body;
    Writer packet_writer(body);
    packet_writer.add_uint32(trace_packet::kSequenceId, descriptors_);
    add(packet_writer, trace_packet::kTrackDescriptor, descriptor);
    packet(body);
  }

  void write_process() {
    descriptors_ = next_sequence_++;
    process_ = new_track();
    std::string message;
    Writer writer(message);
    writer.add_int32(process::kPid, getpid());
    writer.add_string(process::kName, process_name());
    write_descriptor(process_, 0, "", track::kProcess, message);
  }

  /// The first packet of a sequence: names, and what its packets have in
  /// common.
  void begin_sequence(const Sequence& sequence, std::uint64_t track) {
    std::string interned;
    Writer writer(interned);
    const auto intern = [&](std::uint32_t field, std::uint64_t iid,
                            std::string_view text) {
      std::string one;
      Writer one_writer(one);
      one_writer.add_uint64(interned::kIid, iid);
      one_writer.add_string(interned::kText, text.data(), text.size());
      add(writer, field, one);
    };
    intern(interned::kCategories, kCategory, "penstock");
    for (const auto& [name, iid] : sequence.names) {
      intern(interned::kNames, iid, name);
    }
    intern(interned::kAnnotationNames, kRows, "rows");
    intern(interned::kAnnotationNames, kPipeline, "pipeline");
    intern(interned::kAnnotationNames, kReason, "reason");
    std::string event_defaults;
    if (track != 0) {
      Writer(event_defaults).add_uint64(track_event::kTrack, track);
    }
    std::string packet_defaults;
    Writer defaults_writer(packet_defaults);
    if (track != 0) add(defaults_writer, defaults::kTrackEvent, event_defaults);
    defaults_writer.add_uint32(defaults::kTimestampClock, kMonotonic);

    std::string body;
    Writer packet_writer(body);
    packet_writer.add_uint32(trace_packet::kSequenceId, sequence.id);
    packet_writer.add_uint32(trace_packet::kSequenceFlags,
                             trace_packet::kStateCleared);
    packet_writer.add_bool(trace_packet::kFirstOnSequence, true);
    add(packet_writer, trace_packet::kInternedData, interned);
    add(packet_writer, trace_packet::kDefaults, packet_defaults);
    packet(body);
  }

  void event_packet(const Sequence& sequence, std::int64_t at) {
    body_.clear();
    Writer writer(body_);
    writer.add_uint64(
        trace_packet::kTimestamp,
        static_cast<std::uint64_t>(std::max<std::int64_t>(0, at)));
    writer.add_uint32(trace_packet::kSequenceId, sequence.id);
    writer.add_uint32(trace_packet::kSequenceFlags, trace_packet::kNeedsState);
    add(writer, trace_packet::kTrackEvent, event_);
    packet(body_);
  }

  void annotate(Writer& event, std::uint64_t name, std::int64_t value) {
    std::string one;
    Writer writer(one);
    writer.add_uint64(annotation::kNameIid, name);
    writer.add_int64(annotation::kInt, value);
    add(event, track_event::kAnnotations, one);
  }
  void annotate(Writer& event, std::uint64_t name, const std::string& value) {
    std::string one;
    Writer writer(one);
    writer.add_uint64(annotation::kNameIid, name);
    writer.add_string(annotation::kString, value);
    add(event, track_event::kAnnotations, one);
  }

  void begin_slice(const Sequence& sequence, const Slice& slice) {
    event_.clear();
    Writer writer(event_);
    writer.add_enum(track_event::kType, track_event::kSliceBegin);
    writer.add_uint64(track_event::kCategoryIids, kCategory);
    writer.add_uint64(track_event::kNameIid, slice.name);
    if (slice.rows > 0) annotate(writer, kRows, slice.rows);
    if (parts_.size() > 1) annotate(writer, kPipeline, parts_[slice.part].name);
    for (const std::uint64_t id : slice.flows) {
      writer.add_fixed64(track_event::kFlows, id);
    }
    event_packet(sequence, slice.begin);
  }

  void end_slice(const Sequence& sequence, std::int64_t at) {
    event_.clear();
    Writer(event_).add_enum(track_event::kType, track_event::kSliceEnd);
    event_packet(sequence, at);
  }

  void write_slices(const Sequence& sequence, std::uint64_t track,
                    std::vector<Slice> slices) {
    nest(slices);
    begin_sequence(sequence, track);
    std::vector<std::int64_t> open;
    for (const Slice& slice : slices) {
      while (!open.empty() && open.back() <= slice.begin) {
        end_slice(sequence, open.back());
        open.pop_back();
      }
      begin_slice(sequence, slice);
      open.push_back(slice.end);
    }
    for (; !open.empty(); open.pop_back()) end_slice(sequence, open.back());
  }

  // A thread may have worked for several iterators.
  void write_threads() {
    struct Thread {
      std::string name;
      Sequence sequence;
      std::vector<Slice> slices;
    };
    std::map<int, Thread> threads;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Trace& trace = parts_[i].trace;
      for (const TraceEvent& event : trace.events) {
        if (event.kind != TraceEvent::Kind::kStage) continue;
        const TraceThread& info =
            trace.thread_info[static_cast<std::size_t>(event.thread)];
        auto at = threads.find(info.tid);
        if (at == threads.end()) {
          at = threads.emplace(info.tid, Thread{info.name, new_sequence(), {}})
                   .first;
        }
        const std::string& stage =
            trace.stages[static_cast<std::size_t>(event.stage)];
        at->second.slices.push_back({event.begin_ns, event.end_ns,
                                     at->second.sequence.intern(stage),
                                     event.rows, i, flows_of(trace, event)});
      }
    }
    for (auto& [tid, t] : threads) {
      std::string message;
      Writer writer(message);
      writer.add_int32(thread::kPid, getpid());
      writer.add_int32(thread::kTid, tid);
      writer.add_string(thread::kName, t.name);
      const std::uint64_t uuid = new_track();
      write_descriptor(uuid, process_, "", track::kThread, message);
      write_slices(t.sequence, uuid, std::move(t.slices));
    }
  }

  void write_part(std::size_t i) {
    const TimelinePart& part = parts_[i];
    const std::uint64_t group = new_track();
    write_descriptor(group, process_, part.name);
    write_consumer(i, group);
    write_decisions(part.trace, group);
    write_counters(part.trace, group);
  }

  void write_consumer(std::size_t i, std::uint64_t group) {
    const Trace& trace = parts_[i].trace;
    Sequence sequence = new_sequence();
    std::vector<Slice> slices;
    for (const TraceEvent& event : trace.events) {
      if (event.kind == TraceEvent::Kind::kStage) continue;
      const bool waits = event.kind == TraceEvent::Kind::kConsumerWait;
      slices.push_back({event.begin_ns, event.end_ns,
                        sequence.intern(waits ? "wait" : "step"), event.rows, i,
                        flows_of(trace, event)});
    }
    if (slices.empty()) return;
    const std::uint64_t uuid = new_track();
    write_descriptor(uuid, group, "consumer");
    write_slices(sequence, uuid, std::move(slices));
  }

  void write_decisions(const Trace& trace, std::uint64_t group) {
    if (trace.decisions.empty()) return;
    const std::uint64_t uuid = new_track();
    write_descriptor(uuid, group, "decisions");
    const Sequence sequence = new_sequence();
    begin_sequence(sequence, uuid);
    for (const TraceDecision& decision : trace.decisions) {
      event_.clear();
      Writer writer(event_);
      writer.add_enum(track_event::kType, track_event::kInstant);
      writer.add_uint64(track_event::kCategoryIids, kCategory);
      writer.add_string(track_event::kName,
                        absl::StrCat(decision.stage, ": ", decision.what));
      annotate(writer, kReason, decision.reason);
      event_packet(sequence, decision.at_ns);
    }
  }

  void write_counters(const Trace& trace, std::uint64_t group) {
    if (trace.samples.empty()) return;
    std::vector<std::uint64_t> tracks;
    for (const TraceSeries& series : trace.series) {
      std::string message;
      Writer(message).add_enum(counter::kUnit,
                               series.unit == TraceSeries::Unit::kBytes
                                   ? counter::kBytes
                                   : counter::kCount);
      tracks.push_back(new_track());
      write_descriptor(tracks.back(), group, series.name, track::kCounter,
                       message);
    }
    const Sequence sequence = new_sequence();
    begin_sequence(sequence, 0);
    for (const TraceSample& sample : trace.samples) {
      event_.clear();
      Writer writer(event_);
      writer.add_enum(track_event::kType, track_event::kCounter);
      writer.add_uint64(track_event::kTrack,
                        tracks[static_cast<std::size_t>(sample.series)]);
      writer.add_int64(track_event::kCounterValue, sample.value);
      event_packet(sequence, sample.at_ns);
    }
  }

  const std::span<const TimelinePart> parts_;
  std::string out_;
  std::string body_;   // of the packet being written
  std::string event_;  // in it
  absl::flat_hash_map<std::uint64_t, std::uint64_t> flows_;
  std::uint64_t next_track_ = 1;
  std::uint32_t next_sequence_ = 1;
  std::uint32_t descriptors_ = 0;
  std::uint64_t process_ = 0;
};

}  // namespace

std::string encode_perfetto(std::span<const TimelinePart> parts) {
  return TimelineEncoder(parts).encode();
}

}  // namespace penstock

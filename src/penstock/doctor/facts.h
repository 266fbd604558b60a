// What the doctor knows of a pipeline: the graph as it was written, and what
// the counters said over the observed time. Plain data; seconds and bytes.
//
// Everything is the difference of two snapshots, so a running iterator can be
// looked at as well as one that the doctor runs itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::doctor {

/// Seconds and CPU seconds of an output of a pipeline that was tried, the loop
/// that takes it included; 0: it was not.
struct Trial {
  double wall_s = 0;
  double cpu_s = 0;
};

/// A stage of the user's graph. What happens inside a nested dataset
/// ("interleave#1.tfrecord#0") is a stage of its own, with `parent` set.
struct StageFacts {
  // --- the graph
  std::string label;
  std::string op;
  std::string name;
  int index = 0;
  std::vector<int> inputs;  // numbers of stages
  int parent = -1;          // the stage that opens this nested one
  bool source = false;
  bool sequential = false;  // one worker at a time makes its elements
  bool user_code = false;
  int parallel_calls = 0;      // explicit num_parallel_calls; 0: AUTOTUNE
  int cycle_length = 0;        // explicit; 0: AUTOTUNE or none
  std::int64_t prefetch = -1;  // n of prefetch(n); -1: none, AUTOTUNE
  std::int64_t batch_size = 0;
  std::int64_t window = 0;  // of a windowed shuffle
  bool ordered = true;      // false: deterministic=False
  bool padded = false;
  std::string
      arguments;  // of a batch, but for its size: ", drop_remainder=True"
  std::int64_t cardinality = -2;  // -1 endless, -2 not known
  std::int64_t repeats = 1;       // of a repeat; -1 endless
  bool indexed = false;           // an element can be had by its index
  bool in_order_source = false;   // its order says something (sorted data)
  std::string moved_behind;       // the planner runs it behind this stage
  bool random = false;            // draws random values, or may
  std::int64_t files = 0;         // that a source reads; 0: not known
  std::string compression;

  // --- its function
  std::string function;  // "decode (train.py:12)"
  std::string executor;  // "native", "thread", "process", ""
  bool executor_forced = false;
  std::string stays;               // why it cannot move to processes by itself
  bool pickles = true;             // or else it cannot at all
  std::string refusal;             // why it is not native
  bool refusal_fixable = false;    // by rewriting a line
  std::string native_form;         // code that would be native, if recognised
  bool reads_passed_only = false;  // a filter: see `passes` of the stage before
  int filter_could_pass = -1;      // a filter that may run before this stage
  std::string filter_there;        // that filter's predicate, of elements there
  double unused_share = 0;         // of what it makes, that nothing reads
  std::string unused_what;         // "leaf 1", "key 'mask'", "branch 1"
  int unused_in = -1;              // the zip that has this branch
  bool rest_native = false;  // without that it only passes on what it is given
  std::string hot_lines;     // sampled, one per line
  double shape_ratio = 0;    // pixels in / out of a shrinking stage behind
  // Measured on an element: time of the mended form over that of this one; 0:
  // not measured. A smaller decode; native code instead of Python.
  double decode_left = 0;
  double native_left = 0;
  double padding_left = 0;  // of some rows, with like lengths side by side
  // Tried: what an output takes when elements of this stage are in memory, or
  // with its fix: out of a cache behind it, of files written as the fix says,
  // as native code, in threads, without what nothing reads, with more room, in
  // larger batches.
  Trial free;
  Trial cached;
  Trial packed;
  Trial native;
  Trial threads;
  Trial rest;
  Trial roomy;
  Trial batched;
  std::int64_t batched_size = 0;  // of those batches

  // --- counters over the observed time
  double elements = 0;
  double elements_ever = 0;  // since the iterator was made
  double epochs_ever = 1;    // of a source, that those are of; 0: not known
  double busy_ever_s = 0;    // wall time of calls, for those
  double blocks = 0;         // that they came in
  double bytes = 0;          // of those elements
  double spec_bytes = 0;     // of an element, by its spec; 0: not known
  double busy_s = 0;         // wall time, summed over workers
  double cpu_s = 0;
  double calls = 0;
  double gil_wait_s = 0;
  double gil_hold_s = 0;   // from taking the GIL to the end of the calls
  double gil_held_s = -1;  // of that, really with the GIL; -1: not known
  double work_s = 0;       // inside the function, in worker processes
  double worker_cpu_s = 0;
  double wait_input_s = 0;
  double wait_output_s = 0;
  double wait_memory_s = 0;
  double wait_order_s = 0;  // summed over results
  double opens = 0;
  double open_s = 0;
  double read_s = 0;
  double read_bytes = 0;
  double inflate_s = 0;
  double decoded_pixels = 0;
  bool decodes = false;  // pictures, ever
  bool reads = false;    // files, ever
  double resized_pixels = 0;
  int max_parallelism = 0;
  int width = 0;  // calls allowed at once; 0: no cap
  bool blocking = false;

  double bytes_per_element() const {
    return elements > 0 && bytes > 0 ? bytes / elements : spec_bytes;
  }
};

inline bool is_thread(const StageFacts& s) { return s.executor == "thread"; }
inline bool is_process(const StageFacts& s) { return s.executor == "process"; }

/// A piece of the observed time.
struct Window {
  double seconds = 0;
  double elements = 0;
  double other_cpu = 0;  // cores that other processes used
  double throttled_s = 0;
  double run_delay_s = 0;
};

struct Facts {
  std::vector<StageFacts> stages;  // sources first
  int output = -1;                 // the last stage
  double seconds = 0;
  double elements = 0;  // given to the consumer
  double consumer_wait_s = 0;
  double consumer_think_s = 0;
  double consumer_cpu_s = 0;  // of think time
  bool consumer_given = false;
  double step_alone_s = 0;      // a step without the pipeline; 0: not known
  double step_alone_cpu_s = 0;  // CPU time of such a step
  double step_beside_s = 0;     // a step beside it
  double put_s = 0;             // in prefetch_to_device, all of them
  double put_wait_s = 0;        // the copying thread waited for a batch
  int device = -1;              // that stage

  int cores = 1;             // CPU budget
  double own_cpu_s = 0;      // of this process and its workers
  double foreign_cpu_s = 0;  // of threads that are not the engine's
  // Of this process outside of stages and the consumer's step: hand-over and
  // the loop around next(); -1: not known.
  double engine_cpu_s = -1;
  int foreign_threads = 0;  // most seen at once
  double other_cpu = 0;     // cores used by other processes
  double throttled_s = 0;
  double bytes_held = 0;  // mean
  double bytes_peak = 0;
  double memory_budget = 0;
  double call_overhead_s = 1e-6;  // of a Python call that does nothing
  double next_s = 0;              // of taking an element that is ready
  double begin_s = 0;             // of beginning again, per element taken
  double native_row_s = 2e-9;     // of a cheap native map, per row
  double native_filter_s = 8e-9;  // of a cheap native filter
  double gil_busy = -1;           // share of time the GIL was taken; -1: ?
  // Engine threads and worker processes could run but had no core, summed over
  // them; -1: not known.
  double run_delay_s = -1;
  bool bounded = false;  // prefetch(n) at the end
  std::vector<Window> windows;

  double rate() const { return seconds > 0 ? elements / seconds : 0; }
  double wait_share() const {
    const double all = consumer_wait_s + consumer_think_s;
    return all > 0 ? consumer_wait_s / all : 0;
  }
};

}  // namespace penstock::doctor

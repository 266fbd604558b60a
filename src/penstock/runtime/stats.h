// The always-on counters: plain data, filled in under the Run's lock.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "penstock/base/work_counters.h"
#include "penstock/graph/operator.h"

namespace penstock {

struct StageStats {
  std::string stage;          // "map#2:decode"
  std::int64_t elements = 0;  // out of this stage
  std::int64_t bytes = 0;     // of those elements
  std::int64_t errors = 0;
  std::int64_t blocks = 0;   // or steps, for a sequencer
  std::int64_t busy_ns = 0;  // wall time in the stage, summed over workers
  std::int64_t cpu_ns = 0;   // CPU time, extrapolated from samples
  std::int64_t cpu_samples = 0;
  int parallelism = 0;  // calls running now
  int max_parallelism = 0;
  bool blocking = false;  // found to wait rather than compute
  int width = 0;          // calls allowed at once; 0 is no cap
  // Of sampled blocks, for stages inside a segment: bytes per element.
  std::int64_t sampled_rows = 0;
  std::int64_t sampled_bytes = 0;
  WorkCounters work;  // files, inflating, pictures
};

/// One hand-over: the segment or sequencer that fills it, by its last stage.
struct PipeStats {
  std::string stages;               // "range#0 map#1"
  std::int64_t wait_input_ns = 0;   // had room, but nothing to work on
  std::int64_t wait_output_ns = 0;  // had input, but the next stage was full
  std::int64_t wait_memory_ns = 0;  // had both, but no bytes
  std::int64_t wait_order_ns = 0;   // results waited for an earlier one
  std::int64_t ready_bytes = 0;
  std::int64_t block_rows = 0;
};

/// Why the engine changed something by itself.
struct Decision {
  std::int64_t at_ns = 0;  // since the iterator was made
  std::string stage;
  std::string what;
  std::string reason;
};

/// An error that a policy kept from the consumer.
struct QuarantinedError {
  std::string stage;      // where it happened
  std::string element;    // its origin: "17", "3.17"
  std::string message;    // with the status' code; cut after 1,000 bytes
  bool replaced = false;  // by a value; otherwise skipped
};

struct IteratorStats {
  std::vector<StageStats> stages;
  std::vector<PipeStats> pipes;
  std::vector<Decision> decisions;
  std::int64_t elements = 0;           // given to the consumer
  std::int64_t consumer_wait_ns = 0;   // consumer waited in next()
  std::int64_t consumer_think_ns = 0;  // consumer was busy elsewhere
  std::int64_t elapsed_ns = 0;
  std::int64_t bytes_held = 0;
  std::int64_t bytes_peak = 0;
  std::int64_t memory_budget = 0;
  int cpu_budget = 0;
  /// Errors that policies and ignore_errors kept from the consumer. They are
  /// counted where they are met, which may be ahead of the consumer.
  std::int64_t errors_skipped = 0;
  std::int64_t errors_replaced = 0;
  /// The first 1,000 of them.
  std::vector<QuarantinedError> quarantine;

  /// A table for people.
  std::string to_string() const;
};

}  // namespace penstock

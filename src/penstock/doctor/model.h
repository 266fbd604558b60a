// The throughput model: how fast the pipeline could be, and what keeps it from
// being faster.
//
// Operational analysis. Per output element each stage needs some lane time (a
// call is under way), of which a part computes on a core and a part holds the
// GIL. Every resource bounds the rate by its amount over what one output needs:
//   cores   K / sum of computing
//   lane    calls at once / lane time, per stage
//   GIL     1 / sum of holding it
//   think   1 / the consumer's own time
// The rate is the least of them; without read-ahead pipeline and consumer take
// turns instead. A change of the pipeline changes the needs, so the same
// formula predicts it.
//
// What one output needs is the cost of an element of the stage times the number
// of its elements that go into an output by the graph, not all that it did: a
// stage that runs ahead of the consumer does more than is asked for. Time in
// which threads could run but had no core is no need of theirs. Calls that wait
// share cores and GIL when they come back: at many calls at once they queue
// (closed network, approximate mean value analysis).
//
// Where the pipeline as it is was measured and nobody else took its cores, time
// that the model misses is put to what limits. A fix that takes that away takes
// the missing time with it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "penstock/doctor/facts.h"

namespace penstock::doctor {

enum class Limit {
  kNone,  // nothing the model knows of
  kCores,
  kWidth,   // an explicit num_parallel_calls or cycle_length
  kSerial,  // one worker at a time makes the elements
  kGil,
  kWait,    // calls that wait, at the largest width
  kDevice,  // the copy to the device
  kConsumer,
};
const char* limit_name(Limit limit);

/// What is changed of a stage.
struct Change {
  int stage = -1;
  std::optional<int> parallel_calls = std::nullopt;  // 0: AUTOTUNE
  std::string executor = {};  // "process", "thread", "native"
  bool cache = false;         // behind this stage
  std::optional<std::int64_t> prefetch = std::nullopt;  // -1: AUTOTUNE
  std::optional<std::int64_t> batch = std::nullopt;
  bool unordered = false;
  bool packed = false;  // its files are written anew, as the fix says
  bool unused = false;  // left out
  double compute = 1;   // factor of its computing
  double wait = 1;      // factor of its waiting
  double room = 1;      // factor of the memory budget
};

struct Ceiling {
  double rate = 0;  // output elements/s; 0: no bound
  Limit limit = Limit::kNone;
  int stage = -1;  // that asks most of it
};

/// What one output element needs of a stage, in seconds.
struct Need {
  double compute = 0;
  double wait = 0;  // lane time that neither computes nor waits for the GIL
  double gil = 0;
  double lanes = 0;           // at once; 0: as many as there are cores
  bool keeps_worker = true;   // while it waits; false on the blocking lane
  Limit kind = Limit::kNone;  // of the lanes
};

/// The GIL is in use for nearly all of the time.
constexpr double kCrowdedGil = 0.8;

/// The stage whose function runs threads of its own that keep cores busy; -1 if
/// none does.
int threaded_stage(const Facts& facts);

class Model {
 public:
  explicit Model(const Facts& facts);

  const Facts& facts() const { return facts_; }
  const std::vector<Need>& needs() const { return all_.stages; }
  /// The pipeline as it is.
  const Ceiling& now() const { return now_; }
  /// What bounds the pipeline, the consumer left aside.
  const Ceiling& pipeline() const { return pipeline_; }
  /// Bound by a stage alone; rate 0 when it sets none.
  Ceiling of_stage(int stage) const;
  Ceiling with(const std::vector<Change>& changes) const;
  /// Output elements/s after over before, both by the model.
  double gain(const std::vector<Change>& changes) const;
  /// After by the model, before as measured: for what the model does not see.
  double gain_over_measured(const std::vector<Change>& changes) const;
  /// Model over measured: far from 1, something is at work that it misses.
  double residual() const;
  /// Share of the time in calls that was not spent without a core.
  double stretch() const { return stretch_; }
  /// Other processes kept our threads from their cores.
  bool beside_others() const;
  /// Share of all computing that a stage does.
  double compute_share(int stage) const;
  /// Mean number of calls of a stage at work.
  double parallelism(int stage) const;
  /// The GIL is what calls of Python functions wait for.
  bool gil_bound() const { return gil_bound_; }
  /// Elements of a stage that go into one output.
  double per_output(int stage) const {
    return ratios_[static_cast<std::size_t>(stage)];
  }
  /// Everything upstream of `stage`, itself included.
  std::vector<int> upstream(int stage) const;

 private:
  /// Everything that one output needs.
  struct Needs {
    std::vector<Need> stages;
    double engine = 0;  // computing outside of stages
    double think = 0;   // of the consumer
    double next = 0;    // taking an element that is ready
    bool turns = false;
    // Of an output that is made while the consumer waits: the time it took over
    // what the lanes alone would take.
    double late = 1;
  };
  Ceiling least(const Needs& needs, bool with_consumer) const;
  Ceiling with(const std::vector<Change>& changes, Needs needs) const;
  /// The needs, so that they give the measured rate.
  Needs calibrated() const;

  void find_ratios();
  /// Seconds (or anything) of a stage, summed, for one output.
  double for_output(std::size_t stage, double total) const;
  Need thread_need(std::size_t stage) const;
  Need process_need(std::size_t stage) const;
  Need native_need(std::size_t stage) const;
  void set_lanes(const StageFacts& s, Need& need) const;
  void set_nested_lanes();
  double lane_rate(const Need& need) const;
  void spread_blocks(double growth, Needs& all) const;
  void use_trials(const std::vector<Change>& changes, Needs& all) const;
  double engine_need() const;
  double most_ahead(int stage) const;
  double most_in_datasets(int stage) const;
  Trial fix_tried(const Change& change) const;
  double native_compute(std::size_t stage, const Need& need) const;
  void copy_into_batches(std::size_t stage, std::vector<Need>& needs) const;

  Facts facts_;
  std::vector<double> ratios_;
  Needs all_;
  double stretch_ = 1;  // of computing, by want of cores
  bool gil_bound_ = false;
  Ceiling now_;
  Ceiling pipeline_;
};

}  // namespace penstock::doctor

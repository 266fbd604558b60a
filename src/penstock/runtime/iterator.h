// An iterator: what the consumer holds of a Run.
//
// Thread-safe: next() may be called from several threads, each element goes to
// one of them. cancel() may be called from any thread at any time and returns
// at once; close() and the destructor wait for user calls that are running.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "penstock/graph/node.h"
#include "penstock/memory/element.h"
#include "penstock/runtime/run.h"
#include "penstock/runtime/scalar_lane.h"

namespace penstock {

/// What a Dataset object keeps outside its graph, shared by its copies.
struct DatasetState {
  std::mutex mutex;
  std::int64_t next_iteration = 0;
  std::optional<std::uint64_t> drawn_seed;
  /// The seed of stages without one, drawn once.
  std::uint64_t seed(const Options& options);
};

/// What next() gives where it finds no memory for the element; made in advance.
const Status& out_of_memory();

class IteratorCore {
 public:
  enum class Next : std::uint8_t { kElement, kError, kEnd, kInterrupted };

  /// Starts `node`; `state` is of another iterator of an equal graph, or empty.
  static StatusOr<std::unique_ptr<IteratorCore>> create(
      const NodeRef& node, const std::shared_ptr<DatasetState>& dataset,
      std::string_view state, Scheduler* scheduler = nullptr);
  /// Whether create() would take `state`.
  static Status check_state(const Node& node, std::string_view state);
  ~IteratorCore();

  /// kError fills `error`; the next call goes on behind it. kInterrupted only
  /// if `interrupted`, asked while waiting (Run::fetch), said so.
  Next next(Element& element, ErrorRef& error,
            const std::function<bool()>& interrupted = nullptr);
  /// The next element into `element`, which must be empty, if it is one of
  /// scalars that lies ready; false, and nothing done, if next() must be asked.
  bool take_scalars(Element& element) { return scalar_lane_.take(element); }
  /// next() if that needs no waiting, not even for another caller; false, and
  /// nothing done, if it does.
  bool next_if_ready(Element& element, ErrorRef& error, Next& result);
  /// From now on nobody else refers to the memory of an element that is handed
  /// out, unless a source, a cache or a window keeps it. Costs some 100 ns for
  /// each tensor in a block of several, and a copy of what shares its memory
  /// with others, so only where it is asked for.
  void hand_over_memory() { hands_over_ = true; }
  std::string state_dict() const;
  IteratorStats stats() const;
  std::string explain() const { return run_->explain(); }
  bool start_trace(std::int64_t events_per_thread) {
    return run_->start_trace(events_per_thread);
  }
  Trace stop_trace() { return run_->stop_trace(); }
  void cancel();
  /// False when user code still ran after `timeout_ns` (below zero: waits for
  /// it). The iterator is cancelled then, and can be closed again. A function
  /// of the iterator itself is not waited for: false at once.
  bool close(std::int64_t timeout_ns = -1);
  /// Lets go of user code that still runs: it frees what it uses itself.
  void abandon();
  std::vector<std::string> running_stages() const {
    return run_->running_stages();
  }
  Run& run() { return *run_; }

 private:
  IteratorCore() = default;
  /// In the child of a fork, where the threads of this iterator are not.
  bool forked() const;
  Next take_row(Element& element, ErrorRef& error);
  /// The next block, with mutex_ held, so that state() can be had meanwhile.
  Run::Fetch fetch(const std::function<bool()>& interrupted);
  /// With mutex_ held, or while its holder is inside fetch().
  std::string state() const;
  /// Takes over the block just fetched, if memory is handed over.
  void own_block();
  void drop_block();

  NodeRef node_;
  std::shared_ptr<DatasetState> dataset_;
  std::string fingerprint_;
  std::uint64_t shards_ = 0;  // Node::fixed_shards()
  Epoch epoch_;
  Scheduler* scheduler_ = nullptr;
  bool forkable_ = false;  // uses the process' own executor
  std::shared_ptr<Run> run_;

  mutable std::mutex mutex_;
  // Before mutex_ is waited for by whoever must not wait for an element: while
  // fetching_ its holder waits, and changes nothing before he has this one.
  mutable std::mutex fetch_mutex_;
  bool fetching_ = false;
  bool hands_over_ = false;
  BlockRef block_;
  // Instead, where memory is handed over: the block, its bytes in the ledger.
  std::optional<Block> own_block_;
  Charge own_charge_;
  mutable ScalarLane scalar_lane_;
  bool scalars_ = false;  // block_ may be taken from through the lane
  std::int64_t row_ = 0;  // while the lane is closed
  std::int64_t begin_ = 0;
  std::int64_t end_ = 0;
  std::int64_t closed_rows_ = 0;  // taken of the block that close() dropped
  Mark mark_;                     // of row begin_
  bool ended_ = false;
  bool had_errors_ = false;  // or may have had some that it did not see
  // What it was made from, and goes on to give when that could not be restored.
  std::string restored_state_;
  bool restore_failed_ = false;
  bool failed_ = false;  // as the run has: ended_, too
  std::atomic<bool> closed_{false};
};

}  // namespace penstock

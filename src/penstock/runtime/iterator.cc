#include "penstock/runtime/iterator.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <random>
#include <thread>
#include <unordered_set>

#include "penstock/runtime/state.h"

namespace penstock {
namespace {

constexpr int kMaxNesting = 8;

/// `t` with a handle to its bytes that nobody else counts.
Tensor own_view(const Tensor& t) {
  return Tensor::from_buffer(
      t.dtype(), t.shape(),
      Buffer::external(
          t.data(), static_cast<std::size_t>(t.byte_size()), [t] {}, true),
      t.data());
}

bool overlap(const Tensor& a, const Tensor& b) {
  return a.data() < b.data() + b.byte_size() &&
         b.data() < a.data() + a.byte_size();
}

/// Whether `leaf` lies in writable memory of ours that has other handles, too.
bool shares_memory(const Tensor& leaf) {
  return leaf.dtype() != DType::kString && leaf.dtype() != DType::kObject &&
         leaf.buffer() && leaf.buffer()->writable() && !leaf.buffer()->unique();
}

/// If only `leaves` refer to the buffer of leaf `first`, and lie apart there,
/// each gets a handle of its own, and the result is true.
bool part_from_siblings(Element::Leaves& leaves, std::size_t first) {
  const Ref<Buffer> buffer = leaves[first].buffer();
  std::vector<std::size_t> siblings;
  for (std::size_t i = first; i < leaves.size(); ++i) {
    if (leaves[i].buffer().get() != buffer.get()) continue;
    if (leaves[i].dtype() == DType::kString) return false;
    for (std::size_t other : siblings) {
      if (overlap(leaves[i], leaves[other])) return false;
    }
    siblings.push_back(i);
  }
  if (siblings.size() < 2) return false;
  // Without a handle of theirs it is seen whether there are others.
  std::vector<Tensor> parts;
  for (std::size_t i : siblings) {
    Tensor& leaf = leaves[i];
    const Tensor bare =
        Tensor::from_buffer(leaf.dtype(), leaf.shape(), nullptr, leaf.data());
    leaf = Tensor();
    parts.push_back(bare);
  }
  const bool alone = buffer->unique();
  for (std::size_t k = 0; k < siblings.size(); ++k) {
    const Tensor& bare = parts[k];
    const Tensor whole =
        Tensor::from_buffer(bare.dtype(), bare.shape(), buffer, bare.data());
    leaves[siblings[k]] = alone ? own_view(whole) : whole;
  }
  return alone;
}

/// Gives every leaf that was made for the consumer memory that only it refers
/// to: what shares a buffer with a neighbour, as small batches do, is copied,
/// so that arrays are writable whatever blocks elements came in. What belongs
/// to the user stays as it is.
void own_leaves(Element& element) {
  Element::Leaves& leaves = element.mutable_leaves();
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!shares_memory(leaves[i]) || part_from_siblings(leaves, i)) continue;
    StatusOr<Tensor> copy =
        Tensor::allocate(leaves[i].dtype(), leaves[i].shape());
    if (!copy.ok()) continue;  // read-only, then
    std::memcpy(copy->mutable_data(), leaves[i].data(),
                static_cast<std::size_t>(leaves[i].byte_size()));
    leaves[i] = *std::move(copy);
  }
}

/// Gives every row of a packed column memory of its own, if nobody else refers
/// to theirs.
void separate_rows(Column& column) {
  const Tensor& packed = column.tensor();
  if (packed.rank() < 2 || !packed.exclusive()) return;
  std::vector<Tensor> rows;
  rows.reserve(static_cast<std::size_t>(packed.shape()[0]));
  for (std::int64_t i = 0; i < packed.shape()[0]; ++i) {
    rows.push_back(own_view(packed.row(i)));
  }
  column = Column(std::move(rows));
}

/// A state of an equal graph.
StatusOr<SavedState> read_state(const Node& node, std::string_view state) {
  const std::string fingerprint = node.fingerprint();
  PS_ASSIGN_OR_RETURN(SavedState saved, decode_state(state));
  if (saved.fingerprint != fingerprint) {
    return absl::FailedPreconditionError(
        absl::StrCat("state: it belongs to another pipeline (graph ",
                     saved.fingerprint, ", this one is ", fingerprint, ")"));
  }
  if (saved.shards != node.fixed_shards()) {
    return absl::FailedPreconditionError(
        "state: it was saved under another shard(num_shards, index); a "
        "state moves to other shards only where the stages behind the shard "
        "map element to element by index, or batch them once");
  }
  return saved;
}

Status made_before_fork() {
  return absl::FailedPreconditionError(
      "this iterator was made before a fork; make a new one in the child");
}

/// Whether a stage passes over errors that others let through.
bool may_hide_errors(const Node& top) {
  std::vector<const Node*> left{&top};
  std::unordered_set<const Node*> seen;
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    if (!seen.insert(node).second) continue;
    if (node->op->op() == "ignore_errors") return true;
    for (const NodeRef& input : node->inputs) left.push_back(input.get());
  }
  return false;
}

}  // namespace

const Status& out_of_memory() {
  static const auto* const status = new Status(absl::ResourceExhaustedError(
      "the system has no memory for the next element"));
  return *status;
}

std::uint64_t DatasetState::seed(const Options& options) {
  if (options.seed) return mix64(*options.seed);
  std::lock_guard lock(mutex);
  if (!drawn_seed) {
    std::random_device device;
    drawn_seed = (static_cast<std::uint64_t>(device()) << 32) | device();
  }
  return *drawn_seed;
}

StatusOr<std::unique_ptr<IteratorCore>> IteratorCore::create(
    const NodeRef& node, const std::shared_ptr<DatasetState>& dataset,
    std::string_view state, Scheduler* scheduler) {
  (void)out_of_memory();
  auto core = std::unique_ptr<IteratorCore>(new IteratorCore);
  const Options options = node->options;
  core->forkable_ = scheduler == nullptr;
  core->scheduler_ = scheduler ? scheduler : &default_scheduler();
  core->node_ = node;
  core->dataset_ = dataset;
  core->fingerprint_ = node->fingerprint();
  core->shards_ = node->fixed_shards();
  core->epoch_.seed = dataset->seed(options);
  core->had_errors_ = may_hide_errors(*node);
  Mark mark;
  if (state.empty()) {
    std::lock_guard lock(dataset->mutex);
    core->epoch_.iteration = dataset->next_iteration++;
  } else {
    PS_ASSIGN_OR_RETURN(SavedState saved, read_state(*node, state));
    core->epoch_ = {saved.seed, saved.iteration};
    core->ended_ = saved.ended;
    core->had_errors_ = saved.had_errors || core->had_errors_;
    core->restored_state_ = state;
    mark = std::move(saved.mark);
    std::lock_guard lock(dataset->mutex);
    dataset->next_iteration =
        std::max(dataset->next_iteration, saved.iteration + 1);
  }
  RunConfig config;
  config.scheduler = core->scheduler_;
  config.epoch = core->epoch_;
  config.cpu_budget = options.cpu_budget.value_or(0);
  config.memory_budget =
      options.memory_budget.value_or(Account::process().budget());
  config.deterministic = options.deterministic.value_or(true);
  config.autotune = options.autotune.value_or(true);
  config.fuse = options.fuse.value_or(true);
  config.max_block_rows =
      std::max<std::int64_t>(1, options.max_block_rows.value_or(1 << 20));
  config.no_errors_before = !state.empty() && !core->had_errors_;
  config.depth = Run::current_depth();
  core->mark_ = mark;
  PS_ASSIGN_OR_RETURN(core->run_, Run::create(node, config, mark));
  if (!mark.snapshot) {
    core->mark_ = core->run_->take_first_mark().after(mark.skip);
  }
  PS_RETURN_IF_ERROR(core->scheduler_->add(core->run_));
  if (!core->run_->bounded()) core->scheduler_->notify(core->run_.get());
  return core;
}

Status IteratorCore::check_state(const Node& node, std::string_view state) {
  return read_state(node, state).status();
}

IteratorCore::~IteratorCore() {
  if (run_) close();
}

bool IteratorCore::next_if_ready(Element& element, ErrorRef& error,
                                 Next& result) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) return false;
  row_ = scalar_lane_.close(row_);
  if (row_ == end_) return false;
  result = take_row(element, error);
  return true;
}

IteratorCore::Next IteratorCore::next(
    Element& element, ErrorRef& error,
    const std::function<bool()>& interrupted) {
  const auto fail = [&](Status status) {
    auto e = std::make_shared<ElementError>();
    e->status = std::move(status);
    error = std::move(e);
    return Next::kError;
  };
  if (Run::current_depth() > 0 && run_->worked_for_here()) {
    return fail(absl::FailedPreconditionError(
        "next() was called by a function of this very iterator, which would "
        "wait for itself"));
  }
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock) {
    // Another thread was in here when the process forked; it is not in the
    // child, and never lets go.
    if (forked()) return fail(made_before_fork());
    lock.lock();
  }
  row_ = scalar_lane_.close(row_);
  if (row_ == end_) {
    if (ended_) return Next::kEnd;
    if (Run::current_depth() > kMaxNesting) {
      return fail(absl::FailedPreconditionError(absl::StrCat(
          "iterators are nested more than ", kMaxNesting,
          " deep: a function iterates a dataset whose function iterates ...")));
    }
    if (forked()) return fail(made_before_fork());
    const std::int64_t used = end_ - begin_;
    switch (fetch(interrupted)) {
      case Run::Fetch::kBlock:
        row_ = begin_;
        own_block();
        scalars_ =
            block_ && !run_->bounded() && scalar_lane_.view(block_->block);
        break;
      case Run::Fetch::kEnd:
        mark_ = mark_.after(used);
        begin_ = row_ = end_ = 0;
        drop_block();
        ended_ = true;
        return Next::kEnd;
      case Run::Fetch::kFailed:
        // Its state is that of now, not that of the end.
        failed_ = ended_ = true;
        error = run_->failure();
        return Next::kError;
      case Run::Fetch::kCancelled:
        begin_ = end_ - used;
        return fail(absl::CancelledError("the iterator was cancelled"));
      case Run::Fetch::kInterrupted:
        return Next::kInterrupted;
    }
  }
  return take_row(element, error);
}

Run::Fetch IteratorCore::fetch(const std::function<bool()>& interrupted) {
  BlockRef block;
  std::int64_t begin = begin_;
  std::int64_t end = end_;
  Mark mark;
  {
    const std::lock_guard lock(fetch_mutex_);
    fetching_ = true;
  }
  const Run::Fetch fetched = run_->fetch(block, begin, end, mark, interrupted);
  const std::lock_guard lock(fetch_mutex_);
  fetching_ = false;
  if (fetched == Run::Fetch::kBlock) {
    block_ = std::move(block);
    begin_ = begin;
    end_ = end;
    mark_ = std::move(mark);
  }
  return fetched;
}

IteratorCore::Next IteratorCore::take_row(Element& element, ErrorRef& error) {
  const std::int64_t row = row_++;
  const bool bounded = run_->bounded();
  if (bounded && !forked()) run_->consumer_holds(end_ - row_);
  const Block& block = own_block_ ? *own_block_ : block_->block;
  if (!block.errors().empty()) {
    if (ErrorRef e = block.error_ref(row)) {
      had_errors_ = true;
      if (e->restore_failed) {
        // What follows is not what followed then.
        restore_failed_ = ended_ = true;
        row_ = end_;
        drop_block();
      }
      error = std::move(e);
      return Next::kError;
    }
  }
  try {
    block.read_element(row, element);
  } catch (const std::bad_alloc&) {
    row_ = row;  // the next call gives it
    throw;
  }
  if (own_block_) {
    for (Column& column : own_block_->columns()) {
      if (column.packed()) continue;
      column.rows()[static_cast<std::size_t>(row)] = Tensor();
    }
  }
  // What was handed out is the consumer's: its bytes leave the ledger.
  if (row_ == end_) drop_block();
  if (hands_over_) own_leaves(element);
  if (scalars_) scalar_lane_.open(row_, end_ - 1);  // the last drops the block
  return Next::kElement;
}

void IteratorCore::own_block() {
  own_block_.reset();
  own_charge_.reset();
  // The last row of a block is its consumer's in any case.
  if (!hands_over_ || end_ - begin_ < 2 || !block_->unique()) return;
  const Block::Columns& columns = block_->block.columns();
  if (std::none_of(columns.begin(), columns.end(), [](const Column& column) {
        return !column.packed() || column.tensor().rank() > 1;
      })) {
    return;  // scalars are copied
  }
  own_charge_ = std::move(block_->charge);
  own_block_ = block_->block;
  block_.reset();
  for (Column& column : own_block_->columns()) {
    if (column.packed()) separate_rows(column);
  }
}

void IteratorCore::drop_block() {
  scalars_ = false;
  block_.reset();
  own_block_.reset();
  own_charge_.reset();
}

std::string IteratorCore::state_dict() const {
  std::unique_lock lock(mutex_, std::defer_lock);
  while (!lock.try_lock()) {
    // A consumer who waits may wait for long, or for the very function that
    // asks: the state is that before his element.
    {
      const std::lock_guard fetch_lock(fetch_mutex_);
      if (fetching_) return state();
    }
    std::this_thread::yield();
  }
  return state();
}

std::string IteratorCore::state() const {
  if (restore_failed_) return restored_state_;
  SavedState state;
  state.fingerprint = fingerprint_;
  state.iteration = epoch_.iteration;
  state.seed = epoch_.seed;
  state.ended = ended_ && !failed_;
  state.had_errors = had_errors_;
  state.shards = shards_;
  state.mark = mark_.after(scalar_lane_.next_row(row_) - begin_);
  return encode_state(state);
}

IteratorStats IteratorCore::stats() const {
  // In the child of a fork; its run may be locked by a thread that is not
  // there.
  if (!run_ || forked()) return {};
  IteratorStats stats = run_->stats();
  // The run counts a block when the next one is fetched. Whoever holds the lock
  // for long waits in fetch, and has used up his block.
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && !run_->bounded()) {
    stats.elements += closed_rows_ + scalar_lane_.next_row(row_) - begin_;
  }
  return stats;
}

bool IteratorCore::forked() const {
  return forkable_ && scheduler_ != &default_scheduler();
}

void IteratorCore::cancel() {
  if (!forked()) run_->cancel();
}

void IteratorCore::abandon() { closed_.store(true); }

bool IteratorCore::close(std::int64_t timeout_ns) {
  if (!closed_.load() && !forked() && run_->worked_for_here()) {
    run_->cancel();
    return false;
  }
  if (closed_.exchange(true)) return true;
  if (forked()) {
    // The threads that used it are gone, perhaps with locks held.
    new std::shared_ptr<Run>(std::move(run_));
    return true;
  }
  if (!run_->close(timeout_ns)) {
    closed_.store(false);
    return false;
  }
  NodeRef node;  // destroyed without the lock: it holds objects of the user
  std::lock_guard lock(mutex_);
  node.swap(node_);
  row_ = scalar_lane_.close(row_);
  mark_ = mark_.after(row_ - begin_);
  closed_rows_ = row_ - begin_;
  drop_block();
  begin_ = row_ = end_ = 0;
  return true;
}

}  // namespace penstock

// cache: the input, kept in memory from its first complete pass on.
//
// Two parts, see cache_pass.h. This operator is the one kind that has mutable
// state: the contents belong to the Dataset object and are shared by all its
// iterators, under a mutex that is held for moments only.
//   - One pass from the start fills an append log; others compute for
//     themselves until it is complete, and never wait. A pass that is dropped,
//     or in which an element failed, leaves nothing behind.
//   - Random access (at(i), a global shuffle) fills a table of slots instead,
//     in any order, and waits for an element that another thread computes.
// Elements have the random values of iteration 0, whichever iteration computes
// them: iterators side by side agree, and so does a restored one.
// Limit: the memory budget, then ResourceExhausted.
#include "penstock/ops/cache/cache.h"

#include <condition_variable>
#include <mutex>
#include <thread>

#include "absl/container/flat_hash_map.h"
#include "penstock/ops/cache/cache_pass.h"

namespace penstock::ops {
namespace {

// An endless input, or one that is too long for a table, is not kept.
constexpr std::int64_t kMaxSlots = std::int64_t{1} << 31;

Status renumber(const IndexRun& run, std::vector<Block>& blocks,
                std::vector<Block>& out) {
  std::int64_t first = 0;
  for (Block& block : blocks) {
    block.set_origins(origins_of(run, first, block.size()));
    first += block.size();
    out.push_back(std::move(block));
  }
  return absl::OkStatus();
}

Status too_large(std::int64_t bytes, std::int64_t budget) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "the elements take more than ", bytes, " bytes, but memory_budget is ",
      budget,
      " bytes; keep them in a file by cache(path), or raise memory_budget"));
}

class MemoryReplay final : public CacheReplay {
 public:
  explicit MemoryReplay(std::shared_ptr<const CachedBlocks> blocks)
      : blocks_(std::move(blocks)) {}
  std::int64_t size() const override { return blocks_->size(); }
  std::int64_t emit(std::int64_t position, Outputs& out) const override {
    constexpr int kMaxExtents = 64;
    std::int64_t count = 0;
    for (int i = 0; i < kMaxExtents && count < out.room() &&
                    position + count < blocks_->size();
         ++i) {
      const CachedBlocks::Extent e =
          blocks_->at(position + count, out.room() - count);
      out.emit(Rows(e.block).slice(e.row, e.row + e.count));
      count += e.count;
    }
    return count;
  }

 private:
  std::shared_ptr<const CachedBlocks> blocks_;
};

class MemoryStore final : public CacheStore,
                          public std::enable_shared_from_this<MemoryStore> {
 public:
  StatusOr<CacheOpening> open(const CacheKey& own, bool fixed, bool whole,
                              std::int64_t budget, const Spec&) override;
  Status read(const IndexRun& run, IndexInputs& in, CallContext& context,
              std::vector<Block>& out);

 private:
  friend class MemoryFill;
  Status put(const IndexRun& run, const CacheKey& key, std::int64_t size,
             std::span<const Block> blocks);
  IndexRun claim(const IndexRun& run);
  void unclaim(const IndexRun& mine);
  void wait_for_others(std::unique_lock<std::mutex>& lock, const IndexRun& run);
  bool has_all(const IndexRun& run) const;
  Status copy_kept(std::unique_lock<std::mutex>& lock, const IndexRun& run,
                   std::vector<Block>& out) const;

  std::mutex mutex_;
  std::condition_variable computed_;
  /// Elements that random access is computing, and who does.
  absl::flat_hash_map<std::int64_t, std::thread::id> computing_;
  std::optional<CacheKey> key_;
  std::shared_ptr<const CachedBlocks> done_;
  std::shared_ptr<CachedBlocks> slots_;  // being filled by random access
  bool filling_ = false;                 // a pass fills a log
};

// The log of the one pass that fills.
class MemoryFill final : public CacheFill {
 public:
  MemoryFill(std::shared_ptr<MemoryStore> store, std::int64_t budget)
      : store_(std::move(store)), budget_(budget) {}
  ~MemoryFill() override {
    std::lock_guard lock(store_->mutex_);
    store_->filling_ = false;
  }
  Status add(const Rows& rows) override {
    bytes_ += rows.byte_size();
    if (bytes_ > budget_) return too_large(bytes_, budget_);
    log_.push_back(rows);
    return absl::OkStatus();
  }
  Status complete() override {
    // The log holds bytes of this iterator; what is kept is the process'.
    auto blocks = std::make_shared<CachedBlocks>();
    for (Rows& rows : log_) {
      PS_ASSIGN_OR_RETURN(const Block block, rows.materialize());
      rows = Rows();
      PS_RETURN_IF_ERROR(blocks->append(block));
    }
    log_.clear();
    bytes_ = 0;
    std::lock_guard lock(store_->mutex_);
    store_->done_ = std::move(blocks);
    store_->slots_.reset();
    return absl::OkStatus();
  }
  std::int64_t held_bytes() const override { return bytes_; }

 private:
  const std::shared_ptr<MemoryStore> store_;
  const std::int64_t budget_;
  std::vector<Rows> log_;
  std::int64_t bytes_ = 0;
};

StatusOr<CacheOpening> MemoryStore::open(const CacheKey& own, bool fixed,
                                         bool whole, std::int64_t budget,
                                         const Spec&) {
  std::lock_guard lock(mutex_);
  if (!key_ || (fixed && !done_ && !filling_)) {
    if (!key_ || !(*key_ == own)) slots_.reset();
    key_ = own;
  }
  CacheOpening opening;
  opening.key = fixed ? own : *key_;
  // A state from elsewhere may want other values than are kept here.
  if (!(opening.key == *key_)) return opening;
  if (done_) {
    opening.replay = std::make_shared<MemoryReplay>(done_);
  } else if (whole && !filling_) {
    filling_ = true;
    opening.fill = std::make_unique<MemoryFill>(shared_from_this(), budget);
  }
  return opening;
}

Status MemoryStore::read(const IndexRun& run, IndexInputs& in,
                         CallContext& context, std::vector<Block>& out) {
  const CacheKey own = cache_key(context.epoch, run.path);
  const bool keeps = in.size(0) <= kMaxSlots;
  CacheKey key;
  IndexRun mine;
  {
    std::unique_lock lock(mutex_);
    if (!key_) key_ = own;
    key = *key_;
    if (keeps) mine = claim(run);
    if (mine.count == 0 && keeps) wait_for_others(lock, run);
    if (has_all(run)) return copy_kept(lock, run, out);
  }
  mine.path = key.path;
  const bool whole = mine.count == run.count || mine.count == 0;
  if (mine.count > 0) {
    std::vector<Block> blocks;
    Status status = in.read_in(key.epoch, 0, mine, blocks);
    if (status.ok()) status = put(mine, key, in.size(0), blocks);
    unclaim(mine);
    PS_RETURN_IF_ERROR(status);
    if (whole) return renumber(run, blocks, out);
  }
  if (!whole) {
    std::unique_lock lock(mutex_);
    wait_for_others(lock, run);
    if (has_all(run)) return copy_kept(lock, run, out);
  }
  // Some of them fail, so they are not kept; or nothing is.
  IndexRun below = run;
  below.path = key.path;
  std::vector<Block> blocks;
  PS_RETURN_IF_ERROR(in.read_in(key.epoch, 0, below, blocks));
  PS_RETURN_IF_ERROR(put(run, key, in.size(0), blocks));
  return renumber(run, blocks, out);
}

// Under the lock: those that nobody has or computes. Whoever claims computes
// them before it waits for others, so no two ever wait for each other.
IndexRun MemoryStore::claim(const IndexRun& run) {
  std::vector<std::int64_t> list;
  if (!done_) {
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t index = run.at(i);
      if (slots_ && slots_->has(index)) continue;
      if (computing_.emplace(index, std::this_thread::get_id()).second) {
        list.push_back(index);
      }
    }
  }
  IndexRun mine = run;
  mine.count = static_cast<std::int64_t>(list.size());
  if (mine.count < run.count) {
    mine.list =
        std::make_shared<const std::vector<std::int64_t>>(std::move(list));
  }
  return mine;
}

void MemoryStore::unclaim(const IndexRun& mine) {
  {
    std::lock_guard lock(mutex_);
    for (std::int64_t i = 0; i < mine.count; ++i) computing_.erase(mine.at(i));
  }
  computed_.notify_all();
}

void MemoryStore::wait_for_others(std::unique_lock<std::mutex>& lock,
                                  const IndexRun& run) {
  computed_.wait(lock, [&] {
    for (std::int64_t i = 0; !done_ && i < run.count; ++i) {
      const auto other = computing_.find(run.at(i));
      // What this very thread computes, further up its stack, never comes.
      if (other != computing_.end() &&
          other->second != std::this_thread::get_id()) {
        return false;
      }
    }
    return true;
  });
}

bool MemoryStore::has_all(const IndexRun& run) const {
  if (done_) return true;
  if (!slots_) return false;
  for (std::int64_t i = 0; i < run.count; ++i) {
    if (!slots_->has(run.at(i))) return false;
  }
  return true;
}

Status MemoryStore::copy_kept(std::unique_lock<std::mutex>& lock,
                              const IndexRun& run,
                              std::vector<Block>& out) const {
  std::vector<Block> blocks;
  if (const std::shared_ptr<const CachedBlocks> done = done_) {
    lock.unlock();
    PS_RETURN_IF_ERROR(done->read(run, blocks));
  } else {
    PS_RETURN_IF_ERROR(slots_->read(run, blocks));
  }
  return renumber(run, blocks, out);
}

Status MemoryStore::put(const IndexRun& run, const CacheKey& key,
                        std::int64_t size, std::span<const Block> blocks) {
  if (size > kMaxSlots) return absl::OkStatus();
  std::lock_guard lock(mutex_);
  if (done_ || !(*key_ == key)) return absl::OkStatus();
  if (!slots_) {
    slots_ = std::make_shared<CachedBlocks>();
    slots_->make_slots(size);
  }
  const Account& account = Account::process();
  if (account.available() <= 0) {
    const std::int64_t bytes = slots_->bytes();
    slots_.reset();
    return too_large(bytes, account.budget());
  }
  std::int64_t first = 0;
  bool complete = false;
  for (const Block& block : blocks) {
    PS_ASSIGN_OR_RETURN(complete, slots_->put(block, run, first));
    first += block.size();
  }
  if (complete) done_ = std::move(slots_);
  return absl::OkStatus();
}

class Cache final : public Operator, public IndexedOp {
 public:
  std::string_view op() const override { return "cache"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override { return "cache()"; }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return in[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0];
  }
  void add_to(Fingerprint& fp) const override { fp.add("memory"); }
  std::vector<Part> lower() const override {
    return {{.sequencer = make_cache_pass(store_)},
            {.transform = std::make_shared<Renumber>()}};
  }
  const IndexedOp* indexed() const override { return this; }
  Status read(const IndexRun& run, IndexInputs& in, CallContext& context,
              std::vector<Block>& out) const override {
    return store_->read(run, in, context, out);
  }

 private:
  const std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_cache() {
  return std::make_shared<Cache>();
}

}  // namespace penstock::ops

#include "penstock/ops/cache/cached_blocks.h"

#include <algorithm>

namespace penstock::ops {
namespace {

// A view may pin up to this many times its size before it is copied out.
constexpr std::int64_t kMaxPinned = 4;

Status unpin(Tensor& t) {
  if (t.pinned_bytes() <= kMaxPinned * t.byte_size() + 4096) {
    return absl::OkStatus();
  }
  PS_ASSIGN_OR_RETURN(t, t.compact());
  return absl::OkStatus();
}

// The block with a charge of the process, pinning little beside itself.
StatusOr<BlockRef> own(Block block) {
  for (Column& column : block.columns()) {
    if (column.packed()) {
      PS_RETURN_IF_ERROR(unpin(column.tensor()));
    } else {
      for (Tensor& t : column.rows()) PS_RETURN_IF_ERROR(unpin(t));
    }
  }
  Charge charge(&Account::process(), block.byte_size());
  return BlockRef(make_ref<SharedBlock>(std::move(block), std::move(charge)));
}

}  // namespace

void encode_key(const CacheKey& key, Encoder& out) {
  out.fixed64(key.epoch.seed);
  out.i64(key.epoch.iteration);
  std::vector<const OriginPath*> path;
  for (const OriginPath* p = key.path.get(); p; p = p->parent().get()) {
    path.push_back(p);
  }
  out.u64(path.size());
  for (auto it = path.rbegin(); it != path.rend(); ++it) {
    out.u64(static_cast<std::uint64_t>((*it)->kind()));
    out.i64((*it)->ordinal());
  }
}

CacheKey decode_key(Decoder& in) {
  CacheKey key;
  key.epoch.seed = in.fixed64();
  key.epoch.iteration = in.i64();
  const std::size_t depth = in.count(2);
  for (std::size_t i = 0; i < depth; ++i) {
    const std::uint64_t kind = in.u64();
    const std::int64_t ordinal = in.i64();
    if (!in.ok() ||
        kind > static_cast<std::uint64_t>(OriginPath::Kind::kInner)) {
      in.fail();
      return key;
    }
    key.path = OriginPath::extend(std::move(key.path),
                                  static_cast<OriginPath::Kind>(kind), ordinal);
  }
  return key;
}

namespace {

// `path` as it is in the first repetition of all enclosing repeats.
PathRef first_repetition(const PathRef& path) {
  if (!path) return path;
  const bool repeat = path->kind() == OriginPath::Kind::kRepeat;
  return OriginPath::extend(first_repetition(path->parent()), path->kind(),
                            repeat ? 0 : path->ordinal());
}

}  // namespace

CacheKey cache_key(const Epoch& epoch, const PathRef& path) {
  return {{epoch.seed, 0}, first_repetition(path)};
}

Status CachedBlocks::append(const Block& block) {
  if (block.empty()) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(BlockRef owned, own(block));
  size_ += block.size();
  bytes_ += owned->charge.bytes();
  blocks_.push_back(std::move(owned));
  ends_.push_back(size_);
  return absl::OkStatus();
}

void CachedBlocks::make_slots(std::int64_t size) {
  size_ = size;
  slots_.resize(static_cast<std::size_t>(size));
  slots_charge_ = Charge(&Account::process(),
                         size * static_cast<std::int64_t>(sizeof(Slot)));
}

StatusOr<bool> CachedBlocks::put(const Block& block, const IndexRun& run,
                                 std::int64_t first) {
  PS_ASSIGN_OR_RETURN(const BlockRef owned, own(block));
  bool used = false;
  for (std::int64_t row = 0; row < block.size(); ++row) {
    Slot& slot = slots_[static_cast<std::size_t>(run.at(first + row))];
    if (slot.block || block.error_at(row) != nullptr) continue;
    slot = {owned, row};
    ++filled_;
    used = true;
  }
  if (used) bytes_ += owned->charge.bytes();
  return filled_ == size_;
}

bool CachedBlocks::has(std::int64_t i) const {
  return slots_.empty() || slots_[static_cast<std::size_t>(i)].block;
}

CachedBlocks::Extent CachedBlocks::at(std::int64_t i, std::int64_t max) const {
  if (slots_.empty()) {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), i);
    const BlockRef& block =
        blocks_[static_cast<std::size_t>(end - ends_.begin())];
    const std::int64_t row = i - (*end - block->block.size());
    return {block, row, std::min(max, *end - i)};
  }
  const Slot& first = slots_[static_cast<std::size_t>(i)];
  std::int64_t count = 1;
  for (; count < max && i + count < size_; ++count) {
    const Slot& next = slots_[static_cast<std::size_t>(i + count)];
    if (!(next.block == first.block) || next.row != first.row + count) break;
  }
  return {first.block, first.row, count};
}

Status CachedBlocks::read(const IndexRun& run, std::vector<Block>& out) const {
  const bool consecutive = !run.list && run.step == 1;
  for (std::int64_t i = 0; i < run.count;) {
    const Extent e = at(run.at(i), consecutive ? run.count - i : 1);
    // Neighbours that lie in one block are gathered together.
    std::vector<std::int64_t> rows = {e.row};
    std::int64_t taken = e.count;
    if (!consecutive) {
      for (; i + taken < run.count; ++taken) {
        const Extent next = at(run.at(i + taken), 1);
        if (!(next.block == e.block)) break;
        rows.push_back(next.row);
      }
    }
    const Block& block = e.block->block;
    if (rows.size() == 1) {
      out.push_back(block.slice(e.row, e.row + e.count));
    } else {
      PS_ASSIGN_OR_RETURN(Block gathered, block.gather(rows));
      out.push_back(std::move(gathered));
    }
    i += taken;
  }
  return absl::OkStatus();
}

}  // namespace penstock::ops

// Segments in front of a batch: rows are written where they will stay.
#include <algorithm>
#include <utility>

#include "penstock/runtime/pipe.h"

namespace penstock {

Work::BatchMemory Work::BatchMemory::behind(std::int64_t rows) const {
  BatchMemory rest{{}, row_spec, row_bytes};
  for (Piece piece : pieces) {
    const std::int64_t cut = std::max<std::int64_t>(0, rows - piece.first);
    if (cut >= piece.count) continue;
    piece.first += cut - rows;
    piece.count -= cut;
    piece.offset += cut;
    rest.pieces.push_back(std::move(piece));
  }
  return rest;
}

// The batches that the claimed rows fall into; the first claim of a batch
// allocates it, so that each worker writes its results where they will stay.
void SegmentPipe::claim_batch_memory(Work& work, bool critical) {
  std::int64_t position = claimed_rows_;
  claimed_rows_ += work.input_rows;
  if (row_spec_.dtype == DType::kInvalid) return;
  work.batch_memory.row_spec = row_spec_;
  work.batch_memory.row_bytes = row_bytes_;
  std::int64_t row = 0;
  while (row < work.input_rows) {
    const std::int64_t number = position / align;
    const std::int64_t offset = position % align;
    const std::int64_t count = std::min(align - offset, work.input_rows - row);
    auto [at, added] = batch_memory_.try_emplace(number);
    std::int64_t bytes = 0;
    // One that does not fit is joined when its rows are there.
    if (added && offset == 0 &&
        !__builtin_mul_overflow(align, row_bytes_, &bytes) &&
        bytes - count * row_bytes_ <= run_.spendable(critical)) {
      at->second.buffer = Buffer::allocate(static_cast<std::size_t>(bytes));
      at->second.rows_left = align;
      at->second.charge = Charge(&run_.account(), bytes);
    }
    if (at->second.buffer) {
      work.batch_memory.pieces.push_back(
          {at->second.buffer, row, count, offset});
    }
    at->second.rows_left -= count;
    at->second.charge.resize(
        at->second.buffer
            ? std::max<std::int64_t>(0, at->second.rows_left) * row_bytes_
            : 0);
    if (at->second.rows_left <= 0) batch_memory_.erase(at);
    row += count;
    position += count;
  }
}

// The largest leaf is written in place; smaller ones are copied into the batch,
// which costs less than the bookkeeping.
void SegmentPipe::expect_rows(std::span<const LeafSpec> leaves) {
  constexpr std::int64_t kMinRowBytes = 16 * 1024;
  LeafSpec largest;
  std::int64_t bytes = kMinRowBytes - 1;
  for (const LeafSpec& leaf : leaves) {
    if (!dtype_is_dense(leaf.dtype) || !leaf.shape.fully_known()) continue;
    const auto count = leaf.shape.to_shape().checked_num_elements();
    std::int64_t size = 0;
    if (!count ||
        __builtin_mul_overflow(
            *count, static_cast<std::int64_t>(dtype_size(leaf.dtype)), &size)) {
      continue;
    }
    if (size > bytes) {
      largest = leaf;
      bytes = size;
    }
  }
  if (largest == row_spec_) return;
  row_spec_ = largest;
  row_bytes_ = largest.dtype == DType::kInvalid ? 0 : bytes;
  batch_memory_.clear();
}

void SegmentPipe::learn_row_shape(const Block& block) {
  absl::InlinedVector<LeafSpec, 4> leaves;
  if (block.errors().empty() && !block.mixed()) {
    for (const Column& column : block.columns()) {
      const Tensor first =
          column.packed() ? column.tensor().row(0) : column.rows().front();
      const bool alike =
          column.packed() ||
          std::all_of(
              column.rows().begin(), column.rows().end(), [&](const Tensor& t) {
                return t.dtype() == first.dtype() && t.shape() == first.shape();
              });
      if (alike) leaves.push_back({first.dtype(), PartialShape(first.shape())});
    }
  }
  expect_rows(leaves);
}

}  // namespace penstock

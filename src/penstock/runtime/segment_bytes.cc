// Segments: how many bytes their rows take, as specs say or earlier blocks did.
#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/runtime/pipe.h"

namespace penstock {

// Of one row of the input, or 0 where the spec does not tell.
double SegmentPipe::known_bytes(const Spec& spec) const {
  if (!spec.known()) return 0;
  double bytes = 0;
  for (const LeafSpec& leaf : spec.leaves()) {
    PartialShape shape = leaf.shape;
    // The last batch may be shorter, which leaves its first dimension unknown.
    if (granularity > 1 && shape.rank() > 0 && shape[0] < 0) {
      shape.set(0, granularity);
    }
    if (!dtype_is_dense(leaf.dtype) || !shape.fully_known()) return 0;
    double size = static_cast<double>(dtype_size(leaf.dtype));
    for (std::size_t i = 0; i < shape.rank(); ++i) {
      size *= static_cast<double>(shape[i]);
    }
    bytes += size;
  }
  return bytes / static_cast<double>(granularity);
}

void SegmentPipe::expect_bytes(const Spec& spec) {
  const double bytes = known_bytes(spec);
  if (bytes == 0) return;
  bytes_per_row_ = bytes;
  if (filters > 0) bytes_per_kept_row_ = bytes;  // also while all are dropped
  if (Stage* stage = last_stage()) {
    stage->bytes_per_row.store(bytes_per_row_, std::memory_order_relaxed);
  }
}

void SegmentPipe::expect_passing(const Spec& spec) {
  passing_per_row_ = std::max(passing_per_row_, known_bytes(spec));
}

void SegmentPipe::expect_as_before() {
  const Stage* stage = last_stage();
  if (bytes_per_row_ > 0 || stage == nullptr) return;
  bytes_per_row_ = stage->bytes_per_row.load(std::memory_order_relaxed);
}

// Bytes are known from earlier blocks only. Until the first is back, as many
// calls as a stage may have at once are taken for the whole budget; and as many
// blocks as long as filters have dropped everything.
double SegmentPipe::bytes_to_claim() const {
  constexpr double kUnknownShare = 1.0 / 64;
  if (bytes_per_row_ == 0 && bytes_per_kept_row_ == 0 && user_code) {
    const auto budget = static_cast<double>(run_.config().memory_budget);
    return kUnknownShare * budget / static_cast<double>(block_rows()) +
           passing_per_row_;
  }
  // A filter may keep all of the next rows.
  return std::max(
      std::max(bytes_per_row_, bytes_per_kept_row_) + passing_per_row_, 8.0);
}

// Elements that alone are larger than the budget become errors.
void SegmentPipe::refuse_oversized(Block& block) const {
  const std::int64_t budget = run_.config().memory_budget;
  BlockBuilder builder;
  bool any = false;
  for (std::int64_t row = 0; row < block.size(); ++row) {
    if (ErrorRef error = block.error_ref(row)) {
      builder.add_error(std::move(error));
      continue;
    }
    Element element = block.element(row);
    const std::int64_t bytes = element.byte_size();
    if (bytes <= budget) {
      builder.add(std::move(element));
      continue;
    }
    any = true;
    auto error = std::make_shared<ElementError>();
    error->status = absl::ResourceExhaustedError(absl::StrCat(
        "one element of ", bytes, " bytes is larger than memory_budget (",
        budget, " bytes)"));
    error->stage = links.empty() ? label() : links.back().stage->label;
    error->element = block.origins().at(row).to_string();
    builder.add_error(std::move(error));
  }
  if (!any) return;
  auto built = builder.finish();
  if (!built.ok()) return;
  built->set_origins(block.origins());
  block = *std::move(built);
}

}  // namespace penstock

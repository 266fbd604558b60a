#include "penstock/ops/files/packing.h"

#include <cstring>

namespace penstock::ops {
namespace {

// Of gaps between values that are left in place: lines and TFRecord have 1, 2
// and 16.
constexpr std::int64_t kMaxGap = 64;

}  // namespace

StatusOr<StringPacker> StringPacker::make(std::int64_t rows,
                                          std::int64_t bytes) {
  StringPacker packer;
  packer.offsets_ = Buffer::allocate(static_cast<std::size_t>(rows + 1) *
                                     sizeof(std::int64_t));
  packer.bytes_ = Buffer::allocate(static_cast<std::size_t>(bytes));
  if (!packer.offsets_ || !packer.bytes_) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", bytes, " bytes of records"));
  }
  reinterpret_cast<std::int64_t*>(packer.offsets_->data())[0] = 0;
  return packer;
}

void StringPacker::add(std::string_view value) {
  if (!value.empty()) {
    std::memcpy(bytes_->data() + size_, value.data(), value.size());
  }
  size_ += static_cast<std::int64_t>(value.size());
  reinterpret_cast<std::int64_t*>(offsets_->data())[++rows_] = size_;
}

Column StringPacker::finish() {
  return Column(Tensor::strings_from(std::move(offsets_), std::move(bytes_),
                                     Shape{rows_}));
}

namespace {

/// Bytes between each two values, if they are the same everywhere, as between
/// lines or records of one framing; -1 if not.
std::int64_t common_gap(const std::vector<std::string_view>& values) {
  std::int64_t common = -1;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const std::int64_t gap =
        values[i].data() - (values[i - 1].data() + values[i - 1].size());
    if (gap < 0 || gap > kMaxGap || (common >= 0 && gap != common)) return -1;
    common = gap;
  }
  return common;
}

/// The values where they are.
StatusOr<Column> framed_column(const std::vector<std::string_view>& values,
                               const Ref<Buffer>& owner, std::int64_t gap) {
  const std::size_t rows = values.size();
  Ref<Buffer> offsets = Buffer::allocate((rows + 1) * sizeof(std::int64_t));
  if (!offsets) return absl::ResourceExhaustedError("no memory for strings");
  auto* to = reinterpret_cast<std::int64_t*>(offsets->data());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    to[i] = at;
    at += static_cast<std::int64_t>(values[i].size()) + gap;
  }
  to[rows] = at;
  return Column(Tensor::framed_strings(
      std::move(offsets), owner, values[0].data(),
      static_cast<std::uint32_t>(gap), Shape{static_cast<std::int64_t>(rows)}));
}

}  // namespace

StatusOr<Column> strings_column(const std::vector<std::string_view>& values,
                                const Ref<Buffer>& owner) {
  std::int64_t bytes = 0;
  for (const std::string_view v : values) {
    bytes += static_cast<std::int64_t>(v.size());
  }
  const auto rows = static_cast<std::int64_t>(values.size());
  const auto pinned = static_cast<std::int64_t>(owner->capacity());
  if (bytes * kMaxPinned >= pinned) {
    const std::int64_t gap = common_gap(values);
    if (gap >= 0) return framed_column(values, owner, gap);
  }
  if (bytes >= kViewBytes * rows && bytes * kMaxPinned >= pinned) {
    std::vector<Tensor> views;
    views.reserve(values.size());
    for (const std::string_view v : values) {
      views.push_back(Tensor::string_view_of(v, owner));
    }
    return Column(std::move(views));
  }
  PS_ASSIGN_OR_RETURN(StringPacker packer, StringPacker::make(rows, bytes));
  for (const std::string_view v : values) packer.add(v);
  return packer.finish();
}

}  // namespace penstock::ops

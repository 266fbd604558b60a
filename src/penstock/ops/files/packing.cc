#include "penstock/ops/files/packing.h"

#include <cstring>

namespace penstock::ops {

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

StatusOr<Column> strings_column(const std::vector<std::string_view>& values,
                                const Ref<Buffer>& owner) {
  std::int64_t bytes = 0;
  for (const std::string_view v : values) {
    bytes += static_cast<std::int64_t>(v.size());
  }
  const auto rows = static_cast<std::int64_t>(values.size());
  const auto pinned = static_cast<std::int64_t>(owner->capacity());
  if (bytes >= kViewBytes * rows && bytes * 4 >= pinned) {
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

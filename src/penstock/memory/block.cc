#include "penstock/memory/block.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "penstock/memory/placement.h"

namespace penstock {
namespace {

// Rows up to this size are packed when a block is built: the copy is cheaper
// than carrying a handle of ~150 bytes per row. Larger rows wait for a batch.
constexpr std::int64_t kPackRowBytes = 1024;

template <std::size_t kWidth>
void gather_fixed(std::byte* out, const std::byte* in,
                  std::span<const std::int64_t> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(out + i * kWidth,
                in + static_cast<std::size_t>(rows[i]) * kWidth, kWidth);
  }
}

void gather_bytes(std::byte* out, const std::byte* in, std::size_t width,
                  std::span<const std::int64_t> rows) {
  switch (width) {
    case 1:
      return gather_fixed<1>(out, in, rows);
    case 2:
      return gather_fixed<2>(out, in, rows);
    case 4:
      return gather_fixed<4>(out, in, rows);
    case 8:
      return gather_fixed<8>(out, in, rows);
    default:
      for (std::size_t i = 0; i < rows.size(); ++i) {
        std::memcpy(out + i * width,
                    in + static_cast<std::size_t>(rows[i]) * width, width);
      }
  }
}

std::int64_t row_elements(const Tensor& packed) {
  std::int64_t n = 1;
  for (std::size_t d = 1; d < packed.rank(); ++d) n *= packed.shape()[d];
  return n;
}

bool same_kind(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape();
}

// `next` begins where `at` (bytes of memory already covered) ends.
bool continues(const Tensor& first, const std::byte* at, const Tensor& next) {
  return next.buffer() && next.buffer() == first.buffer() && next.data() == at;
}

StatusOr<Column> pack_rows(std::vector<Tensor> rows) {
  const Tensor& first = rows.front();
  bool packable = first.dtype() != DType::kObject;
  std::int64_t bytes = 0;
  for (const Tensor& t : rows) {
    if (!packable || !same_kind(first, t)) {
      packable = false;
      break;
    }
    bytes += t.byte_size();
  }
  if (!packable) return Column(std::move(rows));
  const bool small =
      bytes <= kPackRowBytes * static_cast<std::int64_t>(rows.size());
  if (!small) {
    const std::byte* at = first.data();
    for (const Tensor& t : rows) {
      if (t.dtype() == DType::kString || !continues(first, at, t)) {
        return Column(std::move(rows));
      }
      at += t.byte_size();
    }
  }
  PS_ASSIGN_OR_RETURN(Tensor packed, stack_tensors(rows));
  return Column(std::move(packed));
}

// A column's rows as parts of a joined column.
bool all_packed_alike(std::span<const Block> parts, std::size_t leaf) {
  const Tensor* first = nullptr;
  for (const Block& part : parts) {
    if (part.empty()) continue;
    const Column& column = part.column(leaf);
    if (!column.packed()) return false;
    const Tensor& t = column.tensor();
    if (first == nullptr) {
      first = &t;
      continue;
    }
    if (t.dtype() != first->dtype() || t.rank() != first->rank()) return false;
    for (std::size_t d = 1; d < t.rank(); ++d) {
      if (t.shape()[d] != first->shape()[d]) return false;
    }
  }
  return true;
}

// The strings of all parts one by one, or where they lie.
StatusOr<Tensor> join_each_string(std::span<const Tensor> parts,
                                  const Shape& shape) {
  std::vector<std::string_view> values;
  for (const Tensor& t : parts) {
    const std::int64_t n = t.num_elements();
    for (std::int64_t i = 0; i < n; ++i) values.push_back(t.str(i));
  }
  return join_strings(values, shape, [&] {
    std::vector<Ref<Buffer>> owners;
    for (const Tensor& t : parts) owners.push_back(t.string_owner());
    return owners;
  });
}

StatusOr<Tensor> join_string_parts(std::span<const Tensor> parts,
                                   const Shape& shape) {
  std::int64_t values = 0;
  std::int64_t bytes = 0;
  for (const Tensor& t : parts) {
    if (t.scattered()) return join_each_string(parts, shape);
    const std::int64_t n = t.num_elements();
    const std::int64_t* const from = t.string_offsets();
    values += n;
    bytes += from[n] - from[0] - n * t.string_gap();
  }
  if (bytes >= values * kMaxCopiedRow) return join_each_string(parts, shape);
  Ref<Buffer> offsets = Buffer::allocate(static_cast<std::size_t>(values + 1) *
                                         sizeof(std::int64_t));
  Ref<Buffer> chars = Buffer::allocate(static_cast<std::size_t>(bytes));
  if (!offsets || !chars) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the system has no ", bytes, " bytes for strings"));
  }
  auto* to = reinterpret_cast<std::int64_t*>(offsets->data());
  std::int64_t at = 0;
  for (const Tensor& t : parts) {
    const std::int64_t n = t.num_elements();
    const std::int64_t* const from = t.string_offsets();
    const std::int64_t gap = t.string_gap();
    const auto copy = [&](std::int64_t begin, std::int64_t size) {
      if (size > 0) {
        std::memcpy(chars->data() + at, t.string_bytes() + begin,
                    static_cast<std::size_t>(size));
      }
    };
    if (gap == 0) {
      copy(from[0], from[n] - from[0]);
      for (std::int64_t i = 0; i < n; ++i) to[i] = at + (from[i] - from[0]);
      at += from[n] - from[0];
    } else {
      for (std::int64_t i = 0; i < n; ++i) {
        const std::int64_t size = from[i + 1] - from[i] - gap;
        to[i] = at;
        copy(from[i], size);
        at += size;
      }
    }
    to += n;
  }
  *to = at;
  return Tensor::strings_from(std::move(offsets), std::move(chars), shape);
}

bool side_by_side(std::span<const Tensor> parts) {
  const Tensor& first = parts.front();
  const std::byte* at = first.data();
  for (const Tensor& t : parts) {
    if (!continues(first, at, t)) return false;
    at += t.byte_size();
  }
  return true;
}

// Of packed columns, copied at most once; large rows stay where they lie.
StatusOr<Column> join_packed(std::span<const Tensor> parts) {
  const Tensor& first = parts.front();
  std::int64_t rows = 0;
  for (const Tensor& t : parts) rows += t.shape()[0];
  Shape shape = first.shape();
  shape[0] = rows;
  if (first.dtype() == DType::kString) {
    PS_ASSIGN_OR_RETURN(Tensor strings, join_string_parts(parts, shape));
    return Column(std::move(strings));
  }
  if (side_by_side(parts)) {
    return Column(Tensor::from_buffer(first.dtype(), shape, first.buffer(),
                                      first.data()));
  }
  const auto width = row_elements(first) *
                     static_cast<std::int64_t>(dtype_size(first.dtype()));
  if (width >= kMaxCopiedRow) {
    std::vector<Tensor> views;
    views.reserve(static_cast<std::size_t>(rows));
    for (const Tensor& t : parts) {
      for (std::int64_t i = 0; i < t.shape()[0]; ++i) views.push_back(t.row(i));
    }
    return Column(std::move(views));
  }
  PlacementScope none(nullptr);
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(first.dtype(), shape));
  std::byte* to = out.mutable_data();
  for (const Tensor& t : parts) {
    std::memcpy(to, t.data(), static_cast<std::size_t>(t.byte_size()));
    to += t.byte_size();
  }
  return Column(std::move(out));
}

}  // namespace

StatusOr<Tensor> join_strings(
    std::span<const std::string_view> values, const Shape& shape,
    const std::function<std::vector<Ref<Buffer>>()>& owners) {
  std::size_t bytes = 0;
  for (const std::string_view value : values) bytes += value.size();
  if (values.empty() || shape.rank() == 0 ||
      bytes < values.size() * static_cast<std::size_t>(kMaxCopiedRow)) {
    return Tensor::strings(values, shape);
  }
  std::vector<Ref<Buffer>> held = owners();
  const auto by_address = [](const Ref<Buffer>& a, const Ref<Buffer>& b) {
    return std::less<>()(a.get(), b.get());
  };
  std::sort(held.begin(), held.end(), by_address);
  held.erase(std::unique(held.begin(), held.end()), held.end());
  std::size_t pinned = 0;
  for (const Ref<Buffer>& buffer : held) {
    if (!buffer) return Tensor::strings(values, shape);
    pinned += buffer->capacity();
  }
  if (pinned > 2 * bytes) return Tensor::strings(values, shape);
  return Tensor::scattered_strings(values, std::move(held), shape);
}

StatusOr<Tensor> gather_rows(const Tensor& packed,
                             std::span<const std::int64_t> rows) {
  Shape shape = packed.shape();
  shape[0] = static_cast<std::int64_t>(rows.size());
  if (packed.dtype() == DType::kString) {
    const std::int64_t per_row = row_elements(packed);
    std::vector<std::string_view> values;
    values.reserve(rows.size() * static_cast<std::size_t>(per_row));
    for (std::int64_t r : rows) {
      for (std::int64_t k = 0; k < per_row; ++k) {
        values.push_back(packed.str(r * per_row + k));
      }
    }
    return Tensor::strings(values, shape);
  }
  PlacementScope none(nullptr);
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(packed.dtype(), shape));
  const std::size_t width = static_cast<std::size_t>(row_elements(packed)) *
                            dtype_size(packed.dtype());
  if (width > 0) gather_bytes(out.mutable_data(), packed.data(), width, rows);
  return out;
}

StatusOr<Tensor> stack_tensors(std::span<const Tensor> rows) {
  const Tensor& first = rows.front();
  const Shape shape =
      first.shape().prepended(static_cast<std::int64_t>(rows.size()));
  if (first.dtype() == DType::kString) return join_each_string(rows, shape);
  if (first.rank() > 0) {
    const std::byte* at = first.data();
    bool adjacent = true;
    for (const Tensor& t : rows) {
      if (!continues(first, at, t)) {
        adjacent = false;
        break;
      }
      at += t.byte_size();
    }
    if (adjacent) {
      return Tensor::from_buffer(first.dtype(), shape, first.buffer(),
                                 first.data());
    }
  }
  PlacementScope none(nullptr);
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(first.dtype(), shape));
  const auto width = static_cast<std::size_t>(first.byte_size());
  std::byte* to = out.mutable_data();
  for (const Tensor& t : rows) {
    std::memcpy(to, t.data(), width);
    to += width;
  }
  return out;
}

Column Column::slice(std::int64_t begin, std::int64_t end) const {
  if (packed()) return Column(packed_.rows(begin, end));
  return Column(
      std::vector<Tensor>(rows_.begin() + begin, rows_.begin() + end));
}

std::int64_t Column::byte_size() const {
  if (packed()) return packed_.byte_size();
  std::int64_t n = 0;
  for (const Tensor& t : rows_) n += t.byte_size() + 64;
  return n;
}

ErrorRef Block::error_ref(std::int64_t row) const {
  const auto at = std::lower_bound(
      errors_.begin(), errors_.end(), row,
      [](const auto& entry, std::int64_t r) { return entry.first < r; });
  return at != errors_.end() && at->first == row ? at->second : nullptr;
}

const ElementError* Block::error_at(std::int64_t row) const {
  const auto at = std::lower_bound(
      errors_.begin(), errors_.end(), row,
      [](const auto& entry, std::int64_t r) { return entry.first < r; });
  return at != errors_.end() && at->first == row ? at->second.get() : nullptr;
}

void Block::read_element(std::int64_t row, Element& out) const {
  if (!errors_.empty() && error_at(row) != nullptr) {
    out = Element();
    return;
  }
  if (mixed()) {
    out = elements_[static_cast<std::size_t>(row)];
    return;
  }
  out.set_structure(structure_);
  Element::Leaves& leaves = out.mutable_leaves();
  if (!leaves.empty()) leaves.clear();
  if (columns_.size() > leaves.capacity()) leaves.reserve(columns_.size());
  for (const Column& column : columns_) {
    column.row_into(row, leaves.emplace_back());
  }
}

std::int64_t Block::byte_size() const {
  std::int64_t n = 0;
  for (const Column& column : columns_) n += column.byte_size();
  for (const Element& e : elements_) n += e.byte_size() + 64;
  return n;
}

Block Block::slice(std::int64_t begin, std::int64_t end) const {
  Block out;
  out.structure_ = structure_;
  out.size_ = end - begin;
  out.origins_ = origins_.slice(begin);
  for (const Column& column : columns_) {
    out.columns_.push_back(column.slice(begin, end));
  }
  if (mixed()) {
    out.elements_.assign(elements_.begin() + begin, elements_.begin() + end);
  }
  for (const auto& [row, error] : errors_) {
    if (row >= begin && row < end) {
      out.errors_.emplace_back(row - begin, error);
    }
  }
  return out;
}

StatusOr<Block> Block::gather(std::span<const std::int64_t> rows) const {
  Block out;
  out.structure_ = structure_;
  out.size_ = static_cast<std::int64_t>(rows.size());
  out.origins_ = origins_.select(rows);
  for (const Column& column : columns_) {
    if (column.packed()) {
      PS_ASSIGN_OR_RETURN(Tensor t, gather_rows(column.tensor(), rows));
      out.columns_.emplace_back(std::move(t));
    } else {
      std::vector<Tensor> picked;
      picked.reserve(rows.size());
      for (std::int64_t r : rows) {
        picked.push_back(column.rows()[static_cast<std::size_t>(r)]);
      }
      out.columns_.emplace_back(std::move(picked));
    }
  }
  if (mixed()) {
    for (std::int64_t r : rows) {
      out.elements_.push_back(elements_[static_cast<std::size_t>(r)]);
    }
  }
  if (!errors_.empty()) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (ErrorRef error = error_ref(rows[i])) {
        out.errors_.emplace_back(static_cast<std::int64_t>(i),
                                 std::move(error));
      }
    }
  }
  return out;
}

namespace {

// Copies rows that are views of much more than what is left of it.
Status let_go_of_the_rest(Column& column) {
  if (column.packed()) {
    Tensor& t = column.tensor();
    if (!t.pins_more()) return absl::OkStatus();
    PS_ASSIGN_OR_RETURN(t, t.compact());
    return absl::OkStatus();
  }
  std::int64_t bytes = 0;
  std::int64_t pinned = 0;
  const Buffer* last = nullptr;
  for (const Tensor& t : column.rows()) {
    bytes += t.byte_size();
    if (t.buffer().get() != last) pinned += t.pinned_bytes();
    last = t.buffer().get();
  }
  if (!pins_more(pinned, bytes)) return absl::OkStatus();
  for (Tensor& t : column.rows()) {
    if (!t.pins_more()) continue;
    PS_ASSIGN_OR_RETURN(t, t.compact());
  }
  return absl::OkStatus();
}

}  // namespace

Status Block::keep(std::span<const std::int64_t> rows) {
  if (static_cast<std::int64_t>(rows.size()) == size_) {
    return absl::OkStatus();
  }
  const bool contiguous =
      rows.empty() ||
      rows.back() - rows.front() + 1 == static_cast<std::int64_t>(rows.size());
  if (contiguous) {
    const std::int64_t begin = rows.empty() ? 0 : rows.front();
    *this = slice(begin, begin + static_cast<std::int64_t>(rows.size()));
  } else {
    PS_ASSIGN_OR_RETURN(*this, gather(rows));
  }
  if (empty()) return absl::OkStatus();
  for (Column& column : columns_) {
    PS_RETURN_IF_ERROR(let_go_of_the_rest(column));
  }
  return absl::OkStatus();
}

void BlockBuilder::reserve(std::int64_t n) {
  elements_.reserve(static_cast<std::size_t>(n));
}

void BlockBuilder::add(Element element) {
  if (structure_ == nullptr) {
    structure_ = element.structure();
  } else if (structure_ != element.structure()) {
    uniform_ = false;
  }
  elements_.push_back(std::move(element));
  ++size_;
}

void BlockBuilder::add_error(ErrorRef error) {
  errors_.emplace_back(size_, std::move(error));
  elements_.emplace_back();
  ++size_;
}

void BlockBuilder::add(Element element, Origin origin) {
  add(std::move(element));
  origins_.append(std::move(origin));
}

void BlockBuilder::add_error(ErrorRef error, Origin origin) {
  add_error(std::move(error));
  origins_.append(std::move(origin));
}

StatusOr<Block> BlockBuilder::finish() {
  Block out;
  out.size_ = size_;
  out.origins_ = origins_.finish();
  out.errors_ = std::move(errors_);
  if (!uniform_) {
    out.elements_ = std::move(elements_);
    return out;
  }
  out.structure_ = structure_;
  if (structure_ == nullptr) return out;  // empty, or nothing but errors
  const std::size_t leaves = structure_->num_leaves();
  const Element* sample = nullptr;
  for (const Element& e : elements_) {
    if (e.defined()) {
      sample = &e;
      break;
    }
  }
  for (std::size_t leaf = 0; leaf < leaves; ++leaf) {
    std::vector<Tensor> rows;
    rows.reserve(elements_.size());
    for (Element& e : elements_) {
      // An error's place is filled with a neighbour's value, never read.
      if (e.defined() && &e != sample) {
        rows.push_back(std::move(e.mutable_leaves()[leaf]));
      } else {
        rows.push_back((*sample)[leaf]);
      }
    }
    PS_ASSIGN_OR_RETURN(Column column, pack_rows(std::move(rows)));
    out.columns_.push_back(std::move(column));
  }
  return out;
}

StatusOr<Block> join_blocks(std::span<const Block> parts) {
  if (parts.size() == 1) return parts.front();
  Block out;
  OriginsBuilder origins;
  bool uniform = true;
  for (const Block& part : parts) {
    for (const auto& [row, error] : part.errors_) {
      out.errors_.emplace_back(out.size_ + row, error);
    }
    out.size_ += part.size_;
    origins.append(part.origins_, 0, part.size_);
    if (part.mixed()) uniform = false;
    if (part.structure_ != nullptr) {
      if (out.structure_ == nullptr) out.structure_ = part.structure_;
      if (out.structure_ != part.structure_) uniform = false;
    }
  }
  out.origins_ = origins.finish();
  // Parts without structure are empty or nothing but errors; they have no
  // columns, so a part between others needs filler rows: go by elements.
  bool gaps = false;
  for (const Block& part : parts) {
    gaps |= part.structure_ == nullptr && !part.empty();
  }
  if (!uniform || (gaps && out.structure_ != nullptr)) {
    BlockBuilder builder;
    for (const Block& part : parts) {
      for (std::int64_t i = 0; i < part.size_; ++i) {
        if (ErrorRef error = part.error_ref(i)) {
          builder.add_error(std::move(error));
        } else {
          builder.add(part.element(i));
        }
      }
    }
    PS_ASSIGN_OR_RETURN(Block built, builder.finish());
    built.set_origins(std::move(out.origins_));
    return built;
  }
  if (out.structure_ == nullptr) return out;
  for (std::size_t leaf = 0; leaf < out.structure_->num_leaves(); ++leaf) {
    if (all_packed_alike(parts, leaf)) {
      std::vector<Tensor> tensors;
      for (const Block& part : parts) {
        if (!part.empty()) tensors.push_back(part.column(leaf).tensor());
      }
      if (tensors.empty()) {  // all parts are empty
        out.columns_.emplace_back();
        continue;
      }
      PS_ASSIGN_OR_RETURN(Column column, join_packed(tensors));
      out.columns_.push_back(std::move(column));
    } else {
      std::vector<Tensor> rows;
      rows.reserve(static_cast<std::size_t>(out.size_));
      for (const Block& part : parts) {
        for (std::int64_t i = 0; i < part.size_; ++i) {
          rows.push_back(part.column(leaf).row(i));
        }
      }
      out.columns_.emplace_back(std::move(rows));
    }
  }
  return out;
}

}  // namespace penstock

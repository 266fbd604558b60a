#include "wire.h"

#include <cstring>

#include "penstock/base/codec.h"
#include "penstock/memory/element_codec.h"
#include "penstock/memory/ragged.h"

namespace penstock::python {
namespace {

constexpr std::size_t kAlign = 64;
constexpr std::size_t kPrefix = 16;  // size of the header, number of rows

std::size_t aligned(std::size_t n) {
  return (n + kAlign - 1) / kAlign * kAlign;
}

}  // namespace

std::size_t WireWriter::add_piece(const void* data, std::size_t size) {
  // Small values lie close together, so that rows of numbers stay small.
  const std::size_t align = size >= kAlign ? kAlign : 8;
  payload_ = (payload_ + align - 1) / align * align;
  const std::size_t offset = payload_;
  pieces_.push_back({offset, data, size, {}});
  payload_ += size;
  return offset;
}

void WireWriter::add_tensor(const Tensor& t) {
  Encoder out;
  out.u64(static_cast<std::uint64_t>(t.dtype()));
  out.u64(t.rank());
  for (std::size_t i = 0; i < t.rank(); ++i) {
    out.u64(static_cast<std::uint64_t>(t.shape()[i]));
  }
  if (t.dtype() != DType::kString) {
    out.u64(add_piece(t.data(), static_cast<std::size_t>(t.byte_size())));
  } else if (t.rank() == 0) {
    const std::string_view s = t.str();
    out.u64(s.size());
    out.u64(add_piece(s.data(), s.size()));
  } else {
    const auto n = static_cast<std::size_t>(t.num_elements());
    const std::int64_t* offsets = t.string_offsets();
    std::vector<std::int64_t> rebased(offsets, offsets + n + 1);
    for (std::int64_t& offset : rebased) offset -= offsets[0];
    const auto bytes = static_cast<std::size_t>(rebased.back());
    out.u64(bytes);
    out.u64(add_piece(nullptr, (n + 1) * sizeof(std::int64_t)));
    pieces_.back().rebased = std::move(rebased);
    out.u64(add_piece(t.string_bytes() + offsets[0], bytes));
  }
  header_ += std::move(out).take();
}

Status WireWriter::add(const Element& element, std::uint64_t key) {
  PS_RETURN_IF_ERROR(check_encodable(element));
  kept_.push_back(element);
  Encoder out;
  out.boolean(true);
  out.fixed64(key);
  encode_structure(*element.structure(), out);
  header_ += std::move(out).take();
  // Of the copy: a number lies in its handle.
  for (Tensor& t : kept_.back().mutable_leaves()) {
    if (t.string_gap() > 0) {
      PS_ASSIGN_OR_RETURN(t, t.compact());
    }
    if (t.rank() == 0 && t.dtype() != DType::kString) {
      Encoder number;
      number.u64(static_cast<std::uint64_t>(t.dtype()));
      number.u64(0);
      number.raw(
          {reinterpret_cast<const char*>(t.data()), dtype_size(t.dtype())});
      header_ += std::move(number).take();
    } else {
      add_tensor(t);
    }
  }
  ++rows_;
  return absl::OkStatus();
}

void WireWriter::add_failure(std::string failure) {
  Encoder out;
  out.boolean(false);
  out.bytes(failure);
  header_ += std::move(out).take();
  ++rows_;
}

std::size_t WireWriter::size() const {
  return aligned(kPrefix + header_.size()) + payload_;
}

void WireWriter::write(std::byte* out) const {
  const std::uint64_t prefix[2] = {header_.size(),
                                   static_cast<std::uint64_t>(rows_)};
  std::memcpy(out, prefix, kPrefix);
  std::memcpy(out + kPrefix, header_.data(), header_.size());
  std::byte* payload = out + aligned(kPrefix + header_.size());
  for (const Piece& piece : pieces_) {
    const void* from =
        piece.rebased.empty() ? piece.data : piece.rebased.data();
    if (piece.size > 0) std::memcpy(payload + piece.offset, from, piece.size);
  }
}

namespace {

class WireReader {
 public:
  WireReader(std::span<const std::byte> payload, const Ref<Buffer>& owner)
      : payload_(payload), owner_(owner) {}

  StatusOr<Tensor> tensor(Decoder& in) const {
    const std::uint64_t code = in.u64();
    const std::uint64_t rank = in.u64();
    if (!in.ok() || code == 0 || code >= static_cast<int>(DType::kObject) ||
        rank > 64) {
      return bad();
    }
    const auto dtype = static_cast<DType>(code);
    if (rank == 0 && dtype != DType::kString) {
      const std::string_view value = in.raw(dtype_size(dtype));
      if (!in.ok()) return bad();
      return Tensor::scalar_bytes(
          dtype, reinterpret_cast<const std::byte*>(value.data()));
    }
    Shape shape;
    for (std::uint64_t i = 0; i < rank; ++i) {
      shape.push_back(static_cast<std::int64_t>(in.u64()));
    }
    const auto count = shape.checked_num_elements();
    if (!in.ok() || !count) return bad();
    const auto n = static_cast<std::size_t>(*count);
    if (dtype != DType::kString) {
      const std::byte* data = piece(in.u64(), n, dtype_size(dtype));
      if (data == nullptr) return bad();
      return Tensor::from_buffer(dtype, shape, owner_, data);
    }
    const std::uint64_t size = in.u64();
    if (rank == 0) {
      const std::byte* data = piece(in.u64(), size, 1);
      if (data == nullptr) return bad();
      return Tensor::string_view_of({reinterpret_cast<const char*>(data), size},
                                    owner_);
    }
    const std::byte* offsets = piece(in.u64(), n + 1, sizeof(std::int64_t));
    const std::byte* bytes = piece(in.u64(), size, 1);
    if (offsets == nullptr || bytes == nullptr) return bad();
    std::vector<std::string_view> views(n);
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t ends[2];
      std::memcpy(ends, offsets + i * 8, sizeof(ends));
      if (ends[0] < 0 || ends[1] < ends[0] ||
          ends[1] > static_cast<std::int64_t>(size)) {
        return bad();
      }
      views[i] = {reinterpret_cast<const char*>(bytes) + ends[0],
                  static_cast<std::size_t>(ends[1] - ends[0])};
    }
    return Tensor::strings(views, shape);
  }

  static Status bad() {
    return absl::DataLossError("a worker process wrote a damaged result");
  }

 private:
  const std::byte* piece(std::uint64_t offset, std::uint64_t count,
                         std::size_t width) const {
    if (offset > payload_.size() ||
        count > (payload_.size() - offset) / width) {
      return nullptr;
    }
    return payload_.data() + offset;
  }

  std::span<const std::byte> payload_;
  const Ref<Buffer>& owner_;
};

}  // namespace

StatusOr<std::vector<WireRow>> read_wire(std::span<const std::byte> memory,
                                         const Ref<Buffer>& owner,
                                         std::vector<std::uint64_t>* keys) {
  if (memory.size() < kPrefix) return WireReader::bad();
  std::uint64_t prefix[2];
  std::memcpy(prefix, memory.data(), kPrefix);
  const auto [header_size, rows] = prefix;
  if (header_size > memory.size() - kPrefix ||
      aligned(kPrefix + header_size) > aligned(memory.size()) ||
      rows > header_size) {
    return WireReader::bad();
  }
  // Copied, so that what is checked is what is used.
  const std::string header(
      reinterpret_cast<const char*>(memory.data()) + kPrefix, header_size);
  const std::size_t begin =
      std::min(aligned(kPrefix + header_size), memory.size());
  const WireReader reader(memory.subspan(begin), owner);
  Decoder in(header);
  std::vector<WireRow> out(rows);
  for (WireRow& row : out) {
    if (!in.boolean()) {
      row.failure = std::string(in.bytes());
      if (!in.ok() || row.failure.empty()) return WireReader::bad();
      continue;
    }
    const std::uint64_t key = in.fixed64();
    if (keys != nullptr) keys->push_back(key);
    PS_ASSIGN_OR_RETURN(const Structure* structure, decode_structure(in));
    Element::Leaves leaves;
    for (std::size_t i = 0; i < structure->num_leaves(); ++i) {
      PS_ASSIGN_OR_RETURN(Tensor tensor, reader.tensor(in));
      leaves.push_back(std::move(tensor));
    }
    if (structure->has_ragged()) {
      for (const RaggedComponent& c : ragged_components(structure)) {
        if (c.ragged_rank == 0) continue;
        PS_RETURN_IF_ERROR(check_ragged(std::span<const Tensor>(
            leaves.data() + c.first_leaf, c.num_leaves())));
      }
    }
    row.element = Element(structure, std::move(leaves));
  }
  if (!in.ok() || !in.at_end()) return WireReader::bad();
  return out;
}

}  // namespace penstock::python

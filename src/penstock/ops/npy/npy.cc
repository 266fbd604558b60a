// npy: rows of NumPy arrays in files, mapped into memory.
//
// An indexed source; elements are views of the mapped files, so nothing is
// copied. Headers are read when the graph is built, and with them what must be
// converted: the other byte order, Fortran order, strings, members of an .npz
// that are compressed or misaligned. Files of the net are read as a whole. Rows
// that a file has lost since are errors in their places; in arrays that were
// given before they turn into zeros (io/mapped_file.h).
#include "penstock/ops/npy/npy.h"

#include <algorithm>
#include <optional>

#include "penstock/formats/npy.h"
#include "penstock/io/file.h"
#include "penstock/io/http.h"
#include "penstock/io/mapped_file.h"

namespace penstock::ops {
namespace {

StatusOr<MappedFile> memory_of(const std::string& path) {
  if (!is_http(path)) return MappedFile::open(path);
  PS_ASSIGN_OR_RETURN(const auto file, open_http(path));
  PS_ASSIGN_OR_RETURN(const std::int64_t size, file->size());
  const auto bytes = static_cast<std::size_t>(size);
  Ref<Buffer> memory = Buffer::allocate(bytes);
  if (!memory) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for an array of ", size, " bytes"));
  }
  PS_RETURN_IF_ERROR(read_fully(*file, 0, {memory->data(), bytes}));
  return MappedFile::of(std::move(memory));
}

StatusOr<Tensor> map_array(const Ref<Buffer>& file, std::size_t begin,
                           std::size_t size) {
  const auto* chars = reinterpret_cast<const char*>(file->data());
  const std::string_view bytes(chars + begin, size);
  PS_ASSIGN_OR_RETURN(const NpyHeader header, parse_npy(bytes));
  if (header.data_bytes > bytes.size() - header.data_offset) {
    return absl::DataLossError(
        absl::StrCat("truncated: the array has ", header.data_bytes,
                     " bytes, the file ", bytes.size() - header.data_offset));
  }
  if (header.shape.rank() == 0) {
    return invalid_argument("the array must have rows, got a scalar");
  }
  const std::byte* data = file->data() + begin + header.data_offset;
  if (!header.converted() &&
      reinterpret_cast<std::uintptr_t>(data) % header.item_bytes == 0) {
    return Tensor::from_buffer(header.dtype, header.shape, file, data);
  }
  return read_npy(header, bytes.substr(header.data_offset, header.data_bytes));
}

StatusOr<Tensor> map_member(const Ref<Buffer>& file, const NpzMember& member) {
  if (!member.deflated) return map_array(file, member.begin, member.size);
  const auto* chars = reinterpret_cast<const char*>(file->data());
  PS_ASSIGN_OR_RETURN(const Ref<Buffer> plain,
                      inflate_npz({chars, file->size()}, member));
  return map_array(plain, 0, member.plain_size);
}

StatusOr<Element> map_arrays(const Ref<Buffer>& file) {
  const auto* chars = reinterpret_cast<const char*>(file->data());
  const std::string_view bytes(chars, file->size());
  if (bytes.substr(0, 2) != "PK") {
    PS_ASSIGN_OR_RETURN(Tensor array, map_array(file, 0, bytes.size()));
    return Element(std::move(array));
  }
  PS_ASSIGN_OR_RETURN(const auto members, parse_npz(bytes));
  std::vector<std::pair<std::string, Element>> items;
  for (const NpzMember& member : members) {
    auto array = map_member(file, member);
    if (!array.ok()) {
      return annotate(array.status(), absl::StrCat("'", member.name, "': "));
    }
    if (!items.empty() && array->shape()[0] != items[0].second[0].shape()[0]) {
      return invalid_argument("arrays must have equally many rows, '",
                              items[0].first, "' has ",
                              items[0].second[0].shape()[0], ", '", member.name,
                              "' ", array->shape()[0]);
    }
    items.emplace_back(member.name, *std::move(array));
  }
  if (items.empty()) return invalid_argument("it has no arrays");
  return Element::dict(std::move(items));
}

/// The arrays of one file, and where in it their rows lie.
class ArrayFile {
 public:
  static StatusOr<ArrayFile> open(const std::string& path) {
    PS_ASSIGN_OR_RETURN(MappedFile file, memory_of(path));
    const std::size_t size = file.bytes()->size();
    auto arrays = map_arrays(file.bytes());
    if (file.intact() < size) {
      return absl::DataLossError(
          absl::StrCat("it became shorter than its ", size,
                       " bytes while it was read, ", file.intact()));
    }
    PS_RETURN_IF_ERROR(arrays.status());
    return ArrayFile(path, std::move(file), *std::move(arrays));
  }

  const std::string& path() const { return path_; }
  const Element& arrays() const { return arrays_; }
  std::int64_t rows() const { return arrays_[0].shape()[0]; }
  /// See MappedFile.
  std::size_t intact() const { return file_.intact(); }
  /// The rows before this one lie in the first `intact` bytes.
  std::int64_t intact_rows(std::size_t intact) const {
    std::int64_t rows = this->rows();
    if (intact == file_.bytes()->size()) return rows;
    for (const Tensor& array : arrays_.leaves()) {
      const std::int64_t row_bytes = bytes_of_row(array);
      if (row_bytes == 0) continue;
      const auto begin = static_cast<std::int64_t>(offset_of(array));
      const auto have = static_cast<std::int64_t>(intact) - begin;
      rows = std::min(rows, std::max<std::int64_t>(0, have) / row_bytes);
    }
    return rows;
  }
  /// Why `row`, which is none of those, cannot be given.
  Status lost(std::int64_t row, std::size_t intact) const {
    std::size_t at = file_.bytes()->size();
    for (const Tensor& array : arrays_.leaves()) {
      const std::int64_t row_bytes = bytes_of_row(array);
      if (row_bytes == 0) continue;
      const std::size_t begin =
          offset_of(array) + static_cast<std::size_t>(row * row_bytes);
      if (begin + static_cast<std::size_t>(row_bytes) > intact) {
        at = std::min(at, begin);
      }
    }
    return absl::DataLossError(absl::StrCat(
        quoted_name(path_), ": row ", row, " at byte ", at,
        ": the file is shorter than the ", file_.bytes()->size(),
        " bytes that were mapped, or was for a time: they are lost from byte ",
        intact, " on"));
  }

 private:
  ArrayFile(std::string path, MappedFile file, Element arrays)
      : path_(std::move(path)),
        file_(std::move(file)),
        arrays_(std::move(arrays)) {}

  std::size_t offset_of(const Tensor& array) const {
    return static_cast<std::size_t>(array.data() - file_.bytes()->data());
  }
  /// 0 of a copy, and of rows without values.
  std::int64_t bytes_of_row(const Tensor& array) const {
    if (array.buffer() != file_.bytes() || array.shape()[0] == 0) return 0;
    return array.byte_size() / array.shape()[0];
  }

  std::string path_;
  MappedFile file_;
  Element arrays_;
};

Spec npy_row_spec(const Element& arrays) {
  Spec spec = Spec::of(arrays);
  for (LeafSpec& leaf : spec.leaves()) leaf.shape = leaf.shape.without_first();
  return spec;
}

class Npy final : public IndexedSourceOp {
 public:
  Npy(std::vector<ArrayFile> files, Spec spec)
      : files_(std::move(files)), spec_(std::move(spec)) {
    std::int64_t end = 0;
    for (const ArrayFile& file : files_) ends_.push_back(end += file.rows());
  }

  std::string_view op() const override { return "npy"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override {
    return absl::StrCat("npy(", files_.size(), " files), mapped");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return spec_;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return size();
  }
  void add_to(Fingerprint& fp) const override {
    for (std::size_t i = 0; i < files_.size(); ++i) {
      fp.add(files_[i].path());
      fp.add(static_cast<std::uint64_t>(ends_[i]));
    }
    fp.add(spec_.to_string());
  }
  std::int64_t size() const override {
    return ends_.empty() ? 0 : ends_.back();
  }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext& context,
              Block& out) const override {
    std::vector<Piece> pieces;
    std::vector<Block> blocks;
    const bool rising = !run.list && run.step == 1;
    for (std::int64_t k = 0; k < run.count;) {
      const std::int64_t i = run.at(k);
      const auto file = static_cast<std::size_t>(
          std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
      const std::int64_t row = i - (file == 0 ? 0 : ends_[file - 1]);
      const std::int64_t n =
          rising ? std::min(run.count - k, ends_[file] - i) : 1;
      Block::Columns columns;
      for (const Tensor& array : files_[file].arrays().leaves()) {
        columns.emplace_back(array.rows(row, row + n));
      }
      blocks.emplace_back(spec_.structure(), std::move(columns), n, Origins());
      pieces.push_back({file, row, n});
      k += n;
    }
    PS_ASSIGN_OR_RETURN(out, join_blocks(blocks));
    out.set_origins(run.list ? Origins(run.path, *run.list)
                             : Origins(run.path, run.begin, run.step));
    add_lost_rows(pieces, context, out);
    return absl::OkStatus();
  }

 private:
  /// Rows of one file that follow each other.
  struct Piece {
    std::size_t file = 0;
    std::int64_t row = 0;
    std::int64_t count = 0;
  };

  /// After rows were copied: what was lost until then counts.
  void add_lost_rows(const std::vector<Piece>& pieces, CallContext& context,
                     Block& out) const {
    std::vector<std::optional<std::size_t>> intact(files_.size());
    std::int64_t at = 0;
    for (const Piece& piece : pieces) {
      const ArrayFile& file = files_[piece.file];
      auto& known = intact[piece.file];
      if (!known) known = file.intact();
      const std::int64_t rows = file.intact_rows(*known) - piece.row;
      for (auto i = std::max<std::int64_t>(0, rows); i < piece.count; ++i) {
        out.errors().emplace_back(
            at + i, context.error(file.lost(piece.row + i, *known),
                                  out.origins().at(at + i)));
      }
      at += piece.count;
    }
  }

  const std::vector<ArrayFile> files_;
  const Spec spec_;
  std::vector<std::int64_t> ends_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_npy(
    const std::vector<std::string>& files) {
  std::vector<ArrayFile> opened;
  Spec spec;
  for (const std::string& path : files) {
    auto file = ArrayFile::open(path);
    if (!file.ok()) {
      return annotate(file.status(),
                      absl::StrCat("npy: ", quoted_name(path), ": "));
    }
    const Spec own = npy_row_spec(file->arrays());
    if (opened.empty()) {
      spec = own;
    } else if (!(spec == own)) {
      return invalid_argument("npy: files must have rows of one spec, ",
                              quoted_name(files[0]), " has ", spec.to_string(),
                              ", ", quoted_name(path), " ", own.to_string());
    }
    opened.push_back(*std::move(file));
  }
  if (opened.empty())
    return invalid_argument("npy: files must be given, got none");
  return std::make_shared<Npy>(std::move(opened), std::move(spec));
}

}  // namespace penstock::ops

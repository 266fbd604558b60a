// npy: rows of NumPy arrays in files, mapped into memory.
//
// An indexed source; elements are views of the mapped files, so nothing is
// copied. Headers are read when the graph is built, and with them what must be
// converted: the other byte order, Fortran order, strings, members of an .npz
// that are compressed or misaligned. Files of the net are read as a whole. A
// file that has become shorter is an error; it must not shrink while a block is
// read (io/mapped_file.h).
#include "penstock/ops/npy/npy.h"

#include <algorithm>
#include <limits>

#include "penstock/formats/npy.h"
#include "penstock/io/file.h"
#include "penstock/io/http.h"
#include "penstock/io/mapped_file.h"

namespace penstock::ops {
namespace {

StatusOr<Ref<Buffer>> memory_of(const std::string& path) {
  if (!is_http(path)) return map_file(path);
  PS_ASSIGN_OR_RETURN(const auto file, open_http(path));
  PS_ASSIGN_OR_RETURN(const std::int64_t size, file->size());
  const auto bytes = static_cast<std::size_t>(size);
  Ref<Buffer> memory = Buffer::allocate(bytes);
  if (!memory) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for an array of ", size, " bytes"));
  }
  PS_RETURN_IF_ERROR(read_fully(*file, 0, {memory->data(), bytes}));
  return memory;
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

StatusOr<Element> map_arrays(const std::string& path) {
  PS_ASSIGN_OR_RETURN(const Ref<Buffer> file, memory_of(path));
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

Spec npy_row_spec(const Element& arrays) {
  Spec spec = Spec::of(arrays);
  for (LeafSpec& leaf : spec.leaves()) leaf.shape = leaf.shape.without_first();
  return spec;
}

class Npy final : public IndexedSourceOp {
 public:
  Npy(std::vector<std::string> files, std::vector<Element> arrays, Spec spec)
      : files_(std::move(files)),
        arrays_(std::move(arrays)),
        spec_(std::move(spec)) {
    std::int64_t end = 0;
    for (const Element& a : arrays_) ends_.push_back(end += a[0].shape()[0]);
    for (const std::string& path : files_) sizes_.push_back(size_of(path));
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
      fp.add(files_[i]);
      fp.add(static_cast<std::uint64_t>(ends_[i]));
    }
    fp.add(spec_.to_string());
  }
  std::int64_t size() const override {
    return ends_.empty() ? 0 : ends_.back();
  }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    std::vector<Block> blocks;
    std::vector<bool> looked_at(files_.size());
    const bool rising = !run.list && run.step == 1;
    for (std::int64_t k = 0; k < run.count;) {
      const std::int64_t i = run.at(k);
      const auto file = static_cast<std::size_t>(
          std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
      const std::int64_t row = i - (file == 0 ? 0 : ends_[file - 1]);
      const std::int64_t n =
          rising ? std::min(run.count - k, ends_[file] - i) : 1;
      // Reading what is gone would end the process.
      if (!looked_at[file] && size_of(files_[file]) < sizes_[file]) {
        return absl::DataLossError(
            absl::StrCat("'", files_[file], "' is shorter than the ",
                         sizes_[file], " bytes that were mapped"));
      }
      looked_at[file] = true;
      Block::Columns columns;
      for (const Tensor& array : arrays_[file].leaves()) {
        columns.emplace_back(array.rows(row, row + n));
      }
      blocks.emplace_back(spec_.structure(), std::move(columns), n, Origins());
      k += n;
    }
    PS_ASSIGN_OR_RETURN(out, join_blocks(blocks));
    out.set_origins(run.list ? Origins(run.path, *run.list)
                             : Origins(run.path, run.begin, run.step));
    return absl::OkStatus();
  }

 private:
  /// 0 for what is not mapped: a file of the net, or one that is gone, whose
  /// bytes stay.
  static std::int64_t size_of(const std::string& path) {
    if (is_http(path)) return 0;
    const auto info = FileSystem::local().info(path);
    return info.ok() ? info->size : std::numeric_limits<std::int64_t>::max();
  }

  const std::vector<std::string> files_;
  const std::vector<Element> arrays_;
  const Spec spec_;
  std::vector<std::int64_t> ends_;
  std::vector<std::int64_t> sizes_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_npy(
    const std::vector<std::string>& files) {
  std::vector<Element> arrays;
  Spec spec;
  for (const std::string& path : files) {
    auto mapped = map_arrays(path);
    if (!mapped.ok()) {
      return annotate(mapped.status(),
                      absl::StrCat("npy: ", quoted_name(path), ": "));
    }
    const Spec own = npy_row_spec(*mapped);
    if (arrays.empty()) {
      spec = own;
    } else if (!(spec == own)) {
      return invalid_argument("npy: files must have rows of one spec, ",
                              quoted_name(files[0]), " has ", spec.to_string(),
                              ", ", quoted_name(path), " ", own.to_string());
    }
    arrays.push_back(*std::move(mapped));
  }
  if (arrays.empty())
    return invalid_argument("npy: files must be given, got none");
  return std::make_shared<Npy>(files, std::move(arrays), std::move(spec));
}

}  // namespace penstock::ops

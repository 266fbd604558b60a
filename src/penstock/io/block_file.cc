#include "penstock/io/block_file.h"

#include <algorithm>
#include <cstring>

#include "penstock/base/codec.h"
#include "penstock/memory/element_codec.h"
#include "penstock/memory/ragged.h"

namespace penstock {
namespace {

constexpr std::size_t kAlign = Buffer::kAlignment;
constexpr std::int64_t kTargetBytes = 256 * 1024;
constexpr std::int64_t kTargetRows = 16 * 1024;
constexpr std::uint32_t kVersion = 1;
constexpr std::uint32_t kTrailerMagic = 0x46425350;  // "PSBF"
constexpr std::size_t kTrailerBytes = 32;
constexpr std::size_t kMaxRank = 255;
// Elements with none of columns are counted, not stored: bound what a small
// file may claim.
constexpr std::uint64_t kMaxRows = std::uint64_t{1} << 32;

enum Form : std::uint64_t { kColumns = 0, kElements = 1 };

std::string file_header() {
  std::string header = "Penstock block file, version 1\n";
  header.resize(kAlign, '\0');
  return header;
}

Status damaged(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat("block file: damaged (", to_absl(what), ")"));
}

std::uint32_t crc_of(std::string_view bytes) {
  constexpr std::size_t kChunk = std::size_t{1} << 30;
  std::uint32_t crc = 0;
  do {
    crc = crc32c(bytes.substr(0, kChunk), crc);
    bytes.remove_prefix(std::min(kChunk, bytes.size()));
  } while (!bytes.empty());
  return crc;
}

void pad(std::string& out) {
  out.resize((out.size() + kAlign - 1) / kAlign * kAlign, '\0');
}

std::string_view view(const std::byte* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// --- tensors --------------------------------------------------------------

std::int64_t string_bytes(const Tensor& t) {
  std::int64_t total = 0;
  const std::int64_t n = t.num_elements();
  for (std::int64_t i = 0; i < n; ++i) {
    total += static_cast<std::int64_t>(t.str(i).size());
  }
  return total;
}

Status describe(const Tensor& t, Encoder& out) {
  if (!t.defined() || t.dtype() == DType::kObject) {
    return invalid_argument("nested datasets cannot be written to a file");
  }
  out.u64(static_cast<std::uint64_t>(t.dtype()));
  out.u64(t.rank());
  for (std::int64_t d : t.shape().dims()) {
    out.u64(static_cast<std::uint64_t>(d));
  }
  if (t.dtype() == DType::kString) {
    out.u64(static_cast<std::uint64_t>(string_bytes(t)));
  }
  return absl::OkStatus();
}

void append_data(const Tensor& t, std::string& out) {
  if (t.dtype() != DType::kString) {
    out.append(view(t.data(), static_cast<std::size_t>(t.byte_size())));
    pad(out);
    return;
  }
  const std::int64_t n = t.num_elements();
  if (t.rank() > 0) {
    std::int64_t at = 0;
    for (std::int64_t i = 0; i <= n; ++i) {
      out.append(view(reinterpret_cast<const std::byte*>(&at), sizeof(at)));
      if (i < n) at += static_cast<std::int64_t>(t.str(i).size());
    }
    pad(out);
  }
  for (std::int64_t i = 0; i < n; ++i) out.append(t.str(i));
  pad(out);
}

struct Description {
  DType dtype = DType::kInvalid;
  Shape shape;
  std::int64_t values = 0;
  std::uint64_t chars = 0;  // of strings
};

StatusOr<Description> read_description(Decoder& in) {
  Description d;
  const std::uint64_t dtype = in.u64();
  const std::size_t rank = in.count();
  if (!in.ok() || rank > kMaxRank ||
      dtype >= static_cast<std::uint64_t>(kNumDTypes)) {
    return damaged("a tensor's type");
  }
  d.dtype = static_cast<DType>(dtype);
  if (!dtype_is_dense(d.dtype) && d.dtype != DType::kString) {
    return damaged("a tensor's type");
  }
  for (std::size_t i = 0; i < rank; ++i) {
    d.shape.push_back(static_cast<std::int64_t>(in.u64()));
  }
  const auto n = d.shape.checked_num_elements();
  if (d.dtype == DType::kString) d.chars = in.u64();
  if (!in.ok() || !n) return damaged("a tensor's shape");
  d.values = *n;
  return d;
}

// Takes tensors one after the other from the data part of a block.
class DataReader {
 public:
  DataReader(const Ref<Buffer>& buffer, std::size_t at, std::size_t size)
      : buffer_(buffer), at_(at), size_(size) {}

  StatusOr<Tensor> tensor(const Description& d) {
    if (d.dtype == DType::kString) return strings(d);
    const std::size_t width = dtype_size(d.dtype);
    const auto count = static_cast<std::uint64_t>(d.values);
    if (count > size_ / width) return damaged("a tensor's size");
    PS_ASSIGN_OR_RETURN(const std::byte* data, take(count * width));
    if (d.dtype == DType::kBool) {
      for (std::uint64_t i = 0; i < count; ++i) {
        if (std::to_integer<unsigned>(data[i]) > 1) return damaged("a bool");
      }
    }
    return Tensor::from_buffer(d.dtype, d.shape, buffer_, data);
  }
  bool at_end() const { return at_ == size_; }

 private:
  StatusOr<const std::byte*> take(std::uint64_t bytes) {
    if (bytes > size_ - at_) return damaged("a tensor's size");
    const std::byte* data = buffer_->data() + at_;
    at_ += static_cast<std::size_t>(bytes);
    at_ = std::min(size_, (at_ + kAlign - 1) / kAlign * kAlign);
    return data;
  }
  Ref<Buffer> part(const std::byte* data, std::size_t bytes) {
    return Buffer::external(data, bytes, [owner = buffer_] {});
  }
  StatusOr<Tensor> strings(const Description& d) {
    if (d.shape.rank() == 0) {
      PS_ASSIGN_OR_RETURN(const std::byte* chars, take(d.chars));
      return Tensor::string_view_of(
          view(chars, static_cast<std::size_t>(d.chars)), buffer_);
    }
    const auto count = static_cast<std::uint64_t>(d.values) + 1;
    if (count > size_ / 8) return damaged("a tensor's size");
    PS_ASSIGN_OR_RETURN(const std::byte* data, take(count * 8));
    const auto* offsets = reinterpret_cast<const std::int64_t*>(data);
    PS_ASSIGN_OR_RETURN(const std::byte* chars, take(d.chars));
    bool rising = offsets[0] == 0;
    for (std::uint64_t i = 1; i < count; ++i) {
      rising &= offsets[i - 1] <= offsets[i];
    }
    if (!rising || static_cast<std::uint64_t>(offsets[count - 1]) != d.chars) {
      return damaged("lengths of strings");
    }
    return Tensor::strings_from(part(data, count * 8),
                                part(chars, static_cast<std::size_t>(d.chars)),
                                d.shape);
  }

  const Ref<Buffer>& buffer_;
  std::size_t at_;
  const std::size_t size_;
};

// --- blocks ---------------------------------------------------------------

Status check_ragged_rows(const Block& block) {
  if (block.structure() == nullptr || !block.structure()->has_ragged()) {
    return absl::OkStatus();
  }
  for (const RaggedComponent& c : ragged_components(block.structure())) {
    if (c.ragged_rank == 0) continue;
    for (std::int64_t r = 0; r < block.size(); ++r) {
      Element::Leaves value;
      for (std::size_t k = 0; k < c.num_leaves(); ++k) {
        value.push_back(block.column(c.first_leaf + k).row(r));
      }
      if (!check_ragged({value.data(), value.size()}).ok()) {
        return damaged("a ragged value");
      }
    }
  }
  return absl::OkStatus();
}

StatusOr<Block> decode_columns(Decoder& in, const Ref<Buffer>& buffer,
                               std::size_t data, std::size_t size) {
  const std::uint64_t rows = in.u64();
  if (!in.ok() || rows > kMaxRows) return damaged("number of elements");
  PS_ASSIGN_OR_RETURN(const Structure* structure, decode_structure(in));
  DataReader reader(buffer, data, size);
  Block::Columns columns;
  for (std::size_t leaf = 0; leaf < structure->num_leaves(); ++leaf) {
    if (in.boolean()) {
      PS_ASSIGN_OR_RETURN(const Description d, read_description(in));
      if (d.shape.rank() == 0 ||
          d.shape[0] != static_cast<std::int64_t>(rows)) {
        return damaged("rows of a column");
      }
      PS_ASSIGN_OR_RETURN(Tensor t, reader.tensor(d));
      columns.emplace_back(std::move(t));
      continue;
    }
    if (rows > in.remaining()) return damaged("rows of a column");
    std::vector<Tensor> tensors;
    for (std::uint64_t r = 0; r < rows; ++r) {
      PS_ASSIGN_OR_RETURN(const Description d, read_description(in));
      PS_ASSIGN_OR_RETURN(Tensor t, reader.tensor(d));
      tensors.push_back(std::move(t));
    }
    columns.emplace_back(std::move(tensors));
  }
  if (!in.ok() || !in.at_end() || !reader.at_end()) {
    return damaged("bytes behind the columns");
  }
  Block block(structure, std::move(columns), static_cast<std::int64_t>(rows),
              {});
  PS_RETURN_IF_ERROR(check_ragged_rows(block));
  return block;
}

StatusOr<Block> decode_elements(Decoder& in) {
  const std::size_t rows = in.count();
  if (rows == 0) return damaged("number of elements");  // is never written
  BlockBuilder builder;
  for (std::size_t i = 0; i < rows; ++i) {
    PS_ASSIGN_OR_RETURN(Element element, decode_element(in));
    builder.add(std::move(element));
  }
  if (!in.ok() || !in.at_end()) return damaged("elements");
  return builder.finish();
}

}  // namespace

StatusOr<std::string> encode_block(const Block& block) {
  Encoder head;
  std::string data;
  if (!block.mixed() && block.structure() == nullptr) {
    return internal_error("block file: no elements to write");
  }
  if (block.mixed()) {
    head.u64(kElements);
    head.u64(static_cast<std::uint64_t>(block.size()));
    for (const Element& e : block.elements()) {
      PS_RETURN_IF_ERROR(encode_element(e, head));
    }
  } else {
    head.u64(kColumns);
    head.u64(static_cast<std::uint64_t>(block.size()));
    encode_structure(*block.structure(), head);
    for (const Column& column : block.columns()) {
      head.boolean(column.packed());
      if (column.packed()) {
        PS_RETURN_IF_ERROR(describe(column.tensor(), head));
        append_data(column.tensor(), data);
      } else {
        for (const Tensor& t : column.rows()) {
          PS_RETURN_IF_ERROR(describe(t, head));
          append_data(t, data);
        }
      }
    }
  }
  Encoder prefix;
  prefix.fixed64(head.size());
  std::string out = std::move(prefix).take();
  out += head.str();
  pad(out);
  out += data;
  return out;
}

StatusOr<Block> decode_block(const Ref<Buffer>& buffer, std::size_t size) {
  Decoder prefix(view(buffer->data(), std::min<std::size_t>(size, 8)));
  const std::uint64_t head = prefix.fixed64();
  if (!prefix.ok() || head > size - 8) return damaged("head of a block");
  const std::size_t end = 8 + static_cast<std::size_t>(head);
  Decoder in(view(buffer->data() + 8, static_cast<std::size_t>(head)));
  const std::uint64_t form = in.u64();
  if (form == kElements) return decode_elements(in);
  if (form != kColumns) return damaged("form of a block");
  return decode_columns(
      in, buffer, std::min(size, (end + kAlign - 1) / kAlign * kAlign), size);
}

// --- writing --------------------------------------------------------------

StatusOr<std::unique_ptr<BlockFileWriter>> BlockFileWriter::create(
    FileSystem& fs, const std::string& path) {
  std::unique_ptr<BlockFileWriter> writer(new BlockFileWriter);
  PS_ASSIGN_OR_RETURN(writer->file_, AtomicFile::create(fs, path));
  PS_RETURN_IF_ERROR(writer->file_->append(file_header()));
  return writer;
}

Status BlockFileWriter::add(const Block& block) {
  if (!block.errors().empty()) {
    return internal_error("block file: errors cannot be written");
  }
  if (block.empty()) return absl::OkStatus();
  rows_ += block.size();
  pending_bytes_ += block.byte_size();
  pending_.push_back(block);
  std::int64_t rows = 0;
  for (const Block& b : pending_) rows += b.size();
  if (pending_bytes_ < kTargetBytes && rows < kTargetRows) {
    return absl::OkStatus();
  }
  return flush();
}

Status BlockFileWriter::flush() {
  if (pending_.empty()) return absl::OkStatus();
  PS_ASSIGN_OR_RETURN(const Block block, join_blocks(pending_));
  pending_.clear();
  pending_bytes_ = 0;
  PS_ASSIGN_OR_RETURN(std::string bytes, encode_block(block));
  pad(bytes);
  PS_RETURN_IF_ERROR(file_->append(bytes));
  entries_.push_back(
      {bytes.size(), static_cast<std::uint64_t>(block.size()), crc_of(bytes)});
  return absl::OkStatus();
}

Status BlockFileWriter::finish(std::string_view metadata) {
  PS_RETURN_IF_ERROR(flush());
  Encoder footer;
  footer.u64(entries_.size());
  for (const Entry& e : entries_) {
    footer.u64(e.size);
    footer.u64(e.rows);
    footer.u64(e.crc);
  }
  footer.bytes(metadata);
  Encoder trailer;
  trailer.fixed64(static_cast<std::uint64_t>(file_->size()));
  trailer.fixed64(footer.size());
  trailer.fixed64(crc_of(footer.str()) |
                  (static_cast<std::uint64_t>(kVersion) << 32));
  trailer.fixed64(crc_of(trailer.str()) |
                  (static_cast<std::uint64_t>(kTrailerMagic) << 32));
  PS_RETURN_IF_ERROR(file_->append(footer.str()));
  PS_RETURN_IF_ERROR(file_->append(trailer.str()));
  return file_->commit();
}

// --- reading --------------------------------------------------------------

StatusOr<std::shared_ptr<const BlockFile>> BlockFile::open(
    FileSystem& fs, const std::string& path) {
  std::shared_ptr<BlockFile> file(new BlockFile);
  file->path_ = path;
  PS_ASSIGN_OR_RETURN(file->file_, fs.open(path));
  const auto read = [&](std::uint64_t offset,
                        std::size_t size) -> StatusOr<std::string> {
    std::string bytes(size, '\0');
    PS_RETURN_IF_ERROR(read_fully(*file->file_,
                                  static_cast<std::int64_t>(offset),
                                  std::as_writable_bytes(std::span(bytes))));
    return bytes;
  };
  PS_ASSIGN_OR_RETURN(const std::int64_t length, file->file_->size());
  const auto size = static_cast<std::uint64_t>(length);
  if (size < kAlign + kTrailerBytes) return damaged("too short");
  PS_ASSIGN_OR_RETURN(const std::string header, read(0, kAlign));
  if (header != file_header()) return damaged("header");
  PS_ASSIGN_OR_RETURN(const std::string trailer,
                      read(size - kTrailerBytes, kTrailerBytes));
  Decoder in(trailer);
  const std::uint64_t footer_at = in.fixed64();
  const std::uint64_t footer_size = in.fixed64();
  const std::uint64_t footer_crc = in.fixed64();
  const std::uint64_t own_crc = in.fixed64();
  if (own_crc !=
      (crc_of(std::string_view(trailer).substr(0, kTrailerBytes - 8)) |
       (static_cast<std::uint64_t>(kTrailerMagic) << 32))) {
    return damaged("trailer");
  }
  if (footer_crc >> 32 != kVersion) {
    return absl::DataLossError(absl::StrCat("block file: version ",
                                            footer_crc >> 32, " is not known"));
  }
  if (footer_at < kAlign || footer_at > size ||
      footer_size > size - footer_at ||
      footer_at + footer_size + kTrailerBytes != size) {
    return damaged("length");
  }
  PS_ASSIGN_OR_RETURN(const std::string footer,
                      read(footer_at, static_cast<std::size_t>(footer_size)));
  if (crc_of(footer) != static_cast<std::uint32_t>(footer_crc)) {
    return damaged("footer");
  }
  Decoder index(footer);
  const std::size_t blocks = index.count(3);
  std::uint64_t at = kAlign;
  std::int64_t rows = 0;
  for (std::size_t i = 0; i < blocks; ++i) {
    const std::uint64_t bytes = index.u64();
    const std::uint64_t count = index.u64();
    const std::uint64_t crc = index.u64();
    if (!index.ok() || bytes > footer_at - at || bytes < 8 ||
        count > kMaxRows || crc > 0xffffffffu) {
      return damaged("index");
    }
    file->entries_.push_back(
        {static_cast<std::int64_t>(at), static_cast<std::size_t>(bytes),
         static_cast<std::int64_t>(count), static_cast<std::uint32_t>(crc)});
    at += bytes;
    rows += static_cast<std::int64_t>(count);
    file->ends_.push_back(rows);
  }
  file->metadata_ = std::string(index.bytes());
  if (!index.ok() || !index.at_end() || at != footer_at) {
    return damaged("index");
  }
  return std::shared_ptr<const BlockFile>(std::move(file));
}

std::size_t BlockFile::find(std::int64_t i) const {
  return static_cast<std::size_t>(
      std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
}

StatusOr<BlockRef> BlockFile::block(std::size_t i) const {
  {
    std::lock_guard lock(mutex_);
    for (const auto& [number, block] : kept_) {
      if (block && number == i) return block;
    }
  }
  const Entry& entry = entries_[i];
  Ref<Buffer> buffer = Buffer::allocate(entry.size);
  if (!buffer) {
    return absl::ResourceExhaustedError(
        absl::StrCat("block file: the system has no ", entry.size,
                     " bytes for a block of '", path_, "'"));
  }
  const auto read = [&]() -> StatusOr<Block> {
    PS_RETURN_IF_ERROR(
        read_fully(*file_, entry.offset, {buffer->data(), entry.size}));
    if (crc_of(view(buffer->data(), entry.size)) != entry.crc) {
      return damaged("checksum");
    }
    PS_ASSIGN_OR_RETURN(Block block, decode_block(buffer, entry.size));
    if (block.size() != entry.rows) return damaged("number of elements");
    return block;
  };
  auto block = read();
  if (!block.ok()) {
    return annotate(block.status(),
                    absl::StrCat("'", path_, "', block ", i, " at byte ",
                                 entry.offset, ": "));
  }
  Charge charge(&Account::process(), static_cast<std::int64_t>(entry.size));
  BlockRef shared(make_ref<SharedBlock>(*std::move(block), std::move(charge)));
  std::lock_guard lock(mutex_);
  kept_[next_kept_++ % kKept] = {i, shared};
  return shared;
}

}  // namespace penstock

// Records whose places are known: an indexed source.
//
// Any worker reads any records. Those that follow each other are read at once,
// up to 4 MiB; small ones are checked and copied together, large ones are views
// of what was read. It waits for the disk, so it counts as code that may block.
// State: none, the chain's index is enough.
#include "penstock/ops/files/indexed_records.h"

#include <algorithm>

#include "penstock/io/file_cache.h"
#include "penstock/ops/files/packing.h"

namespace penstock::ops {
namespace {

constexpr std::int64_t kReadBytes = std::int64_t{4} << 20;
// What is copied out is read in pieces that stay in the cache meanwhile.
constexpr std::int64_t kCopiedReadBytes = 256 * 1024;
// The kernel is told of this much ahead, whenever a read passes a multiple.
constexpr std::int64_t kAdviseAhead = std::int64_t{4} << 20;

class IndexedRecords final : public IndexedSourceOp {
 public:
  IndexedRecords(std::vector<IndexedFile> files, IndexedRecordsOptions options)
      : files_(std::move(files)),
        options_(std::move(options)),
        open_files_(*options_.fs) {
    std::int64_t end = 0;
    for (const IndexedFile& file : files_) {
      end += file.layout->size();
      ends_.push_back(end);
    }
  }

  std::string_view op() const override { return options_.op; }
  std::string describe() const override { return options_.describe; }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return Spec::tensor(DType::kString, PartialShape(Shape{}));
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return size();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(options_.identity);
    for (const IndexedFile& file : files_) {
      fp.add(file.path);
      fp.add(static_cast<std::uint64_t>(file.layout->size()));
    }
  }
  std::int64_t size() const override { return ends_.empty() ? 0 : ends_.back(); }
  bool in_memory() const override { return false; }
  bool user_code() const override { return true; }

  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext& context,
              Block& out) const override {
    std::vector<Piece> pieces = pieces_of(run);
    std::int64_t payload = 0;
    for (const Piece& piece : pieces) payload += piece.payload;
    const bool views = payload >= kViewBytes * run.count;
    Result result;
    if (!views) {
      PS_ASSIGN_OR_RETURN(result.packer,
                          StringPacker::make(run.count, payload));
    }
    OriginsBuilder origins;
    std::vector<std::pair<std::int64_t, Status>> failed;
    for (const Piece& piece : pieces) {
      const PathRef path = OriginPath::extend(
          run.path, OriginPath::Kind::kInner,
          static_cast<std::int64_t>(piece.file));
      origins.append(Origins(path, piece.first), 0, piece.count);
      read_piece(piece, context, result, failed);
    }
    Block::Columns columns;
    columns.push_back(views ? Column(std::move(result.views))
                            : result.packer->finish());
    out = Block(Structure::leaf(), std::move(columns), run.count,
                origins.finish());
    for (auto& [row, status] : failed) {
      out.errors().emplace_back(
          row, context.error(std::move(status), out.origins().at(row)));
    }
    return absl::OkStatus();
  }

 private:
  /// Records of one file that follow each other.
  struct Piece {
    std::size_t file = 0;
    std::int64_t first = 0;
    std::int64_t count = 0;
    std::int64_t row = 0;  // in the block
    std::int64_t payload = 0;
  };
  struct Result {
    std::optional<StringPacker> packer;  // or else views
    std::vector<Tensor> views;

    void add(std::string_view value, const Ref<Buffer>& owner) {
      if (packer) {
        packer->add(value);
      } else {
        views.push_back(owner ? Tensor::string_view_of(value, owner)
                              : Tensor::string(value));
      }
    }
  };

  std::vector<Piece> pieces_of(const IndexRun& run) const {
    std::vector<Piece> pieces;
    const bool rising = !run.list && run.step == 1;
    for (std::int64_t k = 0; k < run.count;) {
      const std::int64_t i = run.at(k);
      const auto file = static_cast<std::size_t>(
          std::upper_bound(ends_.begin(), ends_.end(), i) - ends_.begin());
      const std::int64_t base = file == 0 ? 0 : ends_[file - 1];
      std::int64_t n = 1;
      if (rising) {
        n = std::min(run.count - k, ends_[file] - i);
      } else {
        while (k + n < run.count && i + n < ends_[file] &&
               run.at(k + n) == i + n) {
          ++n;
        }
      }
      Piece piece{file, i - base, n, k, 0};
      const RecordLayout& layout = *files_[file].layout;
      const std::int64_t whole =
          std::min(piece.first + n, layout.records()) - piece.first;
      if (whole > 0) {
        piece.payload = layout.offset(piece.first + whole) -
                        layout.offset(piece.first) -
                        whole * layout.frame_bytes();
      }
      pieces.push_back(piece);
      k += n;
    }
    return pieces;
  }

  void read_piece(const Piece& piece, const CallContext& context,
                  Result& result,
                  std::vector<std::pair<std::int64_t, Status>>& failed) const {
    const IndexedFile& file = files_[piece.file];
    const RecordLayout& layout = *file.layout;
    const std::int64_t end =
        std::min(piece.first + piece.count, layout.records());
    const auto file_or = open_files_.get(file.path);
    const auto fail = [&](std::int64_t i, const Status& status) {
      failed.emplace_back(piece.row + i - piece.first,
                          annotate(status, absl::StrCat("'", file.path,
                                                        "': ")));
      result.add({}, nullptr);
    };
    Ref<Buffer> scratch;
    std::int64_t i = piece.first;
    while (i < end) {
      if (!file_or.ok()) {
        failed.emplace_back(piece.row + i - piece.first, file_or.status());
        result.add({}, nullptr);
        ++i;
        continue;
      }
      // As many records as one read takes.
      const std::int64_t from = layout.offset(i);
      const std::int64_t limit = result.packer ? kCopiedReadBytes : kReadBytes;
      std::int64_t stop = end;
      if (layout.offset(end) - from > limit) {
        stop = i + 1;
        std::int64_t high = end;
        while (high - stop > 1) {
          const std::int64_t middle = stop + (high - stop) / 2;
          (layout.offset(middle) - from <= limit ? stop : high) = middle;
        }
      }
      const std::int64_t bytes = layout.offset(stop) - from;
      Ref<Buffer> buffer;
      if (result.packer && scratch &&
          scratch->size() >= static_cast<std::size_t>(bytes)) {
        buffer = scratch;
      } else {
        buffer = Buffer::allocate(static_cast<std::size_t>(bytes));
        if (result.packer) scratch = buffer;
      }
      Status status;
      if (!buffer) {
        status = absl::ResourceExhaustedError(
            absl::StrCat("no memory to read ", bytes, " bytes"));
      } else if (context.cancelled()) {
        status = absl::CancelledError("cancelled");
      } else {
        if (from / kAdviseAhead != (from + bytes) / kAdviseAhead && piece.count > 1) {
          (*file_or)->will_need(from + bytes, kAdviseAhead);
        }
        status = read_fully(**file_or, from,
                            {buffer->data(), static_cast<std::size_t>(bytes)});
      }
      std::int64_t at = 0;
      for (; i < stop; ++i) {
        if (!status.ok()) {
          fail(i, status);
          continue;
        }
        const std::int64_t size = layout.bytes(i);
        const auto payload = layout.payload(
            i, {reinterpret_cast<const char*>(buffer->data()) + at,
                static_cast<std::size_t>(size)});
        at += size;
        if (payload.ok()) {
          result.add(*payload, buffer);
        } else {
          fail(i, payload.status());
        }
      }
    }
    for (; i < piece.first + piece.count; ++i) fail(i, layout.failure());
  }

  const std::vector<IndexedFile> files_;
  const IndexedRecordsOptions options_;
  std::vector<std::int64_t> ends_;
  mutable FileCache open_files_;
};

}  // namespace

std::shared_ptr<const Operator> make_indexed_records(
    std::vector<IndexedFile> files, IndexedRecordsOptions options) {
  return std::make_shared<IndexedRecords>(std::move(files),
                                          std::move(options));
}

}  // namespace penstock::ops

// Records whose places are known: an indexed source.
//
// Any worker reads any records. They are read straight into the memory of the
// block, as they lie in the file, and checked while they are in the cache: the
// strings of a block are what is between their frames, so nothing is copied
// after the read. It waits for the disk, so it counts as code that may block.
// State: none, the chain's index is enough.
#include "penstock/ops/files/indexed_records.h"

#include <algorithm>
#include <atomic>

#include "penstock/base/work_counters.h"
#include "penstock/formats/splitter.h"
#include "penstock/graph/block_hint.h"
#include "penstock/io/file_cache.h"
#include "penstock/io/http.h"
#include "penstock/memory/string_memory.h"

namespace penstock::ops {
namespace {

// Read, then checked while it is in the cache. Pieces of 256 KiB, which would
// stay in the second one, are 5 to 20 % slower: see kBlockNs.
constexpr std::int64_t kRecordReadBytes = std::int64_t{1} << 20;
// The system copies into memory that is in the first two caches a third slower
// than into what was just pushed out of them, so blocks are longer than those.
constexpr double kBlockNs = 250'000;
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
  std::int64_t size() const override {
    return ends_.empty() ? 0 : ends_.back();
  }
  bool in_memory() const override { return false; }
  bool user_code() const override { return true; }

  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext& context,
              Block& out) const override {
    ask_for_block_ns(kBlockNs);
    const std::vector<Piece> pieces = pieces_of(run);
    if (pieces.empty()) {
      out = Block(nullptr, {}, 0, Origins(run.path, 0));
      return absl::OkStatus();
    }
    const RecordLayout& any = *files_[pieces.front().file].layout;
    std::int64_t bytes = 0;
    for (const Piece& piece : pieces) {
      bytes += piece.bytes + (piece.count - piece.whole) * any.frame_bytes();
    }
    Result result;
    result.offsets = Buffer::allocate(static_cast<std::size_t>(run.count + 1) *
                                      sizeof(std::int64_t));
    const StringMemory own = string_memory_for(pieces, run.count, bytes);
    result.bytes = Buffer::allocate(static_cast<std::size_t>(
        own != nullptr ? run.count * any.frame_bytes() : bytes));
    if (!result.offsets || !result.bytes) return no_memory(bytes);
    result.place()[0] = 0;
    OriginsBuilder origins;
    for (const Piece& piece : pieces) {
      const PathRef path =
          OriginPath::extend(run.path, OriginPath::Kind::kInner,
                             static_cast<std::int64_t>(piece.file));
      origins.append(Origins(path, piece.first), 0, piece.count);
      place(piece, result);
      if (own != nullptr && !take_memory(piece, own, result)) {
        return no_memory(bytes);
      }
      read_piece(piece, context, result);
    }
    Block::Columns columns;
    if (own != nullptr) {
      std::vector<std::string_view> values;
      for (const Ref<Buffer>& string : result.strings) {
        values.push_back(chars(*string, 0, string->size()));
      }
      PS_ASSIGN_OR_RETURN(Tensor strings, Tensor::scattered_strings(
                                              values, std::move(result.strings),
                                              Shape{run.count}));
      columns.emplace_back(std::move(strings));
    } else {
      const char* const first =
          chars(*result.bytes, 0, 0).data() + any.head_bytes();
      columns.emplace_back(Tensor::framed_strings(
          std::move(result.offsets), std::move(result.bytes), first,
          static_cast<std::uint32_t>(any.frame_bytes()), Shape{run.count}));
    }
    out = Block(Structure::leaf(), std::move(columns), run.count,
                origins.finish());
    for (auto& [row, status] : result.failed) {
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
    std::int64_t row = 0;    // in the block
    std::int64_t whole = 0;  // of count: not the file's failure
    std::int64_t bytes = 0;  // of those, with frames
  };
  /// What a block is made of. Rows that failed have a place and no meaning.
  struct Result {
    Ref<Buffer> offsets;  // of frames, as if they lay side by side
    Ref<Buffer> bytes;    // where they do; else only what is around payloads
    std::vector<Ref<Buffer>> strings;  // payloads in memory of their own
    std::vector<std::pair<std::int64_t, Status>> failed;  // rows rise

    bool apart() const { return !strings.empty(); }
    std::int64_t* place() {
      return reinterpret_cast<std::int64_t*>(offsets->data());
    }
  };

  static std::string_view chars(const Buffer& buffer, std::int64_t from,
                                std::size_t n) {
    return {reinterpret_cast<const char*>(buffer.data()) + from, n};
  }
  static Status no_memory(std::int64_t bytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for ", bytes, " bytes of records"));
  }

  /// What is offered, if the records are long and near: each part of a read is
  /// a request to a server.
  StringMemory string_memory_for(std::span<const Piece> pieces,
                                 std::int64_t count, std::int64_t bytes) const {
    const StringMemory offered = offered_string_memory();
    if (offered == nullptr || bytes < count * kOwnStringBytes) return nullptr;
    for (const Piece& piece : pieces) {
      if (is_http(files_[piece.file].path)) return nullptr;
    }
    return offered;
  }

  void place(const Piece& piece, Result& result) const {
    const RecordLayout& layout = *files_[piece.file].layout;
    std::int64_t* const offsets = result.place() + piece.row;
    layout.place(piece.first, piece.whole, offsets);
    for (std::int64_t k = piece.whole; k < piece.count; ++k) {
      offsets[k + 1] = offsets[k] + layout.frame_bytes();
    }
  }

  /// Memory for each payload of the piece; false if there is none.
  bool take_memory(const Piece& piece, StringMemory allocate,
                   Result& result) const {
    const std::int64_t frame = files_[piece.file].layout->frame_bytes();
    const std::int64_t* const offsets = result.place() + piece.row;
    for (std::int64_t k = 0; k < piece.count; ++k) {
      result.strings.push_back(allocate(
          static_cast<std::size_t>(offsets[k + 1] - offsets[k] - frame)));
      if (!result.strings.back()) return false;
    }
    return true;
  }

  /// The places of bytes [begin, end) of a piece whose payloads lie apart.
  void parts_of(const Piece& piece, std::int64_t begin, std::int64_t end,
                Result& result,
                std::vector<std::span<std::byte>>& parts) const {
    const RecordLayout& layout = *files_[piece.file].layout;
    const std::int64_t head = layout.head_bytes();
    const std::int64_t frame = layout.frame_bytes();
    const std::int64_t* const offsets = result.place() + piece.row;
    const auto add = [&](std::byte* to, std::int64_t from, std::int64_t size) {
      const std::int64_t first = std::max(from, begin);
      const std::int64_t last = std::min(from + size, end);
      if (first < last) {
        parts.emplace_back(to + (first - from),
                           static_cast<std::size_t>(last - first));
      }
    };
    parts.clear();
    std::int64_t k =
        std::upper_bound(offsets, offsets + piece.whole, offsets[0] + begin) -
        offsets - 1;
    for (; k < piece.whole && offsets[k] - offsets[0] < end; ++k) {
      std::int64_t at = offsets[k] - offsets[0];
      std::byte* const around = result.bytes->data() + (piece.row + k) * frame;
      Buffer& string = *result.strings[static_cast<std::size_t>(piece.row + k)];
      const auto payload = static_cast<std::int64_t>(string.size());
      add(around, at, head);
      add(string.data(), at += head, payload);
      add(around + head, at + payload, frame - head);
    }
  }

  /// Looks at records [k, k + n) of the piece.
  template <class Fail>
  void check(const Piece& piece, std::int64_t k, std::int64_t n,
             const Result& result, const std::int64_t* offsets,
             const Fail& fail) const {
    const RecordLayout& layout = *files_[piece.file].layout;
    if (!result.apart()) {
      layout.check(
          piece.first + k, n, offsets + k, chars(*result.bytes, 0, 0).data(),
          [&](std::int64_t i, const Status& bad) { fail(k + i, bad); });
      return;
    }
    const std::int64_t head = layout.head_bytes();
    const std::int64_t frame = layout.frame_bytes();
    for (const std::int64_t end = k + n; k < end; ++k) {
      const std::int64_t around = (piece.row + k) * frame;
      const Buffer& string =
          *result.strings[static_cast<std::size_t>(piece.row + k)];
      const Status status = layout.check_apart(
          piece.first + k,
          chars(*result.bytes, around, static_cast<std::size_t>(head)),
          chars(string, 0, string.size()),
          chars(*result.bytes, around + head,
                static_cast<std::size_t>(frame - head)));
      if (!status.ok()) fail(k, status);
    }
  }

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
      Piece piece{file, i - base, n, k, 0, 0};
      const RecordLayout& layout = *files_[file].layout;
      piece.whole = std::max<std::int64_t>(
          0, std::min(piece.first + n, layout.records()) - piece.first);
      if (piece.whole > 0) {
        piece.bytes = layout.offset(piece.first + piece.whole) -
                      layout.offset(piece.first);
      }
      pieces.push_back(piece);
      k += n;
    }
    return pieces;
  }

  void read_piece(const Piece& piece, const CallContext& context,
                  Result& result) const {
    const IndexedFile& file = files_[piece.file];
    const RecordLayout& layout = *file.layout;
    const std::int64_t* const offsets = result.place() + piece.row;
    const auto fail = [&](std::int64_t k, const Status& status) {
      result.failed.emplace_back(
          piece.row + k, annotate(status, quoted_name(file.path) + ": "));
    };
    std::int64_t k = 0;  // records done with
    const auto opened = piece.whole > 0 ? open_files_.get(file.path)
                                        : std::shared_ptr<const ReadableFile>();
    if (!opened.ok()) {
      for (; k < piece.whole; ++k) {
        result.failed.emplace_back(piece.row + k, opened.status());
      }
    }
    const std::int64_t from = piece.whole > 0 ? layout.offset(piece.first) : 0;
    std::int64_t have = 0;  // bytes of the piece
    while (k < piece.whole) {
      const std::int64_t want = std::min(
          piece.bytes,
          std::max(have + kRecordReadBytes, offsets[k + 1] - offsets[0]));
      Status status;
      if (context.cancelled()) {
        status = absl::CancelledError("cancelled");
      } else {
        status = read_on(**opened, from, want, piece, result, have);
      }
      const std::int64_t n =
          std::upper_bound(offsets + k + 1, offsets + piece.whole + 1,
                           offsets[0] + have) -
          (offsets + k + 1);
      check(piece, k, n, result, offsets, fail);
      k += n;
      if (status.ok()) continue;
      for (; k < piece.whole; ++k) {
        const std::int64_t i = piece.first + k;
        fail(k, annotate(status, record_place(i, layout.offset(i))));
      }
    }
    for (; k < piece.count; ++k) fail(k, layout.failure());
  }

  /// Reads bytes [from + have, from + want) of the file behind the `have` of
  /// the piece that are there, and counts them: also those before a failure.
  Status read_on(const ReadableFile& file, std::int64_t from, std::int64_t want,
                 const Piece& piece, Result& result, std::int64_t& have) const {
    std::vector<std::span<std::byte>> parts;
    const auto read = [&]() -> StatusOr<std::size_t> {
      if (result.apart()) {
        parts_of(piece, have, want, result, parts);
        return file.read_parts(from + have, parts);
      }
      std::byte* const out = result.bytes->data() + result.place()[piece.row];
      return file.read_at(from + have,
                          {out + have, static_cast<std::size_t>(want - have)});
    };
    const std::int64_t before = work_counters().read_ns;
    const std::int64_t began = from + have;
    while (have < want) {
      PS_ASSIGN_OR_RETURN(const std::size_t n, read());
      if (n == 0) {
        PS_ASSIGN_OR_RETURN(const std::int64_t size, file.size());
        return absl::DataLossError(absl::StrCat(
            "truncated: the file ends at byte ", size, " since it shrank"));
      }
      have += static_cast<std::int64_t>(n);
    }
    // What lies in memory already is not asked for: finding that out costs a
    // twentieth of reading it.
    const std::int64_t end = from + have;
    const bool slow = work_counters().read_ns - before > end - began;
    const bool was_slow = slow_.load(std::memory_order_relaxed);
    if (slow != was_slow) slow_.store(slow, std::memory_order_relaxed);
    if (slow && piece.count > 1 &&
        (!was_slow || began / kAdviseAhead != end / kAdviseAhead)) {
      file.will_need(end, kAdviseAhead);
    }
    return absl::OkStatus();
  }

  const std::vector<IndexedFile> files_;
  const IndexedRecordsOptions options_;
  std::vector<std::int64_t> ends_;
  mutable FileCache open_files_;
  mutable std::atomic<bool> slow_{false};  // the last read waited for a disk
};

}  // namespace

std::shared_ptr<const Operator> make_indexed_records(
    std::vector<IndexedFile> files, IndexedRecordsOptions options) {
  return std::make_shared<IndexedRecords>(std::move(files), std::move(options));
}

}  // namespace penstock::ops

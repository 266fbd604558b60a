// Inflating is ISA-L's (2 to 3 times zlib), deflating zlib's, for its levels.
#include "penstock/formats/compression.h"

#include <isa-l/igzip_lib.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/ascii.h"

namespace penstock {
namespace {

template <class Size>
Size clamp(std::size_t n) {
  return static_cast<Size>(
      std::min<std::size_t>(n, std::numeric_limits<Size>::max() / 2));
}

class Inflate final : public Decompressor {
 public:
  explicit Inflate(bool gzip)
      : gzip_(gzip), state_(std::make_unique<inflate_state>()) {
    start();
  }
  StatusOr<Progress> run(std::string_view in, char* out,
                         std::size_t size) override {
    Progress progress;
    if (failed_.ok()) failed_ = inflate(in, out, size, progress);
    if (failed_.ok()) return progress;
    progress.read = 0;  // where it failed is not known
    // What came before the damage first: some of it may wait for room.
    const auto waiting = static_cast<std::size_t>(state_->tmp_out_valid -
                                                  state_->tmp_out_processed);
    const std::size_t n = std::min(waiting, size - progress.written);
    if (n > 0) {
      std::memcpy(out + progress.written,
                  state_->tmp_out_buffer + state_->tmp_out_processed, n);
      state_->tmp_out_processed += static_cast<std::int32_t>(n);
      progress.written += n;
    }
    if (progress.written > 0) return progress;
    return failed_;
  }
  bool complete() const override { return complete_ || !started_; }

 private:
  Status inflate(std::string_view in, char* out, std::size_t size,
                 Progress& progress) {
    // Also without input: some output may wait inside for room.
    for (;;) {
      if (complete_) {
        if (progress.read == in.size()) break;
        if (!gzip_) return damaged("bytes follow the end of the stream");
        // Zeros may pad the end of a gzip file.
        if (in[progress.read] == '\0') {
          ++progress.read;
          continue;
        }
        start();
      }
      if (progress.written == size) break;
      const std::size_t in_left = in.size() - progress.read;
      if (gzip_ && !started_ && in_left >= 2 &&
          in.substr(progress.read, 2) != "\x1f\x8b") {
        return damaged("it does not begin as one");
      }
      const std::size_t out_left = size - progress.written;
      state_->next_in = reinterpret_cast<std::uint8_t*>(
          const_cast<char*>(in.data() + progress.read));
      state_->avail_in = clamp<std::uint32_t>(in_left);
      state_->next_out =
          reinterpret_cast<std::uint8_t*>(out + progress.written);
      state_->avail_out = clamp<std::uint32_t>(out_left);
      const std::uint32_t in_given = state_->avail_in;
      const std::uint32_t out_given = state_->avail_out;
      const int result = isal_inflate(state_.get());
      const std::size_t read = in_given - state_->avail_in;
      const std::size_t written = out_given - state_->avail_out;
      progress.read += read;
      progress.written += written;
      started_ = started_ || read > 0;
      switch (result) {
        case ISAL_DECOMP_OK:
        case ISAL_END_INPUT:
        case ISAL_OUT_OVERFLOW:
          break;
        case ISAL_INCORRECT_CHECKSUM:
          return damaged("its checksum differs");
        default:
          return damaged("not deflate data");
      }
      if (state_->block_state == ISAL_BLOCK_FINISH) complete_ = true;
      if (read == 0 && written == 0 && !complete_) break;
    }
    return absl::OkStatus();
  }
  void start() {
    isal_inflate_init(state_.get());
    state_->crc_flag = gzip_ ? ISAL_GZIP : ISAL_ZLIB;
    complete_ = false;
    started_ = false;
  }
  Status damaged(std::string_view why) const {
    return absl::DataLossError(absl::StrCat("damaged ", gzip_ ? "gzip" : "zlib",
                                            " stream: ", to_absl(why)));
  }

  const bool gzip_;
  std::unique_ptr<inflate_state> state_;
  bool complete_ = false;
  bool started_ = false;
  Status failed_;
};

class ZstdDecompress final : public Decompressor {
 public:
  ZstdDecompress() : context_(ZSTD_createDStream(), ZSTD_freeDStream) {}
  StatusOr<Progress> run(std::string_view in, char* out,
                         std::size_t size) override {
    ZSTD_inBuffer input{in.data(), 0, 0};
    ZSTD_outBuffer output{out, size, 0};
    // A frame that ends makes progress without output: go on behind it.
    while (failed_.ok()) {
      const std::size_t read = input.pos;
      const std::size_t written = output.pos;
      const bool flushes = full_;
      input.size = flushes ? read : read + std::min(in.size() - read, step_);
      const std::size_t hint =
          ZSTD_decompressStream(context_.get(), &output, &input);
      if (ZSTD_isError(hint) != 0) {
        failed_ = absl::DataLossError(
            absl::StrCat("damaged zstd stream: ", ZSTD_getErrorName(hint)));
        break;
      }
      step_ = hint > kBlockHeader ? hint - kBlockHeader : kBlockHeader;
      if (input.pos != read || output.pos != written) complete_ = hint == 0;
      full_ = output.pos == size;
      const bool stands = input.pos == read && output.pos == written;
      if (full_ || (stands && !flushes)) break;
    }
    if (!failed_.ok() && output.pos == 0) return failed_;
    return Progress{input.pos, output.pos};
  }
  bool complete() const override { return complete_; }

 private:
  // A call that fails does not say what it wrote: each is given one block, and
  // the header of the next, which the hint counts in, to the next call. What
  // found no room is taken by a call without input.
  static constexpr std::size_t kBlockHeader = 3;

  std::unique_ptr<ZSTD_DStream, std::size_t (*)(ZSTD_DStream*)> context_;
  std::size_t step_ = kBlockHeader;
  bool full_ = false;
  bool complete_ = true;
  Status failed_;
};

constexpr std::size_t kPiece = 64 * 1024;

class Deflate final : public Compressor {
 public:
  Deflate() = default;
  ~Deflate() override {
    if (open_) deflateEnd(&stream_);
  }
  Status open(bool gzip, int level) {
    constexpr int kWindowBits = 15;
    constexpr int kMemoryLevel = 8;
    open_ = deflateInit2(&stream_, level, Z_DEFLATED,
                         gzip ? kWindowBits + 16 : kWindowBits, kMemoryLevel,
                         Z_DEFAULT_STRATEGY) == Z_OK;
    return open_ ? absl::OkStatus()
                 : absl::ResourceExhaustedError("no memory to deflate with");
  }
  Status add(std::string_view in, std::string& out) override {
    while (!in.empty()) {
      const auto n = clamp<uInt>(in.size());
      PS_RETURN_IF_ERROR(run(in.substr(0, n), Z_NO_FLUSH, out));
      in.remove_prefix(n);
    }
    return absl::OkStatus();
  }
  Status finish(std::string& out) override { return run({}, Z_FINISH, out); }

 private:
  Status run(std::string_view in, int flush, std::string& out) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in.data()));
    stream_.avail_in = static_cast<uInt>(in.size());
    do {
      const std::size_t at = out.size();
      out.resize(at + kPiece);
      stream_.next_out = reinterpret_cast<Bytef*>(out.data() + at);
      stream_.avail_out = kPiece;
      const int result = deflate(&stream_, flush);
      out.resize(at + kPiece - stream_.avail_out);
      if (result == Z_STREAM_ERROR) return internal_error("deflate failed");
    } while (stream_.avail_out == 0);
    return absl::OkStatus();
  }

  z_stream stream_ = {};
  bool open_ = false;
};

class ZstdCompress final : public Compressor {
 public:
  explicit ZstdCompress(int level)
      : context_(ZSTD_createCStream(), ZSTD_freeCStream) {
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1);
  }
  Status add(std::string_view in, std::string& out) override {
    return run(in, ZSTD_e_continue, out);
  }
  Status finish(std::string& out) override { return run({}, ZSTD_e_end, out); }

 private:
  Status run(std::string_view in, ZSTD_EndDirective mode, std::string& out) {
    ZSTD_inBuffer input{in.data(), in.size(), 0};
    for (;;) {
      const std::size_t at = out.size();
      out.resize(at + kPiece);
      ZSTD_outBuffer output{out.data() + at, kPiece, 0};
      const std::size_t left =
          ZSTD_compressStream2(context_.get(), &output, &input, mode);
      out.resize(at + output.pos);
      if (ZSTD_isError(left) != 0) {
        return internal_error("zstd: ", ZSTD_getErrorName(left));
      }
      const bool done =
          mode == ZSTD_e_end ? left == 0 : input.pos == input.size;
      if (done) return absl::OkStatus();
    }
  }

  std::unique_ptr<ZSTD_CStream, std::size_t (*)(ZSTD_CStream*)> context_;
};

class Store final : public Compressor {
 public:
  Status add(std::string_view in, std::string& out) override {
    out.append(in);
    return absl::OkStatus();
  }
  Status finish(std::string&) override { return absl::OkStatus(); }
};

}  // namespace

std::string_view compression_name(Compression c) {
  constexpr std::string_view kNames[] = {"NONE", "GZIP", "ZLIB", "ZSTD",
                                         "auto"};
  return kNames[static_cast<int>(c)];
}

std::optional<Compression> compression_from_name(std::string_view name) {
  const std::string upper = absl::AsciiStrToUpper(to_absl(name));
  if (upper.empty() || upper == "NONE") return Compression::kNone;
  if (upper == "GZIP") return Compression::kGzip;
  if (upper == "ZLIB") return Compression::kZlib;
  if (upper == "ZSTD") return Compression::kZstd;
  if (upper == "AUTO") return Compression::kAuto;
  return std::nullopt;
}

Compression sniff_compression(std::string_view bytes, bool zlib) {
  if (bytes.substr(0, 3) == "\x1f\x8b\x08") return Compression::kGzip;
  if (bytes.substr(0, 4) == "\x28\xb5\x2f\xfd") return Compression::kZstd;
  if (zlib && bytes.size() >= 2) {
    const auto a = static_cast<unsigned char>(bytes[0]);
    const auto b = static_cast<unsigned char>(bytes[1]);
    if (a == 0x78 && (a * 256 + b) % 31 == 0) return Compression::kZlib;
  }
  return Compression::kNone;
}

std::string compression_hint(std::string_view bytes) {
  std::string_view found = compression_name(sniff_compression(bytes, false));
  // zlib streams also of a smaller window, for which the first byte is not 'x'.
  if (bytes.size() >= 2 && (bytes[0] & 0x0f) == 8 &&
      (static_cast<unsigned char>(bytes[0]) * 256 +
       static_cast<unsigned char>(bytes[1])) %
              31 ==
          0) {
    found = compression_name(Compression::kZlib);
  } else if (sniff_compression(bytes, false) == Compression::kNone) {
    return {};
  }
  return absl::StrCat("; the file begins like ",
                      absl::AsciiStrToLower(to_absl(found)),
                      ": set compression to ", to_absl(found), " or auto");
}

bool looks_like_zlib(std::string_view bytes, bool whole) {
  if (sniff_compression(bytes, true) != Compression::kZlib) return false;
  Inflate inflate(/*gzip=*/false);
  char dropped[4096];
  for (;;) {
    const auto progress = inflate.run(bytes, dropped, sizeof(dropped));
    if (!progress.ok()) return false;
    bytes.remove_prefix(progress->read);
    if (progress->read == 0 && progress->written == 0) break;
  }
  return inflate.complete() || !whole;
}

std::string text_compression_hint(std::string_view bytes, bool whole) {
  const bool known = sniff_compression(bytes, false) != Compression::kNone;
  return known || looks_like_zlib(bytes, whole) ? compression_hint(bytes)
                                                : std::string();
}

std::unique_ptr<Decompressor> Decompressor::make(Compression compression) {
  if (compression == Compression::kZstd) {
    return std::make_unique<ZstdDecompress>();
  }
  return std::make_unique<Inflate>(compression == Compression::kGzip);
}

StatusOr<std::unique_ptr<Compressor>> Compressor::make(Compression compression,
                                                       int level) {
  const auto check = [&](int low, int high) -> Status {
    if (level == -1 || (level >= low && level <= high)) return absl::OkStatus();
    return invalid_argument("compression_level must be -1 or ", low, " to ",
                            high, ", got ", level);
  };
  switch (compression) {
    case Compression::kGzip:
    case Compression::kZlib: {
      PS_RETURN_IF_ERROR(check(0, 9));
      auto deflate = std::make_unique<Deflate>();
      PS_RETURN_IF_ERROR(
          deflate->open(compression == Compression::kGzip, level));
      return deflate;
    }
    case Compression::kZstd:
      PS_RETURN_IF_ERROR(check(1, 22));
      return std::make_unique<ZstdCompress>(level == -1 ? 3 : level);
    case Compression::kNone:
      return std::make_unique<Store>();
    case Compression::kAuto:
      break;
  }
  return invalid_argument("compression must be given for writing, got auto");
}

}  // namespace penstock

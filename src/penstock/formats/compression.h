// Compressed streams: gzip, zlib and zstd, a piece at a time.
//
// Nothing here holds more than its window: what a small input expands to is
// bounded by the buffers of the caller. Several gzip members or zstd frames one
// after the other are one stream. Belongs to one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "penstock/base/status.h"

namespace penstock {

enum class Compression : std::uint8_t { kNone, kGzip, kZlib, kZstd, kAuto };

std::string_view compression_name(Compression c);
/// "", "NONE", "GZIP", "ZLIB", "ZSTD", "auto", in any case; nothing if none.
std::optional<Compression> compression_from_name(std::string_view name);

/// What a stream that begins with `bytes` is compressed with. `zlib` says
/// whether that is looked for: its header has little to tell it by.
Compression sniff_compression(std::string_view bytes, bool zlib);

/// For errors of a file that begins with `bytes` and was taken as it is: which
/// compression it seems to have. Empty if none.
std::string compression_hint(std::string_view bytes);

/// Whether `bytes`, the first of a stream or the `whole` of it, are zlib and
/// not a text that begins like it ("x^2"): they are inflated to see.
bool looks_like_zlib(std::string_view bytes, bool whole);

/// compression_hint() for a file that should be text, of which some begin as
/// zlib does; `whole` as above.
std::string text_compression_hint(std::string_view bytes, bool whole);

class Decompressor {
 public:
  virtual ~Decompressor() = default;
  struct Progress {
    std::size_t read = 0;
    std::size_t written = 0;
  };
  /// Takes some of `in`, writes some of `out`. Output may wait inside: call it
  /// until nothing is written, with an empty `in` at the end of the input.
  /// DataLoss if the stream is damaged, once what came before is written.
  virtual StatusOr<Progress> run(std::string_view in, char* out,
                                 std::size_t size) = 0;
  /// The input may end here: whole members were read.
  virtual bool complete() const = 0;

  /// Requires gzip, zlib or zstd.
  static std::unique_ptr<Decompressor> make(Compression compression);
};

class Compressor {
 public:
  virtual ~Compressor() = default;
  /// Appends to `out` what is ready.
  virtual Status add(std::string_view in, std::string& out) = 0;
  /// Ends the stream.
  virtual Status finish(std::string& out) = 0;

  /// `level` -1 is the usual one. InvalidArgument if the level is not one.
  static StatusOr<std::unique_ptr<Compressor>> make(Compression compression,
                                                    int level = -1);
};

}  // namespace penstock

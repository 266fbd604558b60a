// TFRecord framing, its index and the compressed streams on any bytes: each
// must refuse them or give records that lie inside.
#include <cstdint>
#include <string>

#include "penstock/formats/compression.h"
#include "penstock/formats/tfrecord.h"
#include "penstock/formats/tfrecord_index.h"

namespace {

using namespace penstock;

void split(std::string_view bytes) {
  const tfrecord::RecordSplitter splitter(true);
  SplitInput in;
  in.bytes = bytes;
  in.at_end = true;
  in.max_rows = 1000;
  in.max_payload = 1 << 20;
  in.max_record_bytes = 1 << 20;
  SplitOutput out;
  splitter.split(in, out);
  if (out.consumed > bytes.size()) __builtin_trap();
  for (const SplitRow& row : out.rows) {
    if (row.begin > bytes.size() || row.size > bytes.size() - row.begin) {
      __builtin_trap();
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  switch (data[0] % 5) {
    case 0:
      split(bytes);
      break;
    case 1: {
      const tfrecord::Index::Subject subject{1000, 7};
      const auto index = tfrecord::Index::decode(bytes, subject);
      if (index.ok() && index->offset(index->size()) > 1000) __builtin_trap();
      break;
    }
    default: {
      constexpr Compression kAll[] = {Compression::kGzip, Compression::kZlib,
                                      Compression::kZstd};
      const auto stream = Decompressor::make(kAll[data[0] % 5 - 2]);
      std::string plain;
      char piece[4096];
      std::size_t at = 0;
      while (plain.size() < (std::size_t{1} << 20)) {
        const auto progress =
            stream->run(bytes.substr(at), piece, sizeof(piece));
        if (!progress.ok()) break;
        if (progress->read == 0 && progress->written == 0) break;
        at += progress->read;
        plain.append(piece, progress->written);
      }
      split(plain);
    }
  }
  return 0;
}

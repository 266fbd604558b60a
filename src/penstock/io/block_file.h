// A file of blocks: what cache(path), snapshot and save write.
//
//   header   64 bytes, constant
//   blocks   each padded to 64 bytes; tensors as they lie in memory, 64-byte
//            aligned, so that a block is read at once and used in place
//   footer   size, rows and CRC-32C of each block; the caller's metadata
//   trailer  32 bytes: where the footer is, its CRC, its own CRC
// Every byte is covered: a file that was cut, extended or changed anywhere is
// DataLoss, never a wrong value. Written beside its name and renamed, so a
// crash leaves the old file or none. Little endian, version 1.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/io/file.h"
#include "penstock/memory/block.h"

namespace penstock {

class BlockFileWriter {
 public:
  static StatusOr<std::unique_ptr<BlockFileWriter>> create(
      FileSystem& fs, const std::string& path);
  /// Appends the elements of `block`, which must have no errors. Small blocks
  /// are joined. InvalidArgument for nested datasets.
  Status add(const Block& block);
  std::int64_t rows() const { return rows_; }
  /// Writes the rest and gives the file its name.
  Status finish(std::string_view metadata);

 private:
  struct Entry {
    std::uint64_t size;
    std::uint64_t rows;
    std::uint32_t crc;
  };
  BlockFileWriter() = default;
  Status flush();

  std::unique_ptr<AtomicFile> file_;
  std::vector<Block> pending_;
  std::int64_t pending_bytes_ = 0;
  std::int64_t rows_ = 0;
  std::vector<Entry> entries_;
};

/// Thread-safe.
class BlockFile {
 public:
  /// NotFound if there is no such file, DataLoss if it is damaged.
  static StatusOr<std::shared_ptr<const BlockFile>> open(
      FileSystem& fs, const std::string& path);

  /// Elements in all blocks.
  std::int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  /// Bytes of all blocks.
  std::int64_t bytes() const {
    return entries_.empty()
               ? 0
               : entries_.back().offset +
                     static_cast<std::int64_t>(entries_.back().size);
  }
  std::size_t num_blocks() const { return entries_.size(); }
  const std::string& metadata() const { return metadata_; }
  /// Number of the block that holds element `i`.
  std::size_t find(std::int64_t i) const;
  std::int64_t begin(std::size_t block) const {
    return block == 0 ? 0 : ends_[block - 1];
  }
  std::int64_t end(std::size_t block) const { return ends_[block]; }
  /// Reads and checks a block. The last few are kept.
  StatusOr<BlockRef> block(std::size_t i) const;

 private:
  struct Entry {
    std::int64_t offset;
    std::size_t size;
    std::int64_t rows;
    std::uint32_t crc;
  };
  BlockFile() = default;

  std::unique_ptr<ReadableFile> file_;
  std::string path_;
  std::string metadata_;
  std::vector<Entry> entries_;
  std::vector<std::int64_t> ends_;

  static constexpr std::size_t kKept = 8;
  mutable std::mutex mutex_;
  mutable std::array<std::pair<std::size_t, BlockRef>, kKept> kept_;
  mutable std::size_t next_kept_ = 0;
};

/// The bytes of one block, and back. Decoding treats its input as hostile; the
/// result refers to `buffer`.
StatusOr<std::string> encode_block(const Block& block);
StatusOr<Block> decode_block(const Ref<Buffer>& buffer, std::size_t size);

}  // namespace penstock

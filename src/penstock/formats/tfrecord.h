// The TFRecord framing.
//
//   uint64 length, uint32 masked CRC-32C of the length,
//   length bytes,  uint32 masked CRC-32C of the bytes      (little endian)
//
// A wrong payload costs one record. A wrong length hides where the next record
// begins: it is looked for, byte by byte, by the checksum of its length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "penstock/formats/splitter.h"

namespace penstock::tfrecord {

constexpr std::size_t kHeaderBytes = 12;
constexpr std::size_t kFooterBytes = 4;
constexpr std::size_t kFrameBytes = kHeaderBytes + kFooterBytes;

/// The CRC-32C as TFRecord stores it.
std::uint32_t masked_crc(std::string_view bytes);

/// Appends one framed record.
void append_record(std::string_view payload, std::string& out);

/// The payload's length from its header of kHeaderBytes; DataLoss if its
/// checksum does not fit.
StatusOr<std::uint64_t> read_length(std::string_view header);
/// Whether `bytes` begins with a whole header. A length may look like the begin
/// of a compressed stream; its checksum does not.
bool begins_with_record(std::string_view bytes);

/// OK if the checksum behind the payload fits.
Status check_payload(std::string_view payload, std::string_view footer);

/// The first of records [from, n) whose checksums do not fit, or whose length
/// is not what its place says; n if there is none. They lie side by side:
/// record i is [offsets[i], offsets[i + 1]) of `bytes`, frame included. Without
/// `verify` payloads are not looked at.
std::size_t first_damaged(const char* bytes, const std::int64_t* offsets,
                          std::size_t from, std::size_t n, bool verify);

/// Behind a damaged length so much more than the largest record is searched for
/// the next one.
constexpr std::int64_t kSearchedBytes = std::int64_t{16} << 20;

/// The first place from `from` on at which a record of at most
/// `max_record_bytes` begins; npos if there is none.
std::size_t find_record(std::string_view bytes, std::size_t from,
                        std::int64_t max_record_bytes);

/// What is wrong with a file whose first record is at fault: it may be no
/// TFRecord file, or a compressed one. "" if there is nothing to add.
std::string first_record_hint(std::string_view bytes);

/// DataLoss: the file ends inside a record that needs `needed` bytes.
Status truncated(std::uint64_t needed, std::uint64_t left);

class RecordSplitter final : public Splitter {
 public:
  /// Without `verify` payloads are not checked; lengths always are.
  explicit RecordSplitter(bool verify) : verify_(verify) {}
  void split(const SplitInput& in, SplitOutput& out) const override;

 private:
  const bool verify_;
};

}  // namespace penstock::tfrecord

// Where the records of a TFRecord file lie.
//
// Built in one pass over the lengths. Four bytes per record in memory and on
// disk: sizes, and an offset for every 64th record. An index file names the
// size and time of the file it was made for; it is a hint that can always be
// made again, so a damaged or old one is not an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/base/status.h"

namespace penstock::tfrecord {

class Index {
 public:
  std::int64_t size() const { return static_cast<std::int64_t>(sizes_.size()); }
  /// First byte of record `i`; i == size() is where the last one ends.
  std::int64_t offset(std::int64_t i) const;
  std::int64_t payload_bytes(std::int64_t i) const {
    return sizes_[static_cast<std::size_t>(i)];
  }
  std::int64_t largest_payload() const;
  /// What ended the file before its end; OK for a whole file. It stands at
  /// offset(size()).
  const Status& tail() const { return tail_; }

  /// Payloads of 4 GiB and more are refused by add().
  bool add(std::uint64_t payload_bytes);
  void set_tail(Status tail) { tail_ = std::move(tail); }
  /// The tail is a length that is damaged or above a limit: whole records may
  /// follow it, which only reading in order finds.
  bool cut_short() const { return cut_short_; }
  void set_cut_short() { cut_short_ = true; }

  /// The file the index belongs to.
  struct Subject {
    std::int64_t size = 0;
    std::int64_t modified_ns = 0;
    friend bool operator==(const Subject&, const Subject&) = default;
  };
  std::string encode(const Subject& subject) const;
  /// DataLoss if the bytes are damaged, FailedPrecondition if they belong to
  /// another state of the file.
  static StatusOr<Index> decode(std::string_view bytes, const Subject& subject);

 private:
  static constexpr std::size_t kStride = 64;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::int64_t> anchors_;  // offset of every kStride-th record
  std::int64_t end_ = 0;
  Status tail_;
  bool cut_short_ = false;  // not written: such an index is not kept
};

}  // namespace penstock::tfrecord

// Records that are lines, and records of one size.
#pragma once

#include "penstock/formats/splitter.h"

namespace penstock {

/// Lines without their end, "\n" or "\r\n". What follows the last one is a line
/// too, unless it is empty.
class LineSplitter final : public Splitter {
 public:
  /// The first `skip` lines of a file are passed over; with `skip_blank` also
  /// lines of white space alone, which have no number, and a byte order mark.
  explicit LineSplitter(std::int64_t skip = 0, bool skip_blank = false)
      : skip_(skip), skip_blank_(skip_blank) {}
  void split(const SplitInput& in, SplitOutput& out) const override;

 private:
  const std::int64_t skip_;
  const bool skip_blank_;
};

/// Records of `record_bytes` between a header and a footer, both passed over.
/// What is too short for a record at the end is an error.
class FixedSplitter final : public Splitter {
 public:
  FixedSplitter(std::int64_t record_bytes, std::int64_t header_bytes,
                std::int64_t footer_bytes)
      : record_(record_bytes), header_(header_bytes), footer_(footer_bytes) {}
  void split(const SplitInput& in, SplitOutput& out) const override;

 private:
  const std::int64_t record_;
  const std::int64_t header_;
  const std::int64_t footer_;
};

}  // namespace penstock

// Records as a column of strings: left in the bytes they were read into where
// they lie there side by side or are large, otherwise copied together.
#pragma once

#include <string_view>
#include <vector>

#include "penstock/memory/block.h"

namespace penstock::ops {

/// From this many bytes per record on a view costs less than a copy.
constexpr std::int64_t kViewBytes = 4096;
/// What stays in place may keep at most this many times its own size alive: a
/// step's share of what one read brought.
constexpr std::int64_t kMaxPinned = 5;

/// Fills a packed column of strings, one after the other.
class StringPacker {
 public:
  static StatusOr<StringPacker> make(std::int64_t rows, std::int64_t bytes);
  /// Within what was announced.
  void add(std::string_view value);
  Column finish();

 private:
  StringPacker() = default;
  Ref<Buffer> offsets_;
  Ref<Buffer> bytes_;
  std::int64_t rows_ = 0;
  std::int64_t size_ = 0;
};

/// `values`, which lie in `owner`, as a column.
StatusOr<Column> strings_column(const std::vector<std::string_view>& values,
                                const Ref<Buffer>& owner);

}  // namespace penstock::ops

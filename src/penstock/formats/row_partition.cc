#include "penstock/formats/row_partition.h"

#include <algorithm>

namespace penstock {
namespace {

// Of a partition that gives each value its row.
constexpr std::int64_t kMaxEmptyRows = 65'536;

}  // namespace

Status row_lengths(const Feature::Partition& partition,
                   std::span<const std::int64_t> given, std::int64_t count,
                   std::vector<std::int64_t>& out) {
  using PartitionKind = Feature::Partition::Kind;
  const auto fail = [&](const auto&... what) {
    return invalid_argument("partition '", partition.key, "' ", what...);
  };
  if (partition.kind == PartitionKind::kUniformRowLength) {
    if (count % partition.length != 0) {
      return invalid_argument("rows of ", partition.length,
                              " values: there are ", count);
    }
    out.insert(out.end(), static_cast<std::size_t>(count / partition.length),
               partition.length);
    return absl::OkStatus();
  }
  if (partition.kind == PartitionKind::kValueRowIds) {
    if (static_cast<std::int64_t>(given.size()) != count) {
      return fail("has ", given.size(), " rows of values, there are ", count,
                  " values");
    }
    std::int64_t row = -1;
    for (const std::int64_t id : given) {
      if (id < std::max<std::int64_t>(row, 0)) {
        return fail("must rise from row to row, got ", id, " behind ", row);
      }
      // A few bytes must not become a large table of empty rows.
      if (id >= count + kMaxEmptyRows) {
        return fail("names row ", id, " of ", count, " values; at most ",
                    kMaxEmptyRows, " rows may be empty");
      }
      for (; row < id; ++row) out.push_back(0);
      ++out.back();
    }
    return absl::OkStatus();
  }
  // The others are where rows end, but for what is known of both ends.
  std::span<const std::int64_t> ends = given;
  if (partition.kind == PartitionKind::kRowSplits ||
      partition.kind == PartitionKind::kRowStarts) {
    if (!given.empty() && given[0] != 0) {
      return fail("must begin with 0, got ", given[0]);
    }
    if (!given.empty()) ends = given.subspan(1);
  }
  std::int64_t at = 0;
  for (const std::int64_t value : ends) {
    const bool is_length = partition.kind == PartitionKind::kRowLengths;
    const std::int64_t least = is_length ? 0 : at;
    if (value < least || value - least > count - at) {
      return fail("does not fit ", count, " values, it has ", value, " behind ",
                  at);
    }
    const std::int64_t length = value - least;
    out.push_back(length);
    at += length;
  }
  if (partition.kind == PartitionKind::kRowStarts && !given.empty()) {
    out.push_back(count - at);
    at = count;
  }
  if (at != count) {
    return fail("ends at value ", at, ", there are ", count);
  }
  return absl::OkStatus();
}

}  // namespace penstock

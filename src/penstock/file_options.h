// Files as the public API takes them, and the options of what reads them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "penstock/graph/options.h"
#include "penstock/ops/tfrecord/tfrecord.h"

namespace penstock {

/// One or many files: names, and patterns with * ? [] and ** (io/glob.h), which
/// are looked up, sorted, when the graph is built.
class FileNames {
 public:
  FileNames(const char* name) : names_{name} {}  // NOLINT
  FileNames(std::string name) : names_{std::move(name)} {}  // NOLINT
  FileNames(std::vector<std::string> names)  // NOLINT
      : names_(std::move(names)) {}
  FileNames(std::initializer_list<std::string> names) : names_(names) {}

  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
};

struct ListFilesOptions {
  /// In another order in each iteration, drawn from the seed.
  bool shuffle = false;
  std::optional<std::uint64_t> seed = std::nullopt;
  std::string name = "";
};

using ops::UseIndex;

struct TFRecordOptions {
  /// "", "GZIP", "ZLIB", "ZSTD", or "auto": by each file's first bytes.
  std::string compression = "";
  /// Files that are opened at once. How many are read ahead never changes the
  /// order: one file after the other.
  std::int64_t num_parallel_reads = kAutotune;
  /// Checks payloads; lengths always are.
  bool verify = true;
  /// Random access to plain files. Their lengths are read when the graph is
  /// built, unless an index was kept.
  UseIndex index = UseIndex::kAuto;
  /// A larger record is an error.
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  std::string name = "";
};

}  // namespace penstock

// Files as the public API takes them, and the options of what reads them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "penstock/formats/csv.h"
#include "penstock/formats/example.h"
#include "penstock/formats/json_lines.h"
#include "penstock/graph/options.h"
#include "penstock/ops/tfrecord/tfrecord.h"

namespace penstock {

/// One or many files: names, and patterns with * ? [] and ** (io/glob.h), which
/// are looked up, sorted, when the graph is built.
class FileNames {
 public:
  FileNames(const char* name) : names_{name} {}             // NOLINT
  FileNames(std::string name) : names_{std::move(name)} {}  // NOLINT
  FileNames(std::vector<std::string> names)                 // NOLINT
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

struct TextLinesOptions {
  /// "", "GZIP", "ZLIB", "ZSTD", or "auto" (gzip and zstd).
  std::string compression = "";
  std::int64_t num_parallel_reads = kAutotune;
  /// Lines at the start of each file that are passed over.
  std::int64_t skip_lines = 0;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  std::string name = "";
};

struct FixedLengthOptions {
  std::int64_t header_bytes = 0;
  std::int64_t footer_bytes = 0;
  std::string compression = "";
  std::int64_t num_parallel_reads = kAutotune;
  /// Random access to plain files. Their sizes are read when the graph is
  /// built.
  UseIndex index = UseIndex::kAuto;
  std::string name = "";
};

struct CsvOptions {
  /// All fields of a record, in order. Empty: names from the first record of
  /// the first file (with `header`), int64, float32 or string from its first
  /// rows, and 0 or "" for what is missing; a file with another header is an
  /// error then. Where a column says its place (`index`), fields that no column
  /// wants are passed over.
  std::vector<CsvColumn> columns = {};
  /// Names of those that are wanted, in that order; empty: all.
  std::vector<std::string> select_columns = {};
  /// The first record of each file is no data.
  bool header = true;
  char delimiter = ',';
  bool use_quote_delim = true;
  std::string na_value = "";
  std::string compression = "";
  std::int64_t num_parallel_reads = kAutotune;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  std::string name = "";
};

struct JsonlOptions {
  std::string compression = "";
  std::int64_t num_parallel_reads = kAutotune;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  std::string name = "";
};

struct TarOptions {
  /// Fields that each sample must have; empty: whatever it has, and the spec is
  /// unknown.
  std::vector<std::string> fields = {};
  std::string compression = "";
  std::int64_t num_parallel_reads = kAutotune;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  std::string name = "";
};

struct ImageFolderOptions {
  /// With the dot or without it.
  std::vector<std::string> extensions = {".jpg", ".jpeg", ".png",
                                         ".bmp", ".gif",  ".webp"};
  std::string name = "";
};

}  // namespace penstock

#pragma once

#include <string>
#include <vector>

#include "penstock/formats/compression.h"
#include "penstock/formats/csv.h"
#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

struct CsvOptions {
  /// Of all fields, in order.
  std::vector<CsvColumn> columns;
  /// Names of those that are wanted; empty: all.
  std::vector<std::string> select_columns;
  bool header = true;
  /// What each file's header must be; empty: anything.
  std::vector<std::string> header_names;
  CsvFormat format;
  Compression compression = Compression::kNone;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  int max_parallel = 0;
};

/// The records of the files that the input names, as dicts of scalars.
StatusOr<std::shared_ptr<const Operator>> make_csv(
    const CsvOptions& options, FileSystem& fs = FileSystem::local());

/// Names from the first record of `path`, dtypes from its first rows.
StatusOr<std::vector<CsvColumn>> infer_columns(FileSystem& fs,
                                               const std::string& path,
                                               const CsvOptions& options);

}  // namespace penstock::ops

// One file cut into records, in order.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "penstock/formats/compression.h"
#include "penstock/formats/splitter.h"
#include "penstock/graph/operator.h"
#include "penstock/io/file.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

/// How the files of an operator are read. Shared by all of them.
struct RecordFormat {
  std::string op;
  std::shared_ptr<const Splitter> splitter;
  Compression compression = Compression::kNone;
  /// For kAuto, where the format itself tells that a stream that begins so is
  /// not compressed.
  bool (*plain)(std::string_view first_bytes) = nullptr;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  /// Elements are (record, its offset in the uncompressed file).
  bool with_offsets = false;
  FileSystem* fs = &FileSystem::local();
  /// What changes the records, besides the files: part of the fingerprint.
  std::string identity;
};
using RecordFormatRef = std::shared_ptr<const RecordFormat>;

/// A dataset of the records of `path`: strings, with_offsets pairs.
std::shared_ptr<const Operator> make_record_file(RecordFormatRef format,
                                                 std::string path);

/// What is done with the records behind the splitting.
struct RecordParts {
  std::shared_ptr<const Transform> transform = nullptr;
  Spec spec = Spec::tensor(DType::kString, PartialShape(Shape{}));
  /// For explain(), behind the name: "(files)".
  std::string arguments = "(files)";
  /// Why they are read in order, where others are read by index.
  std::string in_order = {};
};

/// The records of the files that the input names, one file after the other;
/// some are opened ahead. At most `max_parallel` are being opened at once (0:
/// no cap).
StatusOr<std::shared_ptr<const Operator>> make_record_files(
    RecordFormatRef format, RecordParts parts, int max_parallel = 0);

}  // namespace penstock::ops

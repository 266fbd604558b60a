#pragma once

#include <string>
#include <vector>

#include "penstock/formats/compression.h"
#include "penstock/formats/tfrecord_index.h"
#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

enum class UseIndex : std::uint8_t {
  kAuto,    // where all files are plain and on this machine
  kAlways,  // an error where it is not possible
  kNever,
};

struct TFRecordOptions {
  Compression compression = Compression::kNone;
  int max_parallel = 0;
  bool verify = true;
  UseIndex index = UseIndex::kAuto;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
};

struct TFRecordByIndex {
  std::shared_ptr<const Operator> op;  // null: there can be no index
  std::string in_order;                // and why
};

/// Records by index, unless kAuto finds that there can be none. Reads the
/// lengths of all records, or the indexes that were kept.
StatusOr<TFRecordByIndex> make_indexed_tfrecord(
    const std::vector<std::string>& files, const TFRecordOptions& options,
    FileSystem& fs = FileSystem::local());

/// Records of the files that the input names, in order, and why.
StatusOr<std::shared_ptr<const Operator>> make_tfrecord(
    const TFRecordOptions& options, std::string in_order,
    FileSystem& fs = FileSystem::local());

/// The index of a plain file: as kept, or by a pass over the lengths.
StatusOr<tfrecord::Index> load_index(FileSystem& fs, const std::string& path,
                                     std::int64_t max_record_bytes);
/// By a pass over the lengths.
StatusOr<tfrecord::Index> build_index(FileSystem& fs, const std::string& path,
                                      std::int64_t max_record_bytes);
/// Where the index of `path` lies beside it: hidden, so that no pattern for the
/// records matches it.
std::string index_path(const std::string& path);
Status save_index(FileSystem& fs, const std::string& path,
                  const tfrecord::Index& index, const std::string& to);

}  // namespace penstock::ops

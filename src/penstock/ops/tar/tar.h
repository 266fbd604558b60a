#pragma once

#include <string>
#include <vector>

#include "penstock/formats/compression.h"
#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

struct TarOptions {
  /// Fields of a sample; empty: whatever each sample has.
  std::vector<std::string> fields;
  Compression compression = Compression::kNone;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  int max_parallel = 0;
};

/// The samples of tar files (WebDataset): dicts of "__key__" and the bytes of
/// each field.
StatusOr<std::shared_ptr<const Operator>> make_tar(
    const TarOptions& options, FileSystem& fs = FileSystem::local());

}  // namespace penstock::ops

#pragma once

#include <string>
#include <vector>

#include "penstock/formats/compression.h"
#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

struct FixedLengthOptions {
  std::int64_t record_bytes = 0;
  std::int64_t header_bytes = 0;
  std::int64_t footer_bytes = 0;
  Compression compression = Compression::kNone;
  int max_parallel = 0;
};

/// Records of the files that the input names.
StatusOr<std::shared_ptr<const Operator>> make_fixed_length_records(
    const FixedLengthOptions& options, FileSystem& fs = FileSystem::local());

/// The same by index; plain files only. Looks at their sizes.
StatusOr<std::shared_ptr<const Operator>> make_indexed_fixed_length_records(
    const std::vector<std::string>& files, const FixedLengthOptions& options,
    FileSystem& fs = FileSystem::local());

}  // namespace penstock::ops

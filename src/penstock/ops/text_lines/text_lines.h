#pragma once

#include "penstock/formats/compression.h"
#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

struct TextLinesOptions {
  Compression compression = Compression::kNone;
  std::int64_t skip_lines = 0;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  int max_parallel = 0;
};

/// The lines of the files that the input names, without their ends.
StatusOr<std::shared_ptr<const Operator>> make_text_lines(
    const TextLinesOptions& options, FileSystem& fs = FileSystem::local());

}  // namespace penstock::ops

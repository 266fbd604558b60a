#pragma once

#include <vector>

#include "penstock/formats/compression.h"
#include "penstock/formats/json_lines.h"
#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

struct JsonlOptions {
  std::vector<JsonField> fields;
  Compression compression = Compression::kNone;
  std::int64_t max_record_bytes = std::int64_t{1} << 30;
  int max_parallel = 0;
};

/// The objects in the lines of the files that the input names, as dicts.
StatusOr<std::shared_ptr<const Operator>> make_jsonl(
    const JsonlOptions& options, FileSystem& fs = FileSystem::local());

}  // namespace penstock::ops

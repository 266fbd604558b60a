#include "penstock/formats/splitter.h"

namespace penstock {

std::string record_place(std::int64_t record, std::int64_t offset) {
  return absl::StrCat("record ", record, " at byte ", offset, ": ");
}

Status record_too_large(std::int64_t size, std::int64_t limit) {
  return make_error(StatusCode::kResourceExhausted, "has ", size,
                    " bytes or more, max_record_bytes is ", limit);
}

}  // namespace penstock

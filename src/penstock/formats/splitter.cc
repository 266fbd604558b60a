#include "penstock/formats/splitter.h"

namespace penstock {

std::size_t text_begin(const SplitInput& in) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  return in.offset == 0 && in.bytes.starts_with(kByteOrderMark)
             ? kByteOrderMark.size()
             : 0;
}

std::string record_place(std::int64_t record, std::int64_t offset) {
  return absl::StrCat("record ", record, " at byte ", offset, ": ");
}

Status record_too_large(std::int64_t size, std::int64_t limit) {
  return make_error(StatusCode::kResourceExhausted, "has ", size,
                    " bytes or more, max_record_bytes is ", limit);
}

}  // namespace penstock

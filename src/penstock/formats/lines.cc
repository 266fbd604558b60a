#include "penstock/formats/lines.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

void LineSplitter::split(const SplitInput& in, SplitOutput& out) const {
  const char* const base = in.bytes.data();
  const std::size_t size = in.bytes.size();
  std::size_t at = skip_blank_ ? text_begin(in) : 0;
  std::int64_t payload = 0;
  std::int64_t skip = in.offset == 0 ? skip_ : 0;
  while (static_cast<std::int64_t>(out.rows.size()) < in.max_rows &&
         payload < in.max_payload && at < size) {
    const auto* newline =
        static_cast<const char*>(std::memchr(base + at, '\n', size - at));
    if (newline == nullptr && !in.at_end) break;
    std::size_t end =
        newline == nullptr ? size : static_cast<std::size_t>(newline - base);
    const std::size_t next = newline == nullptr ? size : end + 1;
    if (end > at && base[end - 1] == '\r') --end;
    if (skip > 0) {
      --skip;
      at = next;
      continue;
    }
    if (skip_blank_ && blank({base + at, end - at})) {
      at = next;
      continue;
    }
    SplitRow row{at, end - at, next, {}};
    if (static_cast<std::int64_t>(row.size) > in.max_record_bytes) {
      row.error = annotate(
          record_too_large(static_cast<std::int64_t>(row.size),
                           in.max_record_bytes),
          record_place(in.record + static_cast<std::int64_t>(out.rows.size()),
                       in.offset + static_cast<std::int64_t>(at)));
    }
    payload += static_cast<std::int64_t>(row.size) + 1;
    out.rows.push_back(std::move(row));
    at = next;
  }
  // Lines to skip are skipped together with the first row, or not at all: what
  // was consumed decides whether the file still stands at its start.
  if (in.offset == 0 && out.rows.empty() && !in.at_end) return;
  out.consumed = at;
}

void FixedSplitter::split(const SplitInput& in, SplitOutput& out) const {
  std::int64_t at = 0;
  const auto size = static_cast<std::int64_t>(in.bytes.size());
  if (in.offset == 0 && header_ > 0) {
    if (size < header_) {
      if (in.at_end) {
        out.fail(0, absl::DataLossError(
                        absl::StrCat("truncated: the header has ", header_,
                                     " bytes, the file ", size)));
      }
      out.needed = static_cast<std::size_t>(header_);
      return;
    }
    at = header_;
  }
  std::int64_t payload = 0;
  while (static_cast<std::int64_t>(out.rows.size()) < in.max_rows &&
         payload < in.max_payload) {
    const std::int64_t left = size - at;
    if (left < record_ + footer_) {
      if (!in.at_end) break;
      if (left == footer_) {
        // With rows before it the footer waits for the next call: consumed
        // together, it would look cut off then.
        if (out.rows.empty()) at = size;
      } else {
        out.fail(static_cast<std::size_t>(at),
                 annotate(absl::DataLossError(absl::StrCat(
                              "truncated: needs ", record_ + footer_,
                              " bytes, the file has ", left, " more")),
                          record_place(in.record + static_cast<std::int64_t>(
                                                       out.rows.size()),
                                       in.offset + at)));
      }
      break;
    }
    out.rows.push_back({static_cast<std::size_t>(at),
                        static_cast<std::size_t>(record_),
                        static_cast<std::size_t>(at + record_),
                        {}});
    payload += record_;
    at += record_;
  }
  out.consumed = static_cast<std::size_t>(at);
  out.needed = static_cast<std::size_t>(record_ + footer_);
}

}  // namespace penstock

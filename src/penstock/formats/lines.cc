#include "penstock/formats/lines.h"

#include <algorithm>
#include <cstring>

namespace penstock {
namespace {

bool blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

const char* find_newline(std::string_view bytes, std::size_t at) {
  if (at == bytes.size()) return nullptr;
  return static_cast<const char*>(
      std::memchr(bytes.data() + at, '\n', bytes.size() - at));
}

Status line_too_large(std::int64_t size, const SplitInput& in,
                      std::int64_t record, std::int64_t offset) {
  return annotate(record_too_large(size, in.max_record_bytes),
                  record_place(record, offset));
}

}  // namespace

void LineSplitter::split(const SplitInput& in, SplitOutput& out) const {
  const char* const base = in.bytes.data();
  const std::size_t size = in.bytes.size();
  SplitPassing& passing = out.passing;
  std::size_t at = 0;
  if (in.offset == 0 && !passing.active) {
    if (skip_blank_) at = text_begin(in);
    if (skip_ > 0) passing.start(0, absl::OkStatus(), skip_);
  }
  // Behind the end of a line that is refused, or of the last to skip.
  while (passing.active) {
    const char* const newline = find_newline(in.bytes, at);
    if (newline == nullptr && !in.at_end) {
      // The end may begin with the last byte.
      out.consumed = size - (at < size && base[size - 1] == '\r' ? 1 : 0);
      return;
    }
    const std::size_t end =
        newline == nullptr ? size : static_cast<std::size_t>(newline - base);
    at = newline == nullptr ? size : end + 1;
    if (newline != nullptr && --passing.count > 0) continue;
    if (!passing.error.ok()) {
      const bool both = end > 0 && base[end - 1] == '\r';
      passing.error =
          line_too_large(in.offset + static_cast<std::int64_t>(end) -
                             (both ? 1 : 0) - passing.begin,
                         in, in.record, passing.begin);
    }
    out.passed(at);
  }
  std::int64_t payload = 0;
  while (static_cast<std::int64_t>(out.rows.size()) < in.max_rows &&
         payload < in.max_payload && at < size) {
    const char* const newline = find_newline(in.bytes, at);
    const std::int64_t record =
        in.record + static_cast<std::int64_t>(out.rows.size());
    const std::int64_t offset = in.offset + static_cast<std::int64_t>(at);
    if (newline == nullptr && !in.at_end) {
      // More than what is allowed and an end of two bytes.
      if (static_cast<std::int64_t>(size - at) <= in.max_record_bytes + 1) {
        break;
      }
      if (!out.rows.empty()) break;  // as its own piece
      passing.start(offset,
                    line_too_large(in.max_record_bytes + 1, in, record, offset),
                    1);
      out.consumed = size - (base[size - 1] == '\r' ? 1 : 0);
      return;
    }
    std::size_t end =
        newline == nullptr ? size : static_cast<std::size_t>(newline - base);
    const std::size_t next = newline == nullptr ? size : end + 1;
    if (end > at && base[end - 1] == '\r') --end;
    SplitRow row{at, end - at, next, {}};
    const auto row_size = static_cast<std::int64_t>(row.size);
    if (row_size > in.max_record_bytes) {
      row.error = line_too_large(row_size, in, record, offset);
    } else if (skip_blank_ && blank({base + at, end - at})) {
      at = next;
      continue;
    }
    payload += row_size + 1;
    out.rows.push_back(std::move(row));
    at = next;
  }
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

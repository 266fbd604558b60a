#include "penstock/formats/tfrecord.h"

#include <algorithm>
#include <cstring>
#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

#include "absl/strings/str_format.h"
#include "penstock/base/codec.h"
#include "penstock/formats/compression.h"

namespace penstock::tfrecord {
namespace {

template <class T>
T load(const char* p) {
  static_assert(std::endian::native == std::endian::little);
  T v;
  std::memcpy(&v, p, sizeof(T));
  return v;
}

template <class T>
void append(T v, std::string& out) {
  out.append(reinterpret_cast<const char*>(&v), sizeof(T));
}

Status bad_checksum(std::string_view what, std::uint32_t stored,
                    std::uint32_t computed) {
  return absl::DataLossError(
      absl::StrFormat("corrupt %s: its checksum is %08x, stored is %08x",
                      to_absl(what), computed, stored));
}

std::uint32_t mask(std::uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

}  // namespace

std::uint32_t masked_crc(std::string_view bytes) { return mask(crc32c(bytes)); }

void append_record(std::string_view payload, std::string& out) {
  const std::uint64_t length = payload.size();
  const std::size_t at = out.size();
  append(length, out);
  append(masked_crc({out.data() + at, 8}), out);
  out.append(payload);
  append(masked_crc(payload), out);
}

StatusOr<std::uint64_t> read_length(std::string_view header) {
  const auto stored = load<std::uint32_t>(header.data() + 8);
  const std::uint32_t computed = masked_crc(header.substr(0, 8));
  if (stored != computed) return bad_checksum("length", stored, computed);
  return load<std::uint64_t>(header.data());
}

bool begins_with_record(std::string_view bytes) {
  return bytes.size() >= kHeaderBytes &&
         read_length(bytes.substr(0, kHeaderBytes)).ok();
}

Status check_payload(std::string_view payload, std::string_view footer) {
  const auto stored = load<std::uint32_t>(footer.data());
  const std::uint32_t computed = masked_crc(payload);
  if (stored == computed) return absl::OkStatus();
  return bad_checksum("payload", stored, computed);
}

namespace {

Status check_framed(std::string_view framed) {
  const std::size_t end = framed.size() - kFooterBytes;
  return check_payload(framed.substr(kHeaderBytes, end - kHeaderBytes),
                       framed.substr(end));
}

std::size_t first_damaged_anywhere(const char* bytes,
                                   const std::int64_t* offsets,
                                   std::size_t from, std::size_t n,
                                   bool verify) {
  for (std::size_t i = from; i < n; ++i) {
    const std::string_view framed(
        bytes + offsets[i],
        static_cast<std::size_t>(offsets[i + 1] - offsets[i]));
    const auto length = read_length(framed.substr(0, kHeaderBytes));
    if (!length.ok() || *length + kFrameBytes != framed.size()) return i;
    if (verify && !check_framed(framed).ok()) return i;
  }
  return n;
}

#if defined(__x86_64__)
// Below this many bytes the instruction alone is faster than ISA-L, whose
// loops have a head and a tail; chains of neighbouring records overlap.
constexpr std::size_t kShort = 256;

__attribute__((target("sse4.2"))) inline std::uint32_t crc32c_sse42(
    const char* p, std::size_t n) {
  std::uint64_t crc = 0xffffffffu;
  const char* const words = p + (n & ~std::size_t{7});
  for (; p < words; p += 8) crc = _mm_crc32_u64(crc, load<std::uint64_t>(p));
  auto rest = static_cast<std::uint32_t>(crc);
  if ((n & 4) != 0) {
    rest = _mm_crc32_u32(rest, load<std::uint32_t>(p));
    p += 4;
  }
  if ((n & 2) != 0) {
    rest = _mm_crc32_u16(rest, load<std::uint16_t>(p));
    p += 2;
  }
  if ((n & 1) != 0) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(*p));
  return ~rest;
}

__attribute__((target("sse4.2"))) std::size_t first_damaged_sse42(
    const char* bytes, const std::int64_t* offsets, std::size_t from,
    std::size_t n, bool verify) {
  for (std::size_t i = from; i < n; ++i) {
    const char* p = bytes + offsets[i];
    const std::size_t length =
        static_cast<std::size_t>(offsets[i + 1] - offsets[i]) - kFrameBytes;
    const char* const payload = p + kHeaderBytes;
    bool fits = load<std::uint64_t>(p) == length;
    fits &= mask(crc32c_sse42(p, 8)) == load<std::uint32_t>(p + 8);
    if (verify) {
      const std::uint32_t crc = length < kShort ? crc32c_sse42(payload, length)
                                                : crc32c({payload, length});
      fits &= mask(crc) == load<std::uint32_t>(payload + length);
    }
    if (!fits) return i;
  }
  return n;
}
#endif

}  // namespace

std::size_t first_damaged(const char* bytes, const std::int64_t* offsets,
                          std::size_t from, std::size_t n, bool verify) {
#if defined(__x86_64__)
  static const auto find = __builtin_cpu_supports("sse4.2")
                               ? first_damaged_sse42
                               : first_damaged_anywhere;
  return find(bytes, offsets, from, n, verify);
#else
  return first_damaged_anywhere(bytes, offsets, from, n, verify);
#endif
}

std::size_t find_record(std::string_view bytes, std::size_t from,
                        std::int64_t max_record_bytes) {
  for (std::size_t at = from; at + kHeaderBytes <= bytes.size(); ++at) {
    const char* const p = bytes.data() + at;
    if (load<std::uint64_t>(p) <=
            static_cast<std::uint64_t>(max_record_bytes) &&
        masked_crc({p, 8}) == load<std::uint32_t>(p + 8)) {
      return at;
    }
  }
  return std::string_view::npos;
}

std::string first_record_hint(std::string_view bytes) {
  const std::string compressed = compression_hint(bytes);
  return compressed.empty() ? "; is it a TFRecord file?" : compressed;
}

Status truncated(std::uint64_t needed, std::uint64_t left) {
  return absl::DataLossError(absl::StrCat(
      "truncated: needs ", needed, " bytes, the file has ", left, " more"));
}

void RecordSplitter::split(const SplitInput& in, SplitOutput& out) const {
  std::size_t at = 0;
  std::int64_t payload = 0;
  const std::size_t size = in.bytes.size();
  const auto place = [&] {
    return record_place(in.record + static_cast<std::int64_t>(out.rows.size()),
                        in.offset + static_cast<std::int64_t>(at));
  };
  if (out.passing.active) {
    const std::int64_t last =
        out.passing.begin + kSearchedBytes +
        std::min(in.max_record_bytes, INT64_MAX / 2 - out.passing.begin);
    const auto searched = static_cast<std::size_t>(std::clamp<std::int64_t>(
        last - in.offset, 0, static_cast<std::int64_t>(size)));
    at = in.jumped ? 0
                   : find_record(in.bytes.substr(0, searched), 0,
                                 in.max_record_bytes);
    if (at == std::string_view::npos) {
      out.stop = in.at_end || searched < size;
      // A header may begin with the last bytes.
      out.consumed = in.at_end ? size : size - std::min(size, kHeaderBytes - 1);
      if (out.stop) out.passed(size);
      return;
    }
    out.passed(at);
  }
  while (static_cast<std::int64_t>(out.rows.size()) < in.max_rows &&
         payload < in.max_payload) {
    out.consumed = at;
    const std::size_t left = size - at;
    if (left < kHeaderBytes) {
      if (in.at_end && left > 0) {
        out.fail(at, annotate(truncated(kFrameBytes, left), place()));
      }
      out.needed = kFrameBytes;
      return;
    }
    const auto length = read_length(in.bytes.substr(at, kHeaderBytes));
    const bool whole_is_here =
        length.ok() && *length <= left && left - *length >= kFrameBytes;
    Status refused;
    if (!length.ok()) {
      refused = annotate(length.status(), place());
      if (in.offset + static_cast<std::int64_t>(at) == 0) {
        refused = make_error(refused.code(), refused.message(),
                             first_record_hint(in.bytes));
      }
    } else if (*length > static_cast<std::uint64_t>(in.max_record_bytes)) {
      const auto shown = static_cast<std::int64_t>(
          std::min<std::uint64_t>(*length, INT64_MAX));
      refused = annotate(record_too_large(shown, in.max_record_bytes), place());
    } else if (!whole_is_here) {
      out.needed = *length + kFrameBytes;
      if (!in.at_end) return;
      refused = annotate(truncated(out.needed, left), place());
    }
    if (!refused.ok()) {
      if (whole_is_here) {
        out.rows.push_back(
            {at, 0, at + *length + kFrameBytes, std::move(refused)});
        at += *length + kFrameBytes;
        continue;
      }
      if (!out.rows.empty()) return;  // as its own piece
      // Where the next one is the length says, unless it is damaged, or a lie
      // that leads out of the file.
      const std::int64_t begin = in.offset + static_cast<std::int64_t>(at);
      out.consumed = at + 1;
      if (!length.ok()) {
        // Said at once: the search may go through a gigabyte.
        out.rows.push_back({at, 0, at + 1, std::move(refused)});
        out.passing.start(begin, absl::OkStatus());
        out.passing.told = true;
        return;
      }
      out.passing.start(begin, std::move(refused));
      if (!in.at_end &&
          *length <
              static_cast<std::uint64_t>(INT64_MAX - begin) - kFrameBytes) {
        out.jump = begin + static_cast<std::int64_t>(*length + kFrameBytes);
      }
      return;
    }
    const std::size_t whole = *length + kFrameBytes;
    SplitRow row{at + kHeaderBytes, *length, at + whole, {}};
    if (verify_) {
      row.error = check_framed(in.bytes.substr(at, whole));
      if (!row.error.ok()) row.error = annotate(row.error, place());
    }
    out.rows.push_back(std::move(row));
    payload += static_cast<std::int64_t>(*length);
    at += whole;
  }
  out.consumed = at;
}

}  // namespace penstock::tfrecord

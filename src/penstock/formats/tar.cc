#include "penstock/formats/tar.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace penstock {
namespace {

constexpr std::size_t kBlock = 512;

std::string_view field_of(std::string_view header, std::size_t at,
                          std::size_t size) {
  const std::string_view field = header.substr(at, size);
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

/// A number in octal, or in base 256 where the first bit is set.
bool number_of(std::string_view field, std::uint64_t& out) {
  out = 0;
  if (!field.empty() && (field[0] & 0x80) != 0) {
    for (std::size_t i = 1; i < field.size(); ++i) {
      if ((out >> 56) != 0) return false;
      out = out << 8 | static_cast<unsigned char>(field[i]);
    }
    return true;
  }
  std::size_t i = 0;
  while (i < field.size() && field[i] == ' ') ++i;
  const std::size_t first = i;
  for (; i < field.size() && field[i] >= '0' && field[i] <= '7'; ++i) {
    if ((out >> 60) != 0) return false;
    out = out << 3 | static_cast<std::uint64_t>(field[i] - '0');
  }
  if (i == first && i < field.size() && field[i] != '\0') return false;
  return i == field.size() || field[i] == ' ' || field[i] == '\0';
}

bool all_zero(std::string_view block) {
  return block.find_first_not_of('\0') == std::string_view::npos;
}

bool checksum_fits(std::string_view header) {
  std::uint64_t stored = 0;
  if (!number_of(header.substr(148, 8), stored)) return false;
  std::uint64_t sum = 8 * ' ';
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (i < 148 || i >= 156) sum += static_cast<unsigned char>(header[i]);
  }
  return sum == stored;
}

std::size_t padded(std::uint64_t size) {
  return static_cast<std::size_t>((size + kBlock - 1) / kBlock * kBlock);
}

/// The path a pax header gives, or nothing.
std::string pax_path(std::string_view records) {
  std::string path;
  while (!records.empty()) {
    std::size_t length = 0;
    const auto parsed = std::from_chars(
        records.data(), records.data() + records.size(), length);
    const auto digits = static_cast<std::size_t>(parsed.ptr - records.data());
    if (parsed.ec != std::errc() || length > records.size() ||
        length < digits + 2 || records[digits] != ' ') {
      break;
    }
    const std::string_view record =
        records.substr(digits + 1, length - digits - 2);
    if (record.substr(0, 5) == "path=") path = record.substr(5);
    records.remove_prefix(length);
  }
  return path;
}

/// One file with the headers in front of it that name it.
struct Member {
  enum class Kind { kFile, kOther, kEnd, kIncomplete, kDamaged };
  Kind kind = Kind::kIncomplete;
  TarFile file;
  std::size_t end = 0;     // where the next one begins
  std::size_t needed = 0;  // kIncomplete: bytes from its start on
};

Member read_member(std::string_view bytes, std::size_t start) {
  Member member;
  std::string long_name;
  std::size_t at = start;
  for (;;) {
    if (bytes.size() - at < kBlock) {
      member.needed = at + kBlock - start;
      return member;
    }
    const std::string_view header = bytes.substr(at, kBlock);
    if (all_zero(header)) {
      member.kind = Member::Kind::kEnd;
      member.end = at + kBlock;
      return member;
    }
    std::uint64_t size = 0;
    if (!checksum_fits(header) || !number_of(header.substr(124, 12), size) ||
        size > (std::uint64_t{1} << 50)) {
      member.kind = Member::Kind::kDamaged;
      return member;
    }
    const char type = header[156];
    const bool meta = type == 'L' || type == 'x' || type == 'g' || type == 'K';
    const bool regular = type == '0' || type == '\0' || type == '7';
    // Links, directories and devices have no bytes, whatever they say.
    const bool empty = type >= '1' && type <= '6';
    const std::size_t body = empty ? 0 : static_cast<std::size_t>(size);
    if (bytes.size() - at - kBlock < padded(body)) {
      // The last file may lack its padding, but nothing else.
      if (!regular || bytes.size() - at - kBlock < body) {
        member.needed = at + kBlock + padded(body) - start;
        return member;
      }
    }
    const std::string_view content = bytes.substr(at + kBlock, body);
    const std::size_t next = std::min(bytes.size(), at + kBlock + padded(body));
    if (meta) {
      if (type == 'L') {
        long_name =
            content.substr(0, std::min(content.find('\0'), content.size()));
      } else if (type == 'x') {
        if (std::string path = pax_path(content); !path.empty()) {
          long_name = std::move(path);
        }
      }
      at = next;
      continue;
    }
    member.kind = regular ? Member::Kind::kFile : Member::Kind::kOther;
    member.file.begin = at + kBlock;
    member.file.size = body;
    member.end = next;
    if (!long_name.empty()) {
      member.file.name = std::move(long_name);
    } else {
      const std::string_view prefix =
          header.substr(257, 5) == "ustar" && header[262] == '\0'
              ? field_of(header, 345, 155)
              : std::string_view();
      const std::string_view name = field_of(header, 0, 100);
      if (!prefix.empty()) member.file.name.append(prefix).push_back('/');
      member.file.name.append(name);
    }
    return member;
  }
}

bool leaves_directory(std::string_view name) {
  while (!name.empty()) {
    const std::size_t slash = std::min(name.find('/'), name.size());
    if (name.substr(0, slash) == "..") return true;
    name.remove_prefix(std::min(slash + 1, name.size()));
  }
  return false;
}

}  // namespace

void split_tar_name(std::string_view name, std::string_view& key,
                    std::string_view& field) {
  const std::size_t slash = name.rfind('/');
  const std::size_t last = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', last);
  key = name.substr(0, dot);
  field =
      dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
}

Status read_tar(std::string_view bytes, std::vector<TarFile>& out) {
  out.clear();
  std::size_t at = 0;
  while (at < bytes.size()) {
    Member member = read_member(bytes, at);
    switch (member.kind) {
      case Member::Kind::kEnd:
        return absl::OkStatus();
      case Member::Kind::kDamaged:
        return absl::DataLossError("damaged tar header");
      case Member::Kind::kIncomplete:
        return absl::DataLossError("truncated tar");
      case Member::Kind::kFile:
        out.push_back(std::move(member.file));
        break;
      case Member::Kind::kOther:
        break;
    }
    at = member.end;
  }
  return absl::OkStatus();
}

void TarSplitter::split(const SplitInput& in, SplitOutput& out) const {
  std::size_t at = 0;
  std::int64_t payload = 0;
  while (static_cast<std::int64_t>(out.rows.size()) < in.max_rows &&
         payload < in.max_payload) {
    // A sample: files until one has another key.
    std::size_t begin = at;
    std::size_t end = at;
    std::string key;
    bool any = false;
    bool done = false;
    Status refused;
    const auto place = [&](std::size_t where) {
      return record_place(
          in.record + static_cast<std::int64_t>(out.rows.size()),
          in.offset + static_cast<std::int64_t>(where));
    };
    const auto finish_sample = [&] {
      const auto size = static_cast<std::int64_t>(end - begin);
      if (size > in.max_record_bytes) {
        refused =
            annotate(record_too_large(size, in.max_record_bytes), place(begin));
      }
      out.rows.push_back({begin, end - begin, end, std::move(refused)});
    };
    while (!done) {
      if (end == in.bytes.size() && in.at_end) break;
      const Member member = read_member(in.bytes, end);
      switch (member.kind) {
        case Member::Kind::kIncomplete: {
          const std::size_t needed = end - begin + member.needed;
          if (static_cast<std::int64_t>(needed) > in.max_record_bytes) {
            out.fail(begin, annotate(record_too_large(
                                         static_cast<std::int64_t>(needed),
                                         in.max_record_bytes),
                                     place(begin)));
            return;
          }
          if (in.at_end) {
            // The files before it are whole.
            if (any) finish_sample();
            out.fail(end, annotate(absl::DataLossError(absl::StrCat(
                                       "truncated: needs ", member.needed,
                                       " bytes, the file has ",
                                       in.bytes.size() - end, " more")),
                                   place(end)));
            return;
          }
          out.consumed = begin;
          out.needed = needed;
          return;
        }
        case Member::Kind::kDamaged:
          if (any) finish_sample();
          out.fail(end, annotate(absl::DataLossError(
                                     end == 0 && in.offset == 0
                                         ? "damaged header; is it a tar file?"
                                         : "damaged header"),
                                 place(end)));
          return;
        case Member::Kind::kEnd:
          if (any) finish_sample();
          out.stop = true;
          return;
        case Member::Kind::kOther:
          if (!any) begin = member.end;
          end = member.end;
          break;
        case Member::Kind::kFile: {
          std::string_view own;
          std::string_view field;
          split_tar_name(member.file.name, own, field);
          if (any && own != key) {
            done = true;
            break;
          }
          if (leaves_directory(member.file.name)) {
            refused = annotate(invalid_argument("the name '", member.file.name,
                                                "' leads out of the archive"),
                               place(begin));
          }
          key = own;
          any = true;
          end = member.end;
          break;
        }
      }
    }
    if (!any) {
      out.consumed = end;
      return;
    }
    finish_sample();
    payload += static_cast<std::int64_t>(end - begin);
    at = end;
    out.consumed = at;
  }
}

}  // namespace penstock

#include "penstock/formats/tar.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "penstock/formats/compression.h"

namespace penstock {
namespace {

constexpr std::size_t kBlock = 512;
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 50;
// Whether more of a map of holes follows: in a header of GNU's old format, and
// in the blocks behind it.
constexpr std::size_t kHolesGoOn = 482;
constexpr std::size_t kMoreHolesGoOn = 504;
// All that stands in front of a file to name it.
constexpr std::size_t kMaxMeta = std::size_t{1} << 20;
// Headers and padding do not count for max_record_bytes, but are held: this
// much is room for the names of a sample and for a thousand files.
constexpr std::int64_t kMaxOverhead = 2 * std::int64_t{kMaxMeta};
// Behind a damaged header so much more than the largest sample is searched for
// the next one.
constexpr std::int64_t kSearched = std::int64_t{16} << 20;

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

/// What a pax header says of the file behind it.
struct Pax {
  std::string path;
  std::optional<std::uint64_t> size;
  bool sparse = false;
};

void read_pax(std::string_view records, Pax& pax) {
  std::string sparse_name;
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
    const std::size_t equals = std::min(record.find('='), record.size());
    const std::string_view key = record.substr(0, equals);
    const std::string_view value =
        record.substr(std::min(equals + 1, record.size()));
    if (key == "path" && !value.empty()) pax.path = value;
    if (key == "GNU.sparse.name") sparse_name = value;
    if (key.starts_with("GNU.sparse.")) pax.sparse = true;
    std::uint64_t size = 0;
    if (key == "size" &&
        std::from_chars(value.data(), value.data() + value.size(), size).ec ==
            std::errc()) {
      pax.size = size;
    }
    records.remove_prefix(length);
  }
  if (!sparse_name.empty()) pax.path = std::move(sparse_name);
}

/// One file with the headers in front of it that name it.
struct Member {
  enum class Kind { kFile, kOther, kEnd, kIncomplete, kDamaged };
  Kind kind = Kind::kIncomplete;
  TarFile file;
  std::size_t end = 0;     // where the next one begins
  std::size_t needed = 0;  // kIncomplete: bytes from its start on
  /// kIncomplete: all but its bytes is there; `file`, `end` and `regular` tell.
  bool named = false;
  bool regular = false;
  bool sparse = false;  // its bytes are those between its holes
};

std::string name_of(std::string_view header) {
  std::string name;
  const std::string_view prefix = header.size() == kBlock &&
                                          header.substr(257, 5) == "ustar" &&
                                          header[262] == '\0'
                                      ? field_of(header, 345, 155)
                                      : std::string_view();
  if (!prefix.empty()) name.append(prefix).push_back('/');
  return name.append(
      field_of(header, 0, std::min<std::size_t>(100, header.size())));
}

Member read_member(std::string_view bytes, std::size_t start) {
  Member member;
  Pax pax;
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
    if (!checksum_fits(header) || !number_of(header.substr(124, 12), size)) {
      member.kind = Member::Kind::kDamaged;
      return member;
    }
    const char type = header[156];
    const bool meta = type == 'L' || type == 'x' || type == 'g' || type == 'K';
    const bool old_sparse = type == 'S';
    const bool regular =
        type == '0' || type == '\0' || type == '7' || old_sparse;
    if (!meta && pax.size) size = std::min(*pax.size, kMaxSize + 1);
    if (size > kMaxSize) {
      member.kind = Member::Kind::kDamaged;
      return member;
    }
    // Links, directories and devices have no bytes, whatever they say.
    const bool empty = type >= '1' && type <= '6';
    const std::size_t body = empty ? 0 : static_cast<std::size_t>(size);
    std::size_t front = kBlock;
    // A map of many holes goes on in blocks of its own.
    for (std::size_t flag = kHolesGoOn; old_sparse; flag = kMoreHolesGoOn) {
      const std::size_t last = at + front - kBlock;
      if (front > kMaxMeta) {
        member.kind = Member::Kind::kDamaged;
        return member;
      }
      if (bytes.size() - last < kBlock) {
        member.needed = last + kBlock - start;
        return member;
      }
      if (bytes[last + flag] == '\0') break;
      front += kBlock;
    }
    const std::size_t end = at + front + padded(body);
    if (meta && end - start > kMaxMeta) {
      member.kind = Member::Kind::kDamaged;
      return member;
    }
    // A file without its padding was cut: more of its sample may be lost.
    const bool whole = bytes.size() >= end;
    if (meta && !whole) {
      member.needed = end - start;
      return member;
    }
    if (meta) {
      const std::string_view content = bytes.substr(at + kBlock, body);
      if (type == 'L') {
        pax.path =
            content.substr(0, std::min(content.find('\0'), content.size()));
      } else if (type == 'x') {
        read_pax(content, pax);
      }
      at = end;
      continue;
    }
    member.regular = regular;
    member.named = true;
    member.sparse = old_sparse || pax.sparse;
    member.file.begin = at + front;
    member.file.size = body;
    member.file.name =
        !pax.path.empty() ? std::move(pax.path) : name_of(header);
    member.needed = end - start;
    member.end = end;
    if (whole) {
      member.kind = regular ? Member::Kind::kFile : Member::Kind::kOther;
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

bool split_tar_name(std::string_view name, std::string_view& key,
                    std::string_view& field) {
  const std::size_t slash = name.rfind('/');
  const std::size_t last = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t dot = name.find('.', last);
  key = name.substr(0, dot);
  field =
      dot == std::string_view::npos ? std::string_view() : name.substr(dot + 1);
  // As WebDataset has it, but that a hidden file in a folder is none either.
  const std::string_view first = name.substr(0, name.find('/'));
  const bool meta =
      first.size() >= 4 && first.starts_with("__") && first.ends_with("__");
  return !meta && !field.empty() && dot > last;
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

namespace {

enum : std::int64_t { kSample, kJumping, kSearch };  // SplitPassing::count

std::string key_of(std::string_view name) {
  std::string_view key;
  std::string_view field;
  split_tar_name(name, key, field);
  return std::string(key);
}

bool of_sample(const Member& member) {
  std::string_view key;
  std::string_view field;
  return member.regular && split_tar_name(member.file.name, key, field);
}

/// Whether a header that is damaged or cut seems to belong to sample `key`.
bool seems_of(std::string_view header, std::string_view key) {
  const std::string name = name_of(header);
  if (header.size() >= 100) return key_of(name) == key;
  const std::string prefix = absl::StrCat(to_absl(key), ".");
  const std::size_t n = std::min(name.size(), prefix.size());
  return name.substr(0, n) == prefix.substr(0, n);
}

/// The first place from `from` on at which a header lies; npos if none does.
std::size_t find_header(std::string_view bytes, std::size_t from) {
  for (std::size_t at = from; at + kBlock <= bytes.size(); at += kBlock) {
    const std::string_view block = bytes.substr(at, kBlock);
    if (checksum_fits(block) && !all_zero(block)) return at;
  }
  return std::string_view::npos;
}

/// One call of TarSplitter::split().
class TarCut {
 public:
  TarCut(const SplitInput& in, SplitOutput& out) : in_(in), out_(out) {}

  void run() {
    if (out_.passing.active && !pass()) return;
    while (static_cast<std::int64_t>(out_.rows.size()) < in_.max_rows &&
           payload_ < in_.max_payload) {
      if (!sample()) return;
      if (out_.passing.active && !pass()) return;
    }
  }

 private:
  std::int64_t offset(std::size_t at) const {
    return in_.offset + static_cast<std::int64_t>(at);
  }
  std::string place(std::size_t at) const {
    return record_place(
        in_.record + static_cast<std::int64_t>(out_.rows.size()), offset(at));
  }
  std::string first_hint() const {
    const std::string compressed = compression_hint(in_.bytes);
    return compressed.empty() ? "; is it a tar file?" : compressed;
  }
  Status cut_off(std::size_t at, std::size_t needed) const {
    return annotate(
        absl::DataLossError(absl::StrCat(
            "truncated: needs ", needed, " bytes, the file has ",
            in_.bytes.size() - at, " more",
            offset(at) == 0 ? compression_hint(in_.bytes) : std::string())),
        place(at));
  }
  void wait(std::size_t from, std::size_t needed) {
    out_.consumed = from;
    out_.needed = needed;
  }

  /// Cuts one sample at at_. False if nothing more can be cut now.
  bool sample() {
    std::size_t begin = at_;
    std::size_t end = at_;
    std::string key;
    bool any = false;
    std::int64_t files = 0;  // bytes of the sample's files
    Status refused;
    const auto finish = [&] {
      if (any) {
        out_.rows.push_back({begin, end - begin, end, std::move(refused)});
      }
      payload_ += static_cast<std::int64_t>(end - begin);
      at_ = end;
      out_.consumed = at_;
    };
    for (;;) {
      if (end == in_.bytes.size() && in_.at_end) {
        finish();
        return any;
      }
      const Member member = read_member(in_.bytes, end);
      if (member.kind == Member::Kind::kEnd) {
        finish();
        out_.stop = true;
        return false;
      }
      const std::string_view header =
          in_.bytes.substr(end, std::min(kBlock, in_.bytes.size() - end));
      if (member.kind == Member::Kind::kDamaged) {
        if (any && !seems_of(header, key)) {
          finish();
          return true;
        }
        return refuse(
            begin, end,
            annotate(absl::DataLossError(absl::StrCat(
                         "damaged header",
                         offset(end) == 0 ? first_hint() : std::string())),
                     place(end)),
            kSearch, key + '\0' + key_of(name_of(header)));
      }
      const bool whole = member.kind != Member::Kind::kIncomplete;
      if (!whole && !member.named) {
        if (!in_.at_end) {
          wait(begin, end - begin + member.needed);
          return false;
        }
        // A long name stands behind a header of its own.
        if (any && !seems_of(header, key) &&
            in_.bytes.find(key + ".", end) == std::string_view::npos) {
          finish();
          return true;
        }
        out_.fail(begin, cut_off(end, member.needed));
        return false;
      }
      const bool wanted = of_sample(member);
      if (any && !wanted && member.file.size > kMaxMeta) {
        // Not held to see whether the sample goes on behind it.
        finish();
        return true;
      }
      if (whole && !wanted) {
        if (!any) begin = member.end;
        end = member.end;
        continue;
      }
      std::string own = key_of(member.file.name);
      if (any && wanted && own != key) {
        finish();
        return true;
      }
      const auto size = static_cast<std::int64_t>(member.file.size);
      const auto held = static_cast<std::int64_t>(member.end - begin);
      if (wanted) files += size;
      if ((any || wanted) && (files > in_.max_record_bytes ||
                              held - kMaxOverhead > in_.max_record_bytes)) {
        return refuse(begin, end,
                      annotate(record_too_large(
                                   files > in_.max_record_bytes ? files : held,
                                   in_.max_record_bytes),
                               place(begin)),
                      kSample, any ? key : own);
      }
      if (!any && !wanted && !in_.at_end && held > kMaxOverhead) {
        // Passed over without being held.
        if (!out_.rows.empty()) {
          out_.consumed = begin;
          return false;
        }
        out_.passing.start(offset(end), absl::OkStatus(), kSample);
        at_ = end;
        return true;
      }
      if (!whole && in_.at_end) {
        out_.fail(begin, cut_off(end, member.needed));
        return false;
      }
      if (!whole) {
        wait(begin, end - begin + member.needed);
        return false;
      }
      if (leaves_directory(member.file.name)) {
        refused = annotate(invalid_argument("the name '", member.file.name,
                                            "' leads out of the archive"),
                           place(begin));
      } else if (member.sparse) {
        refused = annotate(
            make_error(StatusCode::kUnimplemented, "'", member.file.name,
                       "' is a sparse file, which is not supported: write the "
                       "archive without --sparse"),
            place(begin));
      }
      key = std::move(own);
      any = true;
      end = member.end;
    }
  }

  /// Passes the sample at `begin` over, from its file at `from` on.
  bool refuse(std::size_t begin, std::size_t from, Status status,
              std::int64_t how, std::string key) {
    if (!out_.rows.empty()) {
      out_.consumed = begin;
      return false;  // as its own piece
    }
    out_.passing.start(offset(begin), std::move(status), how);
    out_.passing.key = std::move(key);
    at_ = how == kSearch ? std::min(from + kBlock, in_.bytes.size()) : from;
    return true;
  }

  /// Goes on passing over at at_. False if the end is not here, or final.
  bool pass() {
    SplitPassing& passing = out_.passing;
    const auto end_of_stream = [&] {
      at_ = out_.consumed = in_.bytes.size();
      out_.passed(at_);
      out_.stop = true;
      return false;
    };
    if (passing.count == kSearch) {
      const std::int64_t left =
          passing.begin + kSearched +
          std::min(in_.max_record_bytes, INT64_MAX / 2 - passing.begin) -
          in_.offset;
      const std::string_view near = in_.bytes.substr(
          0, static_cast<std::size_t>(std::clamp<std::int64_t>(
                 left, 0, static_cast<std::int64_t>(in_.bytes.size()))));
      const std::size_t found = find_header(near, at_);
      if (found == std::string_view::npos) {
        if (in_.at_end || near.size() < in_.bytes.size()) {
          return end_of_stream();
        }
        const std::size_t rest = in_.bytes.size() - at_;
        out_.consumed = at_ + rest / kBlock * kBlock;
        return false;
      }
      at_ = found;
      passing.count = kSample;
    }
    if (passing.count == kJumping) {
      if (!in_.jumped && passing.error.ok()) {
        passing = {};
        out_.fail(at_, annotate(absl::DataLossError(
                                    "truncated: a file leads beyond the end"),
                                place(at_)));
        return false;
      }
      if (!in_.jumped) return end_of_stream();
      passing.count = kSample;
    }
    const std::string_view keys = passing.key;
    for (;;) {
      if (at_ == in_.bytes.size() && in_.at_end) break;
      const Member member = read_member(in_.bytes, at_);
      if (member.kind == Member::Kind::kEnd ||
          member.kind == Member::Kind::kDamaged) {
        break;
      }
      if (member.kind == Member::Kind::kIncomplete && !member.named) {
        if (in_.at_end) return end_of_stream();
        wait(at_, member.needed);
        return false;
      }
      if (of_sample(member)) {
        const std::string own = key_of(member.file.name);
        const std::size_t two = keys.find('\0');
        if (own != keys.substr(0, two) &&
            (two == std::string_view::npos || own != keys.substr(two + 1))) {
          break;
        }
      }
      if (member.kind == Member::Kind::kIncomplete) {
        if (in_.at_end) return end_of_stream();
        out_.consumed = at_;
        out_.jump = offset(member.end);
        passing.count = kJumping;
        return false;
      }
      at_ = member.end;
    }
    out_.passed(at_);
    out_.consumed = at_;
    return true;
  }

  const SplitInput& in_;
  SplitOutput& out_;
  std::size_t at_ = 0;
  std::int64_t payload_ = 0;
};

}  // namespace

void TarSplitter::split(const SplitInput& in, SplitOutput& out) const {
  TarCut(in, out).run();
}

}  // namespace penstock

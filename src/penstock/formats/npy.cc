#include "penstock/formats/npy.h"

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <utility>

namespace penstock {
namespace {

template <class T>
T load(std::string_view bytes, std::size_t at) {
  T v{};
  std::memcpy(&v, bytes.data() + at, sizeof(T));
  return v;
}

Status damaged(std::string_view why) {
  return absl::DataLossError(absl::StrCat("not a .npy array: ", to_absl(why)));
}

/// What stands behind `'key':` in a Python dict of literals.
std::string_view value_of(std::string_view dict, std::string_view key) {
  for (const char quote : {'\'', '"'}) {
    std::string quoted(1, quote);
    quoted.append(key).push_back(quote);
    std::size_t at = dict.find(quoted);
    if (at == std::string_view::npos) continue;
    at = dict.find(':', at + quoted.size());
    if (at == std::string_view::npos) continue;
    dict.remove_prefix(at + 1);
    while (!dict.empty() && dict.front() == ' ') dict.remove_prefix(1);
    return dict;
  }
  return {};
}

/// dtype, width and byte order of a `descr`.
Status read_descr(std::string_view descr, NpyHeader& header) {
  if (descr.size() < 3) return damaged("no dtype");
  const char quote = descr.front();
  const std::size_t end = descr.find(quote, 1);
  if ((quote != '\'' && quote != '"') || end == std::string_view::npos) {
    return absl::UnimplementedError("arrays of records are not supported");
  }
  const std::string_view name = descr.substr(1, end - 1);
  const Status unknown = absl::UnimplementedError(
      absl::StrCat("arrays of dtype '", to_absl(name), "' are not supported"));
  if (name.size() < 3) return unknown;
  const char order = name[0];
  if (order != '<' && order != '>' && order != '|') return unknown;
  if (name[1] == 'S' || name[1] == 'U') {
    std::uint32_t length = 0;
    const char* const last = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + 2, last, length);
    if (parsed.ec != std::errc() || parsed.ptr != last || length == 0) {
      return unknown;
    }
    header.dtype = DType::kString;
    header.unicode = name[1] == 'U';
    header.item_bytes = std::size_t{length} * (header.unicode ? 4 : 1);
    header.swapped = header.unicode && order == '>';
    return absl::OkStatus();
  }
  struct Known {
    std::string_view name;
    DType dtype;
  };
  constexpr Known kKnown[] = {{"b1", DType::kBool},    {"i1", DType::kInt8},
                              {"u1", DType::kUInt8},   {"i2", DType::kInt16},
                              {"u2", DType::kUInt16},  {"i4", DType::kInt32},
                              {"u4", DType::kUInt32},  {"i8", DType::kInt64},
                              {"u8", DType::kUInt64},  {"f2", DType::kFloat16},
                              {"f4", DType::kFloat32}, {"f8", DType::kFloat64}};
  for (const Known& known : kKnown) {
    if (name.substr(1) != known.name) continue;
    header.dtype = known.dtype;
    header.item_bytes = dtype_size(known.dtype);
    if (header.item_bytes > 1 && order == '|') return unknown;
    header.swapped = header.item_bytes > 1 && order == '>';
    return absl::OkStatus();
  }
  return unknown;
}

StatusOr<Shape> shape_of(std::string_view text) {
  Shape shape;
  if (text.empty() || text.front() != '(') return damaged("no shape");
  text.remove_prefix(1);
  for (;;) {
    while (!text.empty() && (text.front() == ' ' || text.front() == ',')) {
      text.remove_prefix(1);
    }
    if (text.empty()) return damaged("the shape does not end");
    if (text.front() == ')') break;
    std::int64_t dim = 0;
    const auto parsed =
        std::from_chars(text.data(), text.data() + text.size(), dim);
    if (parsed.ec != std::errc() || dim < 0) return damaged("no shape");
    if (shape.rank() == 64) return damaged("the rank is above 64");
    shape.push_back(dim);
    text.remove_prefix(static_cast<std::size_t>(parsed.ptr - text.data()));
  }
  return shape;
}

/// Calls `visit(at)` with where each value lies in the data, counted in
/// values, in the order of a tensor.
template <class Visit>
void walk(const NpyHeader& header, Visit visit) {
  const Shape& shape = header.shape;
  const auto count = static_cast<std::size_t>(shape.num_elements());
  if (!header.fortran) {
    for (std::size_t i = 0; i < count; ++i) visit(i);
    return;
  }
  std::vector<std::size_t> strides(shape.rank(), 1);
  std::vector<std::int64_t> index(shape.rank(), 0);
  for (std::size_t d = 1; d < shape.rank(); ++d) {
    strides[d] = strides[d - 1] * static_cast<std::size_t>(shape[d - 1]);
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    visit(at);
    for (std::size_t d = shape.rank(); d-- > 0;) {
      at += strides[d];
      if (++index[d] < shape[d]) break;
      at -= strides[d] * static_cast<std::size_t>(shape[d]);
      index[d] = 0;
    }
  }
}

template <std::size_t kWidth>
void convert_numbers(const NpyHeader& header, const char* from, char* to) {
  walk(header, [&](std::size_t at) {
    std::memcpy(to, from + at * kWidth, kWidth);
    if (header.swapped) std::reverse(to, to + kWidth);
    to += kWidth;
  });
}

/// The code point at `from`, or one that is none.
std::uint32_t code_point(const NpyHeader& header, const char* from) {
  std::uint32_t c = 0;
  std::memcpy(&c, from, sizeof(c));
  return header.swapped ? __builtin_bswap32(c) : c;
}

/// Bytes of a code point as UTF-8; 0 if it is none.
std::size_t utf8_size(std::uint32_t c) {
  if (c < 0x80) return 1;
  if (c < 0x800) return 2;
  if (c >= 0xd800 && c < 0xe000) return 0;
  if (c < 0x10000) return 3;
  return c < 0x110000 ? 4 : 0;
}

char* put_utf8(std::uint32_t c, char* to) {
  const std::size_t size = utf8_size(c);
  if (size == 1) {
    *to = static_cast<char>(c);
    return to + 1;
  }
  constexpr std::uint32_t kFirst[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (std::size_t i = size - 1; i > 0; --i, c >>= 6) {
    to[i] = static_cast<char>(0x80 | (c & 0x3f));
  }
  *to = static_cast<char>(kFirst[size] | c);
  return to + size;
}

/// The bytes of an item without the zeros at its end.
std::size_t stripped(const NpyHeader& header, const char* item) {
  std::size_t size = header.item_bytes;
  while (size > 0 && item[size - 1] == '\0') --size;
  // Zeros may be inside of the last code point.
  return header.unicode ? (size + 3) / 4 * 4 : size;
}

StatusOr<Tensor> convert_strings(const NpyHeader& header, const char* data) {
  const auto count = static_cast<std::size_t>(header.shape.num_elements());
  Ref<Buffer> offsets = Buffer::allocate((count + 1) * sizeof(std::int64_t));
  if (!offsets) {
    return absl::ResourceExhaustedError("no memory for offsets of strings");
  }
  auto* const ends = reinterpret_cast<std::int64_t*>(offsets->data());
  ends[0] = 0;
  std::size_t i = 0;
  std::size_t total = 0;
  bool unicode = true;
  walk(header, [&](std::size_t at) {
    const char* const item = data + at * header.item_bytes;
    const std::size_t size = stripped(header, item);
    if (!header.unicode) {
      total += size;
    } else {
      for (std::size_t k = 0; k < size; k += 4) {
        const std::size_t bytes = utf8_size(code_point(header, item + k));
        unicode &= bytes > 0;
        total += bytes;
      }
    }
    ends[++i] = static_cast<std::int64_t>(total);
  });
  if (!unicode) return damaged("a string is not Unicode");
  Ref<Buffer> bytes = Buffer::allocate(std::max<std::size_t>(total, 1));
  if (!bytes) return absl::ResourceExhaustedError("no memory for strings");
  char* to = reinterpret_cast<char*>(bytes->data());
  walk(header, [&](std::size_t at) {
    const char* const item = data + at * header.item_bytes;
    const std::size_t size = stripped(header, item);
    if (!header.unicode) {
      to = std::copy_n(item, size, to);
      return;
    }
    for (std::size_t k = 0; k < size; k += 4) {
      to = put_utf8(code_point(header, item + k), to);
    }
  });
  return Tensor::strings_from(std::move(offsets), std::move(bytes),
                              header.shape);
}

}  // namespace

StatusOr<NpyHeader> parse_npy(std::string_view file) {
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (file.size() < 10 || file.substr(0, 6) != kMagic) {
    return damaged("it does not begin as one");
  }
  const auto version = static_cast<unsigned char>(file[6]);
  std::size_t at = 10;
  std::size_t length = load<std::uint16_t>(file, 8);
  if (version == 2 || version == 3) {
    if (file.size() < 12) return damaged("the header is cut");
    length = load<std::uint32_t>(file, 8);
    at = 12;
  } else if (version != 1) {
    return absl::UnimplementedError(
        absl::StrCat("version ", version, " of .npy is not supported"));
  }
  if (length > file.size() - at) return damaged("the header is cut");
  const std::string_view dict = file.substr(at, length);
  NpyHeader header;
  PS_RETURN_IF_ERROR(read_descr(value_of(dict, "descr"), header));
  PS_ASSIGN_OR_RETURN(header.shape, shape_of(value_of(dict, "shape")));
  const std::string_view order = value_of(dict, "fortran_order");
  header.fortran = order.substr(0, 4) == "True" && header.shape.rank() > 1;
  const auto count = header.shape.checked_num_elements();
  const std::size_t width = header.item_bytes;
  if (!count || static_cast<std::size_t>(*count) >
                    static_cast<std::size_t>(INT64_MAX) / width) {
    return damaged("the shape is impossible");
  }
  header.data_offset = at + length;
  header.data_bytes = static_cast<std::size_t>(*count) * width;
  return header;
}

StatusOr<Tensor> read_npy(const NpyHeader& header, std::string_view data) {
  if (data.size() != header.data_bytes) return damaged("the data are cut");
  if (header.dtype == DType::kString) {
    return convert_strings(header, data.data());
  }
  PS_ASSIGN_OR_RETURN(Tensor out, Tensor::allocate(header.dtype, header.shape));
  if (data.empty()) return out;
  char* const to = reinterpret_cast<char*>(out.mutable_data());
  if (!header.converted()) {
    std::memcpy(to, data.data(), data.size());
  } else if (header.item_bytes == 1) {
    convert_numbers<1>(header, data.data(), to);
  } else if (header.item_bytes == 2) {
    convert_numbers<2>(header, data.data(), to);
  } else if (header.item_bytes == 4) {
    convert_numbers<4>(header, data.data(), to);
  } else {
    convert_numbers<8>(header, data.data(), to);
  }
  return out;
}

namespace {

// In place of a size or an offset that is written elsewhere.
constexpr std::size_t kIn64Bits = 0xffffffff;
// Bytes of the records of a zip archive above 4 GiB.
constexpr std::size_t kLocator64 = 20;
constexpr std::size_t kEnd64 = 56;

/// Reads those of `numbers` that did not fit from the extra fields of a
/// directory's entry, which hold them in this order.
void read_in_64_bits(std::string_view extra,
                     std::initializer_list<std::size_t*> numbers) {
  while (extra.size() >= 4) {
    const auto id = load<std::uint16_t>(extra, 0);
    std::string_view field = extra.substr(4, load<std::uint16_t>(extra, 2));
    extra.remove_prefix(4 + field.size());
    if (id != 1) continue;
    for (std::size_t* const number : numbers) {
      if (*number != kIn64Bits || field.size() < 8) continue;
      *number = load<std::uint64_t>(field, 0);
      field.remove_prefix(8);
    }
    return;
  }
}

}  // namespace

StatusOr<std::vector<NpzMember>> parse_npz(std::string_view file) {
  const auto cut = [](std::string_view why) {
    return absl::DataLossError(
        absl::StrCat("not a .npz archive: ", to_absl(why)));
  };
  constexpr std::size_t kEnd = 22;
  constexpr std::size_t kEntry = 46;
  constexpr std::size_t kLocal = 30;
  if (file.size() < kEnd) return cut("too short");
  // The end record lies before a comment of at most 64 KiB.
  std::size_t end = file.size() - kEnd;
  const std::size_t last = end > 0xffff ? end - 0xffff : 0;
  while (load<std::uint32_t>(file, end) != 0x06054b50) {
    if (end == last) return cut("no directory");
    --end;
  }
  std::size_t entries = load<std::uint16_t>(file, end + 10);
  std::size_t at = load<std::uint32_t>(file, end + 16);
  if ((at == kIn64Bits || entries == 0xffff) && end >= kLocator64 &&
      load<std::uint32_t>(file, end - kLocator64) == 0x07064b50) {
    const std::size_t wide = load<std::uint64_t>(file, end - kLocator64 + 8);
    if (wide > end || end - wide < kEnd64 ||
        load<std::uint32_t>(file, wide) != 0x06064b50) {
      return cut("damaged directory");
    }
    entries = load<std::uint64_t>(file, wide + 32);
    at = load<std::uint64_t>(file, wide + 48);
  }
  std::vector<NpzMember> members;
  for (std::size_t i = 0; i < entries; ++i) {
    if (at > file.size() || file.size() - at < kEntry ||
        load<std::uint32_t>(file, at) != 0x02014b50) {
      return cut("damaged directory");
    }
    const auto method = load<std::uint16_t>(file, at + 10);
    std::size_t size = load<std::uint32_t>(file, at + 20);
    std::size_t plain = load<std::uint32_t>(file, at + 24);
    const std::size_t name = load<std::uint16_t>(file, at + 28);
    const std::size_t extra = load<std::uint16_t>(file, at + 30);
    const std::size_t comment = load<std::uint16_t>(file, at + 32);
    std::size_t local = load<std::uint32_t>(file, at + 42);
    if (file.size() - at - kEntry < name + extra) {
      return cut("damaged directory");
    }
    NpzMember member;
    member.name = file.substr(at + kEntry, name);
    read_in_64_bits(file.substr(at + kEntry + name, extra),
                    {&plain, &size, &local});
    if (method != 0 && method != 8) {
      return absl::UnimplementedError(
          absl::StrCat("'", member.name, "' is compressed by method ", method,
                       ": save it with numpy.savez or numpy.savez_compressed"));
    }
    // No deflated byte stands for more than 1032: a larger size would only be
    // memory that the file does not fill.
    const bool fits = method == 0 ? plain == size : plain / 1032 <= size;
    if (!fits) return cut("damaged directory");
    if (method == 8 && std::max(plain, size) > 0xffffffff) {
      return absl::UnimplementedError(
          absl::StrCat("'", member.name,
                       "' is compressed and above 4 GiB: save it with "
                       "numpy.savez"));
    }
    member.deflated = method == 8;
    member.plain_size = plain;
    member.crc = load<std::uint32_t>(file, at + 16);
    if (local > file.size() || file.size() - local < kLocal ||
        load<std::uint32_t>(file, local) != 0x04034b50) {
      return cut("damaged member");
    }
    member.begin = local + kLocal + load<std::uint16_t>(file, local + 26) +
                   load<std::uint16_t>(file, local + 28);
    member.size = size;
    if (member.begin > file.size() || file.size() - member.begin < size) {
      return cut("damaged member");
    }
    if (member.name.size() > 4 &&
        member.name.substr(member.name.size() - 4) == ".npy") {
      member.name.resize(member.name.size() - 4);
    }
    members.push_back(std::move(member));
    at += kEntry + name + extra + comment;
  }
  std::vector<std::string_view> names;
  for (const NpzMember& m : members) names.push_back(m.name);
  std::sort(names.begin(), names.end());
  if (const auto twice = std::adjacent_find(names.begin(), names.end());
      twice != names.end()) {
    return cut(absl::StrCat("two members are named '", to_absl(*twice), "'"));
  }
  // Few bytes that are many members would be inflated once for each.
  std::vector<std::pair<std::size_t, std::size_t>> places;
  for (const NpzMember& m : members) places.emplace_back(m.begin, m.size);
  std::sort(places.begin(), places.end());
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i - 1].first + places[i - 1].second > places[i].first) {
      return cut("members overlap");
    }
  }
  return members;
}

StatusOr<Ref<Buffer>> inflate_npz(std::string_view file,
                                  const NpzMember& member) {
  const auto bytes = static_cast<std::uint32_t>(member.plain_size);
  Ref<Buffer> plain = Buffer::allocate(std::max<std::size_t>(bytes, 1));
  if (!plain) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for an array of ", bytes, " bytes"));
  }
  auto* const out = reinterpret_cast<std::uint8_t*>(plain->data());
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_DEFLATE;
  // ISA-L only reads what it is given here.
  state->next_in = reinterpret_cast<std::uint8_t*>(
      const_cast<char*>(file.data() + member.begin));
  state->avail_in = static_cast<std::uint32_t>(member.size);
  state->next_out = out;
  state->avail_out = bytes;
  if (isal_inflate_stateless(state.get()) != ISAL_DECOMP_OK ||
      state->avail_out != 0) {
    return absl::DataLossError("damaged deflate stream");
  }
  if (crc32_gzip_refl(0, out, bytes) != member.crc) {
    return absl::DataLossError("damaged deflate stream: its checksum differs");
  }
  return plain;
}

}  // namespace penstock

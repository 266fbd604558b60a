#include "penstock/formats/npy.h"

#include <charconv>
#include <cstring>

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
    const std::string quoted =
        std::string(1, quote) + std::string(key) + std::string(1, quote);
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

StatusOr<DType> dtype_of_descr(std::string_view descr) {
  if (descr.size() < 3) return damaged("no dtype");
  const char quote = descr.front();
  const std::size_t end = descr.find(quote, 1);
  if ((quote != '\'' && quote != '"') || end == std::string_view::npos) {
    return absl::UnimplementedError("arrays of records are not supported");
  }
  const std::string_view name = descr.substr(1, end - 1);
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
  if (name.size() == 3) {
    for (const Known& known : kKnown) {
      if (name.substr(1) != known.name) continue;
      const bool any_order = name.back() == '1' && name[1] != 'f';
      if (name[0] == '<' || any_order) return known.dtype;
    }
  }
  return absl::UnimplementedError(
      absl::StrCat("arrays of dtype '", to_absl(name), "' are not supported"));
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
  PS_ASSIGN_OR_RETURN(header.dtype, dtype_of_descr(value_of(dict, "descr")));
  PS_ASSIGN_OR_RETURN(header.shape, shape_of(value_of(dict, "shape")));
  const std::string_view order = value_of(dict, "fortran_order");
  if (order.substr(0, 4) == "True" && header.shape.rank() > 1) {
    return absl::UnimplementedError(
        "arrays in Fortran order are not supported: save a C-contiguous copy");
  }
  const auto count = header.shape.checked_num_elements();
  const std::size_t width = dtype_size(header.dtype);
  if (!count || static_cast<std::size_t>(*count) >
                    static_cast<std::size_t>(INT64_MAX) / width) {
    return damaged("the shape is impossible");
  }
  header.data_offset = at + length;
  header.data_bytes = static_cast<std::size_t>(*count) * width;
  return header;
}

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
  const std::size_t entries = load<std::uint16_t>(file, end + 10);
  std::size_t at = load<std::uint32_t>(file, end + 16);
  if (at == 0xffffffff || entries == 0xffff) {
    return absl::UnimplementedError(".npz above 4 GiB is not supported");
  }
  std::vector<NpzMember> members;
  for (std::size_t i = 0; i < entries; ++i) {
    if (at > file.size() || file.size() - at < kEntry ||
        load<std::uint32_t>(file, at) != 0x02014b50) {
      return cut("damaged directory");
    }
    const auto method = load<std::uint16_t>(file, at + 10);
    std::size_t size = load<std::uint32_t>(file, at + 20);
    const std::size_t plain = load<std::uint32_t>(file, at + 24);
    const std::size_t name = load<std::uint16_t>(file, at + 28);
    const std::size_t extra = load<std::uint16_t>(file, at + 30);
    const std::size_t comment = load<std::uint16_t>(file, at + 32);
    const std::size_t local = load<std::uint32_t>(file, at + 42);
    if (file.size() - at - kEntry < name) return cut("damaged directory");
    NpzMember member;
    member.name = file.substr(at + kEntry, name);
    if (size == 0xffffffff || local == 0xffffffff) {
      return absl::UnimplementedError(".npz above 4 GiB is not supported");
    }
    if (method != 0 || size != plain) {
      return absl::UnimplementedError(absl::StrCat(
          "'", member.name, "' is compressed: save it with numpy.savez"));
    }
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
  return members;
}

}  // namespace penstock

#include "penstock/formats/example_wire.h"

#include "penstock/formats/message_reader_private.h"

namespace penstock::wire {
namespace {

using protozero::pbf_wire_type;

std::string_view list_name(List list) {
  constexpr std::string_view kNames[] = {"nothing", "string", "float32",
                                         "int64"};
  return kNames[list];
}

void read_entry(std::string_view bytes, std::string_view& key,
                std::string_view& value) {
  MessageReader entry(bytes);
  key = value = {};
  while (entry.next()) {
    const bool delimited = entry.wire_type() == pbf_wire_type::length_delimited;
    if (delimited && entry.tag() == 1) {
      key = entry.get_bytes_view();
    } else if (delimited && entry.tag() == 2) {
      value = entry.get_bytes_view();
    } else {
      entry.skip();
    }
  }
}

}  // namespace

std::int64_t read_long_int(const char*& p, const char* end) {
  return static_cast<std::int64_t>(protozero::decode_varint(&p, end));
}

void throw_bad_length() { throw protozero::invalid_length_exception(); }

std::pair<List, std::string_view> find_any_list(std::string_view feature) {
  MessageReader reader(feature);
  std::pair<List, std::string_view> found{kNone, {}};
  while (reader.next()) {
    const std::uint32_t tag = reader.tag();
    if (tag >= kBytes && tag <= kInt64 &&
        reader.wire_type() == pbf_wire_type::length_delimited) {
      found = {static_cast<List>(tag), reader.get_bytes_view()};
    } else {
      reader.skip();
    }
  }
  return found;
}

void append_any_list(List list, std::string_view bytes, Values& out) {
  MessageReader reader(bytes);
  while (reader.next()) {
    const bool one = reader.tag() == 1;
    const pbf_wire_type type = reader.wire_type();
    const bool packed = type == pbf_wire_type::length_delimited;
    if (one && list == kBytes && packed) {
      out.strings.push_back(reader.get_bytes_view());
    } else if (one && list == kFloat && packed) {
      append_floats(reader.get_bytes_view(), out.floats);
    } else if (one && list == kFloat && type == pbf_wire_type::fixed32) {
      out.floats.push_back(reader.get_float());
    } else if (one && list == kInt64 && packed) {
      append_packed_ints(reader.get_bytes_view(), out.ints);
    } else if (one && list == kInt64 && type == pbf_wire_type::varint) {
      out.ints.push_back(reader.get_int64());
    } else {
      reader.skip();
    }
  }
}

StatusOr<Tensor> to_tensor(List list, const Values& values,
                           const Shape& shape) {
  if (list == kBytes) return Tensor::strings(values.strings, shape);
  const void* from = list == kFloat
                         ? static_cast<const void*>(values.floats.data())
                         : static_cast<const void*>(values.ints.data());
  PS_ASSIGN_OR_RETURN(
      Tensor out, Tensor::allocate(
                      list == kFloat ? DType::kFloat32 : DType::kInt64, shape));
  const std::size_t bytes = values.size(list) * dtype_size(out.dtype());
  if (bytes > 0) std::memcpy(out.mutable_data(), from, bytes);
  return out;
}

void append_default(const Feature& feature, List list, std::size_t count,
                    Values& out) {
  const Tensor& value = feature.default_value;
  if (!value.defined()) {
    out.resize(list, out.size(list) + count);
    return;
  }
  const bool scalar = value.num_elements() == 1;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t k = scalar ? 0 : i;
    if (list == kFloat) out.floats.push_back(value.as<float>()[k]);
    if (list == kInt64) out.ints.push_back(value.as<std::int64_t>()[k]);
    if (list == kBytes) {
      out.strings.push_back(value.str(static_cast<std::int64_t>(k)));
    }
  }
}

void collect_entries(std::string_view features,
                     const ExampleParser::Lookup& lookup,
                     std::vector<std::optional<std::string_view>>& found,
                     std::vector<std::size_t>& guess, std::size_t& place) {
  const auto keep = [&](std::string_view key, std::string_view value) {
    if (place >= guess.size()) guess.push_back(ExampleParser::Lookup::kEnd);
    std::size_t at = lookup.find(key, guess[place]);
    guess[place++] = at;
    for (; at != ExampleParser::Lookup::kEnd; at = lookup.next(at)) {
      found[at] = value;
    }
  };
  const char* p = features.data();
  const char* const end = p + features.size();
  std::size_t size = 0;
  while (enter(p, end, kField1, size)) {
    const char* const entry_end = p + size;
    const char* q = p;
    std::size_t key_size = 0;
    std::string_view value;
    if (enter(q, entry_end, kField1, key_size) &&
        only_field(
            {q + key_size, static_cast<std::size_t>(entry_end - q) - key_size},
            kField2, value)) {
      keep({q, key_size}, value);
    } else {
      std::string_view key;
      read_entry({p, size}, key, value);
      keep(key, value);
    }
    p = entry_end;
  }
  MessageReader reader({p, static_cast<std::size_t>(end - p)});
  while (reader.next()) {
    if (reader.tag() != 1 ||
        reader.wire_type() != pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    std::string_view key;
    std::string_view value;
    read_entry(reader.get_bytes_view(), key, value);
    keep(key, value);
  }
}

Status missing(const Feature& feature) {
  return invalid_argument("feature '",
                          feature.key.empty() ? feature.name : feature.key,
                          "' is missing and has no default_value");
}

Status wrong_list(const Feature& feature, List found) {
  return invalid_argument("feature '", feature.name, "' must be ",
                          to_absl(dtype_name(feature.dtype)),
                          ", the record has ", to_absl(list_name(found)));
}

}  // namespace penstock::wire

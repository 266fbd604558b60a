#include <algorithm>
#include <protozero/pbf_writer.hpp>

#include "penstock/formats/example.h"
#include "penstock/formats/example_wire.h"

namespace penstock {
namespace {

template <class T>
std::vector<std::int64_t> widened(const Tensor& t) {
  const auto values = t.as<T>();
  return {values.begin(), values.end()};
}

StatusOr<std::string> serialize_feature(const Tensor& t) {
  std::string list_bytes;
  protozero::pbf_writer list(list_bytes);
  std::vector<std::int64_t> ints;
  std::vector<float> floats;
  switch (t.dtype()) {
    case DType::kString:
      for (std::int64_t i = 0; i < t.num_elements(); ++i) {
        list.add_bytes(1, t.str(i).data(), t.str(i).size());
      }
      break;
    case DType::kFloat32: {
      const auto values = t.as<float>();
      floats.assign(values.begin(), values.end());
      break;
    }
    case DType::kFloat64:
      for (const double v : t.as<double>()) {
        floats.push_back(static_cast<float>(v));
      }
      break;
    case DType::kBool:
      ints = widened<bool>(t);
      break;
    case DType::kInt8:
      ints = widened<std::int8_t>(t);
      break;
    case DType::kInt16:
      ints = widened<std::int16_t>(t);
      break;
    case DType::kInt32:
      ints = widened<std::int32_t>(t);
      break;
    case DType::kInt64:
      ints = widened<std::int64_t>(t);
      break;
    case DType::kUInt8:
      ints = widened<std::uint8_t>(t);
      break;
    case DType::kUInt16:
      ints = widened<std::uint16_t>(t);
      break;
    case DType::kUInt32:
      ints = widened<std::uint32_t>(t);
      break;
    default:
      return invalid_argument(
          "values must be float32, float64, integers up to "
          "int64, bool or string, got ",
          to_absl(dtype_name(t.dtype())));
  }
  std::uint32_t kind = wire::kBytes;
  if (t.dtype() == DType::kFloat32 || t.dtype() == DType::kFloat64) {
    kind = wire::kFloat;
    list.add_packed_float(1, floats.begin(), floats.end());
  } else if (t.dtype() != DType::kString) {
    kind = wire::kInt64;
    list.add_packed_int64(1, ints.begin(), ints.end());
  }
  std::string feature;
  protozero::pbf_writer(feature).add_message(kind, list_bytes);
  return feature;
}

}  // namespace

StatusOr<std::string> serialize_example(const Element& dict) {
  const Structure* s = dict.structure();
  if (s == nullptr || s->kind() != Structure::Kind::kDict) {
    return invalid_argument("serialize_example: the element must be a dict");
  }
  std::vector<std::pair<std::string, std::size_t>> keys;
  for (std::size_t i = 0; i < s->children().size(); ++i) {
    if (!s->children()[i]->is_leaf()) {
      return invalid_argument("serialize_example: '", s->keys()[i],
                              "' must be one tensor");
    }
    keys.emplace_back(s->keys()[i], s->leaf_offset(i));
  }
  std::sort(keys.begin(), keys.end());
  std::string features;
  protozero::pbf_writer writer(features);
  for (const auto& [key, leaf] : keys) {
    auto feature = serialize_feature(dict[leaf]);
    if (!feature.ok()) {
      return annotate(feature.status(),
                      absl::StrCat("serialize_example: '", key, "': "));
    }
    std::string entry;
    protozero::pbf_writer pair(entry);
    pair.add_string(1, key);
    pair.add_message(2, *feature);
    writer.add_message(1, entry);
  }
  std::string out;
  protozero::pbf_writer(out).add_message(1, features);
  return out;
}

}  // namespace penstock

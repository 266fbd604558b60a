#include "penstock/formats/example.h"

#include <algorithm>
#include <cstring>
#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "absl/container/flat_hash_map.h"
#include "penstock/formats/row_partition.h"
#include "penstock/memory/ragged.h"

namespace penstock {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;
using Kind = Feature::Kind;

std::string_view view_of(const protozero::data_view& v) {
  return {v.data(), v.size()};
}
protozero::data_view pbf(std::string_view v) { return {v.data(), v.size()}; }

// Field numbers of Feature: which list it holds.
enum List : std::uint32_t { kNone = 0, kBytes = 1, kFloat = 2, kInt64 = 3 };

List list_of(DType dtype) {
  switch (dtype) {
    case DType::kString: return kBytes;
    case DType::kFloat32: return kFloat;
    default: return kInt64;
  }
}

std::string_view list_name(List list) {
  constexpr std::string_view kNames[] = {"nothing", "string", "float32",
                                         "int64"};
  return kNames[list];
}

// What writers write is read without protozero: a field after the other, each
// once, none over 2 MiB. Anything else, and all that is damaged, takes the
// general way.
constexpr unsigned char kField1 = 0x0a;  // length-delimited
constexpr unsigned char kField2 = 0x12;

/// Goes behind the head of a field `tag` at `p`, if it is one of `size` bytes
/// that lie before `end`.
inline bool enter(const char*& p, const char* end, unsigned char tag,
                  std::size_t& size) {
  const auto at = [&](int i) { return static_cast<unsigned char>(p[i]); };
  if (end - p < 4) {
    // Only what is as short as an empty list.
    if (end - p < 2 || at(0) != tag || at(1) > end - p - 2) return false;
    size = at(1);
    p += 2;
    return true;
  }
  if (at(0) != tag) return false;
  std::size_t n = at(1);
  std::ptrdiff_t head = 2;
  if (n >= 0x80) {
    n = (n & 0x7f) | static_cast<std::size_t>(at(2) & 0x7f) << 7;
    head = 3;
    if (at(2) >= 0x80) {
      if (at(3) >= 0x80) return false;
      n |= static_cast<std::size_t>(at(3)) << 14;
      head = 4;
    }
  }
  if (n > static_cast<std::size_t>(end - p - head)) return false;
  p += head;
  size = n;
  return true;
}

/// The one field `tag` that `bytes` are; false if they are not.
inline bool only_field(std::string_view bytes, unsigned char tag,
                       std::string_view& field) {
  const char* p = bytes.data();
  const char* const end = p + bytes.size();
  std::size_t size = 0;
  if (!enter(p, end, tag, size) || p + size != end) return false;
  field = {p, size};
  return true;
}

/// The list in a Feature's bytes: the last one counts.
std::pair<List, std::string_view> find_list(std::string_view feature) {
  if (!feature.empty()) {
    const auto tag = static_cast<unsigned char>(feature[0]);
    std::string_view list;
    if ((tag == kField1 || tag == kField2 || tag == 0x1a) &&
        only_field(feature, tag, list)) {
      return {static_cast<List>(tag >> 3), list};
    }
  }
  pbf_reader reader(pbf(feature));
  std::pair<List, std::string_view> found{kNone, {}};
  while (reader.next()) {
    const std::uint32_t tag = reader.tag();
    if (tag >= kBytes && tag <= kInt64 &&
        reader.wire_type() == pbf_wire_type::length_delimited) {
      found = {static_cast<List>(tag), view_of(reader.get_view())};
    } else {
      reader.skip();
    }
  }
  return found;
}

/// Values of one feature, as they are collected.
struct Values {
  std::vector<float> floats;
  std::vector<std::int64_t> ints;
  std::vector<std::string_view> strings;

  std::size_t size(List list) const {
    return list == kFloat   ? floats.size()
           : list == kInt64 ? ints.size()
                            : strings.size();
  }
  void resize(List list, std::size_t n) {
    if (list == kFloat) floats.resize(n);
    if (list == kInt64) ints.resize(n);
    if (list == kBytes) strings.resize(n);
  }
};

void append_packed_ints(std::string_view packed,
                        std::vector<std::int64_t>& out) {
  const char* p = packed.data();
  const char* const end = p + packed.size();
  while (p != end) {
    const auto first = static_cast<unsigned char>(*p);
    if (first < 0x80) {
      out.push_back(first);
      ++p;
    } else {
      out.push_back(
          static_cast<std::int64_t>(protozero::decode_varint(&p, end)));
    }
  }
}

void append_floats(std::string_view packed, std::vector<float>& out) {
  if (packed.size() % sizeof(float) != 0) {
    throw protozero::invalid_length_exception();
  }
  const std::size_t at = out.size();
  out.resize(at + packed.size() / sizeof(float));
  if (!packed.empty()) {
    std::memcpy(out.data() + at, packed.data(), packed.size());
  }
}

void append_list(List list, std::string_view bytes, Values& out) {
  if (std::string_view only; only_field(bytes, kField1, only)) {
    if (list == kBytes) out.strings.push_back(only);
    if (list == kFloat) append_floats(only, out.floats);
    if (list == kInt64) append_packed_ints(only, out.ints);
    return;
  }
  pbf_reader reader(pbf(bytes));
  while (reader.next()) {
    const bool one = reader.tag() == 1;
    const pbf_wire_type type = reader.wire_type();
    const bool packed = type == pbf_wire_type::length_delimited;
    if (one && list == kBytes && packed) {
      out.strings.push_back(view_of(reader.get_view()));
    } else if (one && list == kFloat && packed) {
      append_floats(view_of(reader.get_view()), out.floats);
    } else if (one && list == kFloat && type == pbf_wire_type::fixed32) {
      out.floats.push_back(reader.get_float());
    } else if (one && list == kInt64 && packed) {
      append_packed_ints(view_of(reader.get_view()), out.ints);
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
      Tensor out,
      Tensor::allocate(list == kFloat ? DType::kFloat32 : DType::kInt64,
                       shape));
  const std::size_t bytes =
      values.size(list) * (list == kFloat ? sizeof(float) : sizeof(std::int64_t));
  if (bytes > 0) std::memcpy(out.mutable_data(), from, bytes);
  return out;
}

/// Appends `count` values of the default, or zeros.
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

Status check_feature(const Feature& feature) {
  const auto fail = [&](const auto&... why) {
    return invalid_argument("feature '", feature.name, "' ", why...);
  };
  if (feature.name.empty()) {
    return invalid_argument("a feature must have a name, got ''");
  }
  if (feature.dtype != DType::kFloat32 && feature.dtype != DType::kInt64 &&
      feature.dtype != DType::kString) {
    return fail("must be float32, int64 or string, got ",
                to_absl(dtype_name(feature.dtype)));
  }
  const auto count = feature.shape.checked_num_elements();
  if (!count || *count > (std::int64_t{1} << 40)) {
    return fail("must have a known shape, got ", feature.shape.to_string());
  }
  if (*count == 0 && feature.kind == Kind::kFixedLenSequence) {
    return fail("must have values in each step, got shape ",
                feature.shape.to_string());
  }
  if (!feature.partitions.empty() && feature.kind != Kind::kRagged) {
    return fail("must be ragged to have partitions");
  }
  for (const Feature::Partition& partition : feature.partitions) {
    const bool uniform =
        partition.kind == Feature::Partition::Kind::kUniformRowLength;
    if (uniform && partition.length < 1) {
      return fail("must have rows of a length >= 1, got ", partition.length);
    }
    if (!uniform && partition.key.empty()) {
      return fail("must have the key of each partition, got ''");
    }
  }
  const Tensor& value = feature.default_value;
  if (value.defined() &&
      (value.dtype() != feature.dtype ||
       (value.rank() != 0 && !(value.shape() == feature.shape &&
                               feature.kind == Kind::kFixedLen)))) {
    return fail("must have a default_value that is a scalar or of its shape "
                "and dtype, got ", Spec::of(value).to_string());
  }
  return absl::OkStatus();
}

}  // namespace

int Feature::ragged_rank() const {
  std::size_t n = partitions.size();
  while (n > 0 &&
         partitions[n - 1].kind == Partition::Kind::kUniformRowLength) {
    --n;
  }
  return static_cast<int>(n);
}

/// Features by key. Records mostly have their keys in one order: what followed
/// a feature last time is tried first.
class ExampleParser::Lookup {
 public:
  explicit Lookup(const std::vector<Feature>& features) {
    for (std::size_t i = 0; i < features.size(); ++i) {
      keys_.push_back(features[i].key.empty() ? features[i].name
                                              : features[i].key);
    }
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const auto [it, fresh] = first_.try_emplace(keys_[i], i);
      next_.push_back(kEnd);
      if (!fresh) {
        std::size_t last = it->second;
        while (next_[last] != kEnd) last = next_[last];
        next_[last] = i;
      }
    }
  }
  static constexpr std::size_t kEnd = static_cast<std::size_t>(-1);

  std::size_t find(std::string_view key, std::size_t guess) const {
    if (guess < keys_.size() && keys_[guess] == key) return guess;
    const auto it = first_.find(key);
    return it == first_.end() ? kEnd : it->second;
  }
  /// Another feature of the same key, or kEnd.
  std::size_t next(std::size_t i) const { return next_[i]; }

 private:
  std::vector<std::string> keys_;
  absl::flat_hash_map<std::string_view, std::size_t> first_;
  std::vector<std::size_t> next_;
};

namespace {

void read_entry(std::string_view bytes, std::string_view& key,
                std::string_view& value) {
  pbf_reader entry(pbf(bytes));
  key = value = {};
  while (entry.next()) {
    const bool delimited =
        entry.wire_type() == pbf_wire_type::length_delimited;
    if (delimited && entry.tag() == 1) {
      key = view_of(entry.get_view());
    } else if (delimited && entry.tag() == 2) {
      value = view_of(entry.get_view());
    } else {
      entry.skip();
    }
  }
}

/// Keeps the bytes of each wanted entry of a map field; the last wins. `guess`
/// holds what was found at each place the record before.
void collect_entries(std::string_view features, const ExampleParser::Lookup& lookup,
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
        only_field({q + key_size,
                    static_cast<std::size_t>(entry_end - q) - key_size},
                   kField2, value)) {
      keep({q, key_size}, value);
    } else {
      std::string_view key;
      read_entry({p, size}, key, value);
      keep(key, value);
    }
    p = entry_end;
  }
  pbf_reader reader(p, static_cast<std::size_t>(end - p));
  while (reader.next()) {
    if (reader.tag() != 1 ||
        reader.wire_type() != pbf_wire_type::length_delimited) {
      reader.skip();
      continue;
    }
    std::string_view key;
    std::string_view value;
    read_entry(view_of(reader.get_view()), key, value);
    keep(key, value);
  }
}

/// Where each column is put together.
struct Building {
  List list = kNone;
  std::size_t count = 0;  // values of one shape
  Tensor dense;           // kFixedLen numbers, written in place
  Values values;
  std::vector<std::int64_t> splits;
};

/// Adds record `row` of one feature.
Status add_value(const Feature& feature,
                 const std::optional<std::string_view>& bytes, std::size_t row,
                 Building& to) {
  std::pair<List, std::string_view> list{kNone, {}};
  if (bytes) list = find_list(*bytes);
  const bool fixed = feature.kind == Kind::kFixedLen;
  if (list.first == kNone) {
    if (fixed && !feature.default_value.defined()) return missing(feature);
    if (feature.kind == Kind::kFixedLenSequence && !feature.allow_missing) {
      return missing(feature);
    }
    if (fixed) append_default(feature, to.list, to.count, to.values);
  } else if (list.first != to.list) {
    return wrong_list(feature, list.first);
  } else {
    std::string_view packed;
    if (fixed && to.list == kFloat &&
        only_field(list.second, kField1, packed) &&
        packed.size() == to.count * sizeof(float)) {
      std::memcpy(to.dense.mutable_data() + row * packed.size(), packed.data(),
                  packed.size());
      return absl::OkStatus();
    }
    append_list(to.list, list.second, to.values);
  }
  const std::size_t n = to.values.size(to.list);
  if (!fixed) {
    if (n % to.count != 0) {
      return invalid_argument("feature '", feature.name,
                              "' must have a multiple of ", to.count,
                              " values, the record has a remainder of ",
                              n % to.count);
    }
    return absl::OkStatus();
  }
  const bool strings = to.list == kBytes;
  const std::size_t got = strings ? n - row * to.count : n;
  if (got != to.count) {
    return invalid_argument("feature '", feature.name, "' must have ",
                            to.count, " values for shape ",
                            feature.shape.to_string(), ", the record has ",
                            got);
  }
  if (strings || n == 0) return absl::OkStatus();
  const std::size_t width = dtype_size(feature.dtype);
  const void* from = to.list == kFloat
                         ? static_cast<const void*>(to.values.floats.data())
                         : static_cast<const void*>(to.values.ints.data());
  std::memcpy(to.dense.mutable_data() + row * to.count * width, from,
              to.count * width);
  to.values.resize(to.list, 0);
  return absl::OkStatus();
}

/// Takes back what a failed record left; zeros in place of a fixed value.
void erase_value(const Feature& feature, std::size_t row, Building& to) {
  if (feature.kind != Kind::kFixedLen) {
    to.values.resize(to.list,
                     static_cast<std::size_t>(to.splits.back()) * to.count);
    return;
  }
  if (to.list == kBytes) {
    to.values.strings.resize(row * to.count);
    to.values.strings.resize((row + 1) * to.count);
    return;
  }
  to.values.resize(to.list, 0);
  const std::size_t bytes = to.count * dtype_size(feature.dtype);
  std::memset(to.dense.mutable_data() + row * bytes, 0, bytes);
}

PartialShape partial(std::initializer_list<std::int64_t> first,
                     const Shape& rest) {
  Shape all(first);
  for (const std::int64_t d : rest.dims()) all.push_back(d);
  return PartialShape(all);
}

}  // namespace

StatusOr<std::shared_ptr<const ExampleParser>> ExampleParser::make(
    std::vector<Feature> features) {
  if (features.empty()) {
    return invalid_argument("features must be given, got none");
  }
  std::vector<std::string_view> names;
  for (const Feature& feature : features) {
    PS_RETURN_IF_ERROR(check_feature(feature));
    names.push_back(feature.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) {
    return invalid_argument("feature '", to_absl(*twice), "' is given twice");
  }
  std::shared_ptr<ExampleParser> parser(new ExampleParser);
  parser->features_ = std::move(features);
  parser->read_ = parser->features_;
  for (const Feature& feature : parser->features_) {
    for (const Feature::Partition& partition : feature.partitions) {
      if (partition.key.empty()) continue;
      parser->read_.push_back(var_len_feature(partition.key, DType::kInt64));
    }
  }
  parser->lookup_ = std::make_shared<Lookup>(parser->read_);
  return parser;
}

namespace {

/// [None, trailing uniform lengths...]
PartialShape ragged_values(const Feature& feature) {
  Shape rest;
  for (auto i = static_cast<std::size_t>(feature.ragged_rank());
       i < feature.partitions.size(); ++i) {
    rest.push_back(feature.partitions[i].length);
  }
  return partial({kUnknownDim}, rest);
}

Spec ragged_spec(const Feature& feature, int rank, std::int64_t outer) {
  if (rank == 0) return Spec::tensor(feature.dtype, ragged_values(feature));
  std::vector<LeafSpec> leaves{{feature.dtype, ragged_values(feature)}};
  for (int i = 0; i < rank; ++i) {
    leaves.push_back({DType::kInt64, PartialShape{i == 0 ? outer
                                                         : kUnknownDim}});
  }
  return Spec(Structure::ragged(rank), std::move(leaves));
}

StatusOr<Tensor> splits_of(std::span<const std::int64_t> lengths) {
  PS_ASSIGN_OR_RETURN(
      Tensor splits,
      Tensor::allocate<std::int64_t>(
          Shape{static_cast<std::int64_t>(lengths.size()) + 1}));
  auto to = splits.mutable_as<std::int64_t>();
  to[0] = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) to[i + 1] = to[i] + lengths[i];
  return splits;
}

/// Rows [records[i], records[i + 1]) of a level.
std::span<const std::int64_t> lengths_of(const FeatureColumn::Level& level,
                                         std::size_t i) {
  return std::span(level.lengths)
      .subspan(static_cast<std::size_t>(level.records[i]),
               static_cast<std::size_t>(level.records[i + 1] -
                                        level.records[i]));
}

}  // namespace

Status ExampleParser::cut(
    const Feature& feature, std::size_t first,
    std::vector<FeatureColumn>& columns, FeatureColumn& values,
    std::vector<std::pair<std::int64_t, Status>>& failed) const {
  const std::size_t n = values.splits.size() - 1;
  std::vector<FeatureColumn::Level> levels(feature.partitions.size());
  for (auto& level : levels) level.records.push_back(0);
  // The columns of the partitions, in the order they were added.
  std::vector<const FeatureColumn*> given(levels.size(), nullptr);
  for (std::size_t l = 0; l < levels.size(); ++l) {
    if (!feature.partitions[l].key.empty()) given[l] = &columns[first++];
  }
  std::vector<std::vector<std::int64_t>> own(levels.size());
  for (std::size_t i = 0; i < n; ++i) {
    std::int64_t count = values.splits[i + 1] - values.splits[i];
    Status status;
    for (std::size_t l = levels.size(); l-- > 0 && status.ok();) {
      std::span<const std::int64_t> integers;
      if (given[l] != nullptr) {
        const auto begin = static_cast<std::size_t>(given[l]->splits[i]);
        const auto end = static_cast<std::size_t>(given[l]->splits[i + 1]);
        integers = given[l]->values.as<std::int64_t>().subspan(begin,
                                                               end - begin);
      }
      own[l].clear();
      status = row_lengths(feature.partitions[l], integers, count, own[l]);
      count = static_cast<std::int64_t>(own[l].size());
    }
    if (!status.ok()) {
      failed.emplace_back(
          static_cast<std::int64_t>(i),
          annotate(status, absl::StrCat("feature '", feature.name, "': ")));
      for (auto& lengths : own) lengths.clear();
    }
    for (std::size_t l = 0; l < levels.size(); ++l) {
      levels[l].lengths.insert(levels[l].lengths.end(), own[l].begin(),
                               own[l].end());
      levels[l].records.push_back(
          static_cast<std::int64_t>(levels[l].lengths.size()));
    }
  }
  // Uniform rows at the end are dimensions.
  const auto rank = static_cast<std::size_t>(feature.ragged_rank());
  Shape shape{0};
  std::int64_t each = 1;
  for (std::size_t l = rank; l < levels.size(); ++l) {
    shape.push_back(feature.partitions[l].length);
    each *= feature.partitions[l].length;
  }
  if (each > 1) {
    // A failed record may hold what is no multiple: leave it out.
    std::vector<Tensor> parts;
    std::vector<std::int64_t> splits{0};
    bool whole = true;
    for (std::size_t i = 0; i < n; ++i) {
      std::int64_t begin = values.splits[i];
      std::int64_t end = values.splits[i + 1];
      if ((end - begin) % each != 0) {
        whole = false;
        end = begin;
      }
      parts.push_back(values.values.rows(begin, end));
      splits.push_back(splits.back() + (end - begin) / each);
    }
    if (!whole) {
      PS_ASSIGN_OR_RETURN(values.values, concat_rows(parts));
    }
    values.splits = std::move(splits);
  }
  shape[0] = values.splits.back();
  values.values = values.values.reshaped(shape);
  levels.resize(rank);
  values.levels = std::move(levels);
  return absl::OkStatus();
}

Spec ExampleParser::spec() const {
  std::vector<std::pair<std::string, Spec>> items;
  for (const Feature& f : features_) {
    PartialShape shape = f.shape;
    if (f.kind == Kind::kFixedLenSequence) shape = partial({-1}, f.shape);
    if (f.kind == Kind::kVarLen || f.kind == Kind::kRagged) {
      items.emplace_back(f.name, ragged_spec(f, f.ragged_rank(), kUnknownDim));
      continue;
    }
    items.emplace_back(f.name, Spec::tensor(f.dtype, shape));
  }
  return Spec::dict(items);
}

Spec ExampleParser::batch_spec(std::int64_t n) const {
  std::vector<std::pair<std::string, Spec>> items;
  for (const Feature& f : features_) {
    switch (f.kind) {
      case Kind::kFixedLen:
        items.emplace_back(f.name, Spec::tensor(f.dtype, partial({n}, f.shape)));
        break;
      case Kind::kFixedLenSequence:
        items.emplace_back(f.name,
                           Spec::tensor(f.dtype, partial({n, -1}, f.shape)));
        break;
      default:
        items.emplace_back(f.name,
                           ragged_spec(f, f.ragged_rank() + 1,
                                       n < 0 ? kUnknownDim : n + 1));
    }
  }
  return Spec::dict(items);
}

Status ExampleParser::parse(
    std::span<const std::string_view> records,
    std::span<const std::int64_t> skip, std::vector<FeatureColumn>& out,
    std::vector<std::pair<std::int64_t, Status>>& failed) const {
  const auto n = static_cast<std::int64_t>(records.size());
  std::vector<Building> building(read_.size());
  for (std::size_t f = 0; f < read_.size(); ++f) {
    const Feature& feature = read_[f];
    Building& to = building[f];
    to.list = list_of(feature.dtype);
    to.count = static_cast<std::size_t>(feature.shape.num_elements());
    if (feature.kind != Kind::kFixedLen) {
      to.splits.reserve(records.size() + 1);
      to.splits.push_back(0);
    } else if (feature.dtype != DType::kString) {
      PS_ASSIGN_OR_RETURN(
          to.dense, Tensor::allocate(feature.dtype, feature.shape.prepended(n)));
    }
  }
  std::vector<std::optional<std::string_view>> found(read_.size());
  std::vector<std::size_t> guess;
  std::size_t skipped = 0;
  for (std::size_t row = 0; row < records.size(); ++row) {
    Status status;
    const bool left_out = skipped < skip.size() &&
                          skip[skipped] == static_cast<std::int64_t>(row);
    if (left_out) ++skipped;
    std::size_t done = 0;
    if (!left_out) {
      std::fill(found.begin(), found.end(), std::nullopt);
      try {
        pbf_reader example(pbf(records[row]));
        std::size_t place = 0;
        while (example.next()) {
          if (example.tag() == 1 &&
              example.wire_type() == pbf_wire_type::length_delimited) {
            collect_entries(view_of(example.get_view()), *lookup_, found, guess,
                            place);
          } else {
            example.skip();
          }
        }
        for (; done < read_.size() && status.ok(); ++done) {
          status = add_value(read_[done], found[done], row, building[done]);
        }
      } catch (const protozero::exception& e) {
        // Not the record's writer, but its bytes are at fault.
        status = absl::DataLossError(
            absl::StrCat("not a tf.train.Example: ", e.what()));
        done = read_.size();
      }
      if (!status.ok()) {
        failed.emplace_back(static_cast<std::int64_t>(row), status);
      }
    }
    for (std::size_t f = 0; f < read_.size(); ++f) {
      Building& to = building[f];
      if (left_out || !status.ok()) erase_value(read_[f], row, to);
      if (read_[f].kind != Kind::kFixedLen) {
        to.splits.push_back(static_cast<std::int64_t>(
            to.values.size(to.list) / to.count));
      }
    }
  }
  out.clear();
  for (std::size_t f = 0; f < read_.size(); ++f) {
    const Feature& feature = read_[f];
    Building& from = building[f];
    FeatureColumn column;
    if (feature.kind == Kind::kFixedLen) {
      column.values = std::move(from.dense);
      if (from.list == kBytes) {
        PS_ASSIGN_OR_RETURN(column.values,
                            Tensor::strings(from.values.strings,
                                            feature.shape.prepended(n)));
      }
    } else {
      const Shape one = feature.kind == Kind::kFixedLenSequence ? feature.shape
                                                                : Shape{};
      PS_ASSIGN_OR_RETURN(
          column.values,
          to_tensor(from.list, from.values, one.prepended(from.splits.back())));
      column.splits = std::move(from.splits);
    }
    out.push_back(std::move(column));
  }
  bool cuts = false;
  for (const Feature& f : features_) cuts |= !f.partitions.empty();
  if (!cuts) return absl::OkStatus();
  std::size_t first = features_.size();
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const Feature& feature = features_[f];
    if (feature.partitions.empty()) continue;
    PS_RETURN_IF_ERROR(cut(feature, first, out, out[f], failed));
    for (const Feature::Partition& p : feature.partitions) {
      if (!p.key.empty()) ++first;
    }
  }
  out.resize(features_.size());
  // Each record once, with what was wrong first.
  std::stable_sort(failed.begin(), failed.end(), [](const auto& x,
                                                    const auto& y) {
    return x.first < y.first;
  });
  failed.erase(std::unique(failed.begin(), failed.end(),
                           [](const auto& x, const auto& y) {
                             return x.first == y.first;
                           }),
               failed.end());
  return absl::OkStatus();
}

Element ExampleParser::row(const std::vector<FeatureColumn>& columns,
                           std::int64_t row) const {
  std::vector<std::pair<std::string, Element>> items;
  const auto at = static_cast<std::size_t>(row);
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const FeatureColumn& c = columns[f];
    Tensor values = c.splits.empty()
                        ? c.values.row(row)
                        : c.values.rows(c.splits[at], c.splits[at + 1]);
    if (c.levels.empty()) {
      items.emplace_back(features_[f].name, std::move(values));
      continue;
    }
    std::vector<Tensor> splits;
    for (const FeatureColumn::Level& level : c.levels) {
      splits.push_back(splits_of(lengths_of(level, at)).value());
    }
    items.emplace_back(features_[f].name,
                       Element::ragged(std::move(values), std::move(splits)));
  }
  return Element::dict(std::move(items));
}

StatusOr<Element> ExampleParser::batch(
    std::vector<FeatureColumn> columns) const {
  std::vector<std::pair<std::string, Element>> items;
  for (std::size_t f = 0; f < features_.size(); ++f) {
    const Feature& feature = features_[f];
    FeatureColumn& c = columns[f];
    if (feature.kind == Kind::kFixedLen) {
      items.emplace_back(feature.name, std::move(c.values));
      continue;
    }
    if (feature.kind != Kind::kFixedLenSequence) {
      std::vector<Tensor> splits{
          Tensor::from(c.levels.empty() ? c.splits : c.levels[0].records)};
      for (const FeatureColumn::Level& level : c.levels) {
        PS_ASSIGN_OR_RETURN(Tensor inner, splits_of(level.lengths));
        splits.push_back(std::move(inner));
      }
      items.emplace_back(feature.name, Element::ragged(std::move(c.values),
                                                       std::move(splits)));
      continue;
    }
    // Padded to the longest.
    const std::size_t n = c.splits.size() - 1;
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      longest = std::max(longest, c.splits[i + 1] - c.splits[i]);
    }
    const std::int64_t count = feature.shape.num_elements();
    Values values;
    const List list = list_of(feature.dtype);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t begin = c.splits[i] * count;
      const std::int64_t end = c.splits[i + 1] * count;
      for (std::int64_t k = begin; k < end; ++k) {
        const auto at = static_cast<std::size_t>(k);
        if (list == kFloat) values.floats.push_back(c.values.as<float>()[at]);
        if (list == kInt64) {
          values.ints.push_back(c.values.as<std::int64_t>()[at]);
        }
        if (list == kBytes) values.strings.push_back(c.values.str(k));
      }
      append_default(feature, list,
                     static_cast<std::size_t>(longest * count - (end - begin)),
                     values);
    }
    Shape shape{static_cast<std::int64_t>(n), longest};
    for (const std::int64_t d : feature.shape.dims()) shape.push_back(d);
    PS_ASSIGN_OR_RETURN(Tensor padded, to_tensor(list, values, shape));
    items.emplace_back(feature.name, std::move(padded));
  }
  return Element::dict(std::move(items));
}

StatusOr<Block::Columns> ExampleParser::block_columns(
    std::vector<FeatureColumn> columns) const {
  Block::Columns out;
  for (FeatureColumn& from : columns) {
    if (from.splits.empty()) {
      out.emplace_back(std::move(from.values));
      continue;
    }
    std::vector<Tensor> rows;
    rows.reserve(from.splits.size());
    for (std::size_t i = 0; i + 1 < from.splits.size(); ++i) {
      rows.push_back(from.values.rows(from.splits[i], from.splits[i + 1]));
    }
    out.emplace_back(std::move(rows));
    for (const FeatureColumn::Level& level : from.levels) {
      std::vector<Tensor> splits;
      splits.reserve(level.records.size());
      for (std::size_t i = 0; i + 1 < level.records.size(); ++i) {
        PS_ASSIGN_OR_RETURN(Tensor own, splits_of(lengths_of(level, i)));
        splits.push_back(std::move(own));
      }
      out.emplace_back(std::move(splits));
    }
  }
  return out;
}

// --- SequenceExample ------------------------------------------------------

StatusOr<std::shared_ptr<const SequenceExampleParser>>
SequenceExampleParser::make(std::vector<Feature> context,
                            std::vector<Feature> sequences) {
  std::shared_ptr<SequenceExampleParser> parser(new SequenceExampleParser);
  if (context.empty() && sequences.empty()) {
    return invalid_argument("features must be given, got none");
  }
  for (const auto* features : {&context, &sequences}) {
    for (const Feature& feature : *features) {
      if (feature.partitions.empty()) continue;
      return invalid_argument("feature '", feature.name,
                              "': partitions are read from Examples, not from "
                              "SequenceExamples");
    }
  }
  for (const Feature& feature : sequences) {
    if (feature.kind == Kind::kFixedLen) {
      return invalid_argument("feature '", feature.name,
                              "' of a sequence must be FixedLenSequence, "
                              "VarLen or Ragged, got FixedLen");
    }
  }
  if (!context.empty()) {
    PS_ASSIGN_OR_RETURN(parser->context_,
                        ExampleParser::make(std::move(context)));
  }
  if (!sequences.empty()) {
    PS_ASSIGN_OR_RETURN(parser->sequences_,
                        ExampleParser::make(std::move(sequences)));
  }
  return parser;
}

Spec SequenceExampleParser::spec() const {
  std::vector<std::pair<std::string, Spec>> items;
  if (sequences_) {
    for (const Feature& f : sequences_->features()) {
      if (f.kind == Kind::kFixedLenSequence) {
        items.emplace_back(f.name,
                           Spec::tensor(f.dtype, partial({-1}, f.shape)));
      } else {
        items.emplace_back(
            f.name, Spec(Structure::ragged(1),
                         {LeafSpec{f.dtype, PartialShape{kUnknownDim}},
                          LeafSpec{DType::kInt64, PartialShape{kUnknownDim}}}));
      }
    }
  }
  return Spec::tuple(
      {context_ ? context_->spec() : Spec::dict({}), Spec::dict(items)});
}

StatusOr<Element> SequenceExampleParser::parse(std::string_view record) const {
  Element context = Element::dict({});
  if (context_) {
    // A SequenceExample begins as an Example: field 1 holds the context.
    std::vector<FeatureColumn> columns;
    std::vector<std::pair<std::int64_t, Status>> failed;
    PS_RETURN_IF_ERROR(context_->parse({&record, 1}, {}, columns, failed));
    if (!failed.empty()) return annotate(failed[0].second, "context: ");
    context = context_->row(columns, 0);
  }
  std::vector<std::pair<std::string, Element>> items;
  if (!sequences_) {
    return Element::tuple({std::move(context), Element::dict({})});
  }
  const auto& features = sequences_->features();
  const ExampleParser::Lookup lookup(features);
  std::vector<std::optional<std::string_view>> found(features.size());
  try {
    std::vector<std::size_t> guess;
    std::size_t place = 0;
    pbf_reader example(pbf(record));
    while (example.next()) {
      if (example.tag() == 2 &&
          example.wire_type() == pbf_wire_type::length_delimited) {
        collect_entries(view_of(example.get_view()), lookup, found, guess,
                        place);
      } else {
        example.skip();
      }
    }
    for (std::size_t f = 0; f < features.size(); ++f) {
      const Feature& feature = features[f];
      if (!found[f] && !feature.allow_missing) return missing(feature);
      const List list = list_of(feature.dtype);
      const auto count =
          static_cast<std::size_t>(feature.shape.num_elements());
      const bool fixed = feature.kind == Kind::kFixedLenSequence;
      Values values;
      std::vector<std::int64_t> splits{0};
      if (found[f]) {
        pbf_reader steps(pbf(*found[f]));
        while (steps.next()) {
          if (steps.tag() != 1 ||
              steps.wire_type() != pbf_wire_type::length_delimited) {
            steps.skip();
            continue;
          }
          const auto [kind, bytes] = find_list(view_of(steps.get_view()));
          const std::size_t before = values.size(list);
          if (kind != kNone && kind != list) return wrong_list(feature, kind);
          if (kind == list) append_list(list, bytes, values);
          const std::size_t got = values.size(list) - before;
          if (fixed && got != count) {
            return invalid_argument("feature '", feature.name, "' step ",
                                    splits.size() - 1, " must have ", count,
                                    " values, the record has ", got);
          }
          splits.push_back(static_cast<std::int64_t>(values.size(list)));
        }
      }
      const auto steps = static_cast<std::int64_t>(splits.size()) - 1;
      const Shape shape = fixed ? feature.shape.prepended(steps)
                                : Shape{splits.back()};
      PS_ASSIGN_OR_RETURN(Tensor tensor, to_tensor(list, values, shape));
      if (fixed) {
        items.emplace_back(feature.name, std::move(tensor));
      } else {
        items.emplace_back(feature.name,
                           Element::ragged(std::move(tensor),
                                           {Tensor::from(splits)}));
      }
    }
  } catch (const protozero::exception& e) {
    return absl::DataLossError(
        absl::StrCat("not a tf.train.SequenceExample: ", e.what()));
  }
  return Element::tuple({std::move(context), Element::dict(std::move(items))});
}

// --- writing --------------------------------------------------------------

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
    case DType::kBool: ints = widened<bool>(t); break;
    case DType::kInt8: ints = widened<std::int8_t>(t); break;
    case DType::kInt16: ints = widened<std::int16_t>(t); break;
    case DType::kInt32: ints = widened<std::int32_t>(t); break;
    case DType::kInt64: ints = widened<std::int64_t>(t); break;
    case DType::kUInt8: ints = widened<std::uint8_t>(t); break;
    case DType::kUInt16: ints = widened<std::uint16_t>(t); break;
    case DType::kUInt32: ints = widened<std::uint32_t>(t); break;
    default:
      return invalid_argument("values must be float32, float64, integers up to "
                              "int64, bool or string, got ",
                              to_absl(dtype_name(t.dtype())));
  }
  std::uint32_t kind = kBytes;
  if (t.dtype() == DType::kFloat32 || t.dtype() == DType::kFloat64) {
    kind = kFloat;
    list.add_packed_float(1, floats.begin(), floats.end());
  } else if (t.dtype() != DType::kString) {
    kind = kInt64;
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

#include "penstock/formats/example.h"

#include <algorithm>
#include <cstring>

#include "penstock/formats/example_columns.h"
#include "penstock/formats/example_schema.h"
#include "penstock/formats/example_wire.h"
#include "penstock/formats/message_reader_private.h"

namespace penstock {
namespace {

using namespace wire;  // NOLINT(google-build-using-namespace)
using protozero::pbf_wire_type;
using Kind = Feature::Kind;

/// Where each column is put together.
struct Building {
  List list = kNone;
  std::size_t count = 0;      // values of one shape
  Tensor dense;               // kFixedLen numbers, written in place
  std::byte* data = nullptr;  // of dense
  Values values;
  std::vector<std::int64_t> splits;
};

constexpr std::size_t kProbedRows = 16;

/// Reads the numbers of a kFixedLen feature of record `row` to where they
/// belong; false if they are not packed or not as many as there must be.
bool read_in_place(std::string_view list, std::size_t row, Building& to) {
  std::string_view packed;
  if (!only_field(list, kField1, packed)) return false;
  if (to.list == kInt64) {
    return read_ints(packed, to.count,
                     reinterpret_cast<std::int64_t*>(to.data) + row * to.count);
  }
  if (packed.size() != to.count * sizeof(float)) return false;
  if (!packed.empty()) {
    std::memcpy(to.data + row * packed.size(), packed.data(), packed.size());
  }
  return true;
}

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
    if (fixed && to.list != kBytes && read_in_place(list.second, row, to)) {
      return absl::OkStatus();
    }
    append_list(to.list, list.second, to.values);
  }
  const std::size_t n = to.values.size(to.list);
  if (!fixed) {
    if (to.count != 1 && n % to.count != 0) {
      return invalid_argument(
          "feature '", feature.name, "' must have a multiple of ", to.count,
          " values, the record has a remainder of ", n % to.count);
    }
    return absl::OkStatus();
  }
  const bool strings = to.list == kBytes;
  const std::size_t got = strings ? n - row * to.count : n;
  if (got != to.count) {
    return invalid_argument("feature '", feature.name, "' must have ", to.count,
                            " values for shape ", feature.shape.to_string(),
                            ", the record has ", got);
  }
  if (strings || n == 0) return absl::OkStatus();
  const std::size_t width = dtype_size(feature.dtype);
  const void* from = to.list == kFloat
                         ? static_cast<const void*>(to.values.floats.data())
                         : static_cast<const void*>(to.values.ints.data());
  std::memcpy(to.data + row * to.count * width, from, to.count * width);
  to.values.resize(to.list, 0);
  return absl::OkStatus();
}

/// Room for the values of all records, by what the first kProbedRows have for
/// their bytes: no more than the bytes of the others can hold.
void reserve_rest(std::span<const std::string_view> records,
                  std::vector<Building>& building) {
  std::size_t first = 1;
  std::size_t all = 1;
  for (std::size_t row = 0; row < records.size(); ++row) {
    if (row < kProbedRows) first += records[row].size();
    all += records[row].size();
  }
  const double scale =
      1.125 * static_cast<double>(all) / static_cast<double>(first);
  for (Building& to : building) {
    if (to.splits.empty()) continue;
    to.values.reserve(
        to.list, static_cast<std::size_t>(
                     static_cast<double>(to.values.size(to.list)) * scale));
  }
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
  std::memset(to.data + row * bytes, 0, bytes);
}

}  // namespace

StatusOr<std::shared_ptr<const ExampleParser>> ExampleParser::make(
    std::vector<Feature> features) {
  if (features.empty()) {
    return invalid_argument("features must be given, got none");
  }
  PS_RETURN_IF_ERROR(check_features(features));
  std::shared_ptr<ExampleParser> parser(new ExampleParser);
  parser->features_ = std::move(features);
  parser->read_ = with_partitions(parser->features_);
  parser->lookup_ = std::make_shared<Lookup>(parser->read_);
  return parser;
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
          to.dense,
          Tensor::allocate(feature.dtype, feature.shape.prepended(n)));
      to.data = to.dense.mutable_data();
    } else {
      to.values.reserve(to.list, records.size() * to.count);
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
    if (row == kProbedRows) reserve_rest(records, building);
    std::size_t done = 0;
    if (!left_out) {
      std::fill(found.begin(), found.end(), std::nullopt);
      try {
        std::size_t place = 0;
        std::string_view rest = records[row];
        if (std::string_view features; only_field(rest, kField1, features)) {
          collect_entries(features, *lookup_, found, guess, place);
          rest = {};
        }
        MessageReader example(rest);
        while (example.next()) {
          if (example.tag() == 1 &&
              example.wire_type() == pbf_wire_type::length_delimited) {
            collect_entries(example.get_bytes_view(), *lookup_, found, guess,
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
        const std::size_t all = to.values.size(to.list);
        to.splits.push_back(
            static_cast<std::int64_t>(to.count == 1 ? all : all / to.count));
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
        PS_ASSIGN_OR_RETURN(
            column.values,
            Tensor::strings(from.values.strings, feature.shape.prepended(n)));
      }
    } else {
      const Shape one =
          feature.kind == Kind::kFixedLenSequence ? feature.shape : Shape{};
      PS_ASSIGN_OR_RETURN(
          column.values,
          to_tensor(from.list, from.values, one.prepended(from.splits.back())));
      column.splits = std::move(from.splits);
    }
    out.push_back(std::move(column));
  }
  if (read_.size() == features_.size()) {
    const auto cuts = [](const Feature& f) { return !f.partitions.empty(); };
    if (std::none_of(features_.begin(), features_.end(), cuts)) {
      return absl::OkStatus();
    }
  }
  PS_RETURN_IF_ERROR(cut_features(features_, out, failed));
  // Each record once, with what was wrong first.
  std::stable_sort(
      failed.begin(), failed.end(),
      [](const auto& x, const auto& y) { return x.first < y.first; });
  failed.erase(std::unique(failed.begin(), failed.end(),
                           [](const auto& x, const auto& y) {
                             return x.first == y.first;
                           }),
               failed.end());
  return absl::OkStatus();
}

}  // namespace penstock

// Example, SequenceExample and TensorProto on any bytes: refused, or elements
// of the promised spec. What was read is written and read again.
#include <cstdint>
#include <string_view>

#include "penstock/formats/example.h"
#include "penstock/formats/tensor_bytes.h"
#include "penstock/memory/ragged.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using namespace penstock;
  static const auto* const parser = new std::shared_ptr<const ExampleParser>(
      ExampleParser::make(
          {fixed_len_feature("f", DType::kFloat32, {3}, Tensor::scalar(0.0f)),
           var_len_feature("i", DType::kInt64),
           fixed_len_feature("s", DType::kString, {3}, Tensor::string("")),
           fixed_len_sequence_feature("e", DType::kFloat32, {2})})
          .value());
  using Cut = Feature::Partition;
  static const auto* const ragged = new std::shared_ptr<const ExampleParser>(
      ExampleParser::make(
          {ragged_feature(
               "a", DType::kInt64, "i",
               {{Cut::Kind::kRowLengths, "n"}, {Cut::Kind::kRowSplits, "s"}}),
           ragged_feature("b", DType::kInt64, "i",
                          {{Cut::Kind::kValueRowIds, "d"},
                           {Cut::Kind::kUniformRowLength, "", 2}}),
           ragged_feature("c", DType::kInt64, "i",
                          {{Cut::Kind::kRowStarts, "t"}}),
           ragged_feature("d", DType::kInt64, "i",
                          {{Cut::Kind::kUniformRowLength, "", 1},
                           {Cut::Kind::kRowLimits, "l"}})})
          .value());
  static const auto* const sequences =
      new std::shared_ptr<const SequenceExampleParser>(
          SequenceExampleParser::make(
              {var_len_feature("id", DType::kInt64)},
              {ragged_feature("tok", DType::kInt64),
               ragged_feature("rows", DType::kInt64, "tok",
                              {{Cut::Kind::kRowLengths, "n"},
                               {Cut::Kind::kUniformRowLength, "", 2}}),
               ragged_feature("cut", DType::kInt64, "v",
                              {{Cut::Kind::kRowLengths, "out"},
                               {Cut::Kind::kRowLengths, "len"}}),
               fixed_len_sequence_feature("w", DType::kFloat32)})
              .value());
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1,
                               size - 1);
  switch (data[0] % 4) {
    case 0: {
      const std::string_view records[] = {bytes, bytes.substr(0, size / 2)};
      std::vector<FeatureColumn> columns;
      std::vector<std::pair<std::int64_t, Status>> failed;
      if (!(*parser)->parse(records, {}, columns, failed).ok()) return 0;
      for (std::int64_t i = 0; i < 2; ++i) {
        const Element row = (*parser)->row(columns, i);
        if (!(*parser)->spec().check(row).ok()) __builtin_trap();
        if (!serialize_example(row).ok()) __builtin_trap();
      }
      if (!(*parser)->batch(columns).ok()) __builtin_trap();
      break;
    }
    case 3: {
      const std::string_view records[] = {bytes, bytes.substr(0, size / 2)};
      std::vector<FeatureColumn> columns;
      std::vector<std::pair<std::int64_t, Status>> failed;
      if (!(*ragged)->parse(records, {}, columns, failed).ok()) return 0;
      std::size_t bad = 0;
      for (std::int64_t i = 0; i < 2; ++i) {
        if (bad < failed.size() && failed[bad].first == i) {
          ++bad;
          continue;
        }
        const Element row = (*ragged)->row(columns, i);
        if (!(*ragged)->spec().check(row).ok()) __builtin_trap();
        for (const RaggedComponent& c : ragged_components(row.structure())) {
          if (!check_ragged(
                   {row.leaves().data() + c.first_leaf, c.num_leaves()})
                   .ok()) {
            __builtin_trap();
          }
        }
      }
      if (bad != failed.size()) __builtin_trap();
      if (!(*ragged)->block_columns(columns).ok()) __builtin_trap();
      if (failed.empty() && !(*ragged)->batch(columns).ok()) __builtin_trap();
      break;
    }
    case 1: {
      const auto element = (*sequences)->parse(bytes);
      if (element.ok() && !(*sequences)->spec().check(*element).ok()) {
        __builtin_trap();
      }
      break;
    }
    default: {
      const auto tensor = parse_tensor(bytes);
      if (!tensor.ok()) return 0;
      const auto again = serialize_tensor(*tensor);
      if (!again.ok() || !parse_tensor(*again).ok()) __builtin_trap();
    }
  }
  return 0;
}

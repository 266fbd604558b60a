// tf.train.Example and SequenceExample: parsed straight from their bytes.
//
// A parser knows the features that are wanted; others are passed over without
// being decoded. Many records are parsed at once, into columns. As TensorFlow
// reads them: packed and unpacked lists, fields in any order, the last value of
// a key wins, a feature without a list counts as missing. Input is hostile.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/memory/block.h"
#include "penstock/memory/element.h"
#include "penstock/memory/spec.h"

namespace penstock {

/// What to read from a record, under which name.
struct Feature {
  enum class Kind : std::uint8_t {
    kFixedLen,          // exactly `shape`
    kVarLen,            // any number of values
    kFixedLenSequence,  // any number of `shape`
    kRagged,            // as kVarLen, cut into rows by `partitions`
  };
  /// How values are cut into rows: by the integers of another feature of the
  /// record, or each `length` of them.
  struct Partition {
    enum class Kind : std::uint8_t {
      kRowSplits,    // 0, end of row 0, end of row 1, ...
      kRowLengths,   // of each row
      kValueRowIds,  // of each value: its row
      kRowStarts,    // 0, begin of row 1, ...
      kRowLimits,    // end of row 0, end of row 1, ...
      kUniformRowLength,
    };
    Kind kind = Kind::kRowSplits;
    std::string key = "";
    std::int64_t length = 0;
  };
  std::string name;
  Kind kind = Kind::kFixedLen;
  /// float32, int64 or string.
  DType dtype = DType::kInvalid;
  Shape shape = {};
  /// In place of a missing feature (kFixedLen: a scalar or of `shape`), or
  /// what batches of kFixedLenSequence are padded with (a scalar).
  Tensor default_value = {};
  /// The key in the record, where it is not `name`.
  std::string key = "";
  /// kFixedLenSequence: a missing one is empty, not an error.
  bool allow_missing = true;
  /// kRagged: the outermost first. Uniform ones at the end are dimensions of
  /// the values.
  std::vector<Partition> partitions = {};

  /// Levels of rows of a record that are ragged: 0 is a dense array.
  int ragged_rank() const;
};

inline Feature fixed_len_feature(std::string name, DType dtype,
                                 Shape shape = {}, Tensor default_value = {}) {
  return {std::move(name), Feature::Kind::kFixedLen, dtype, std::move(shape),
          std::move(default_value)};
}
inline Feature var_len_feature(std::string name, DType dtype) {
  return {std::move(name), Feature::Kind::kVarLen, dtype};
}
inline Feature fixed_len_sequence_feature(std::string name, DType dtype,
                                          Shape shape = {},
                                          Tensor default_value = {}) {
  return {std::move(name), Feature::Kind::kFixedLenSequence, dtype,
          std::move(shape), std::move(default_value)};
}
inline Feature ragged_feature(std::string name, DType dtype,
                              std::string value_key = "",
                              std::vector<Feature::Partition> partitions = {}) {
  return {std::move(name),
          Feature::Kind::kRagged,
          dtype,
          {},
          {},
          std::move(value_key),
          true,
          std::move(partitions)};
}

/// The values of one feature in n records.
struct FeatureColumn {
  /// kFixedLen: [n, shape...]. Otherwise the values of all records, one after
  /// the other: [total] for kVarLen and kRagged, [total, shape...] for
  /// kFixedLenSequence.
  Tensor values;
  /// Otherwise: n + 1 numbers, record i has rows [splits[i], splits[i + 1]).
  std::vector<std::int64_t> splits;
  /// The rows of a partition: record i has lengths [records[i], records[i +
  /// 1]). The outermost first.
  struct Level {
    std::vector<std::int64_t> records;
    std::vector<std::int64_t> lengths;
  };
  std::vector<Level> levels = {};
};

class ExampleParser {
 public:
  /// InvalidArgument naming the feature that cannot be.
  static StatusOr<std::shared_ptr<const ExampleParser>> make(
      std::vector<Feature> features);

  const std::vector<Feature>& features() const { return features_; }
  /// Spec of one parsed record, and of a parsed batch of `n` (or kUnknownDim).
  Spec spec() const;
  Spec batch_spec(std::int64_t n) const;

  /// One column per feature. A record that cannot be parsed is named in
  /// `failed` (its number, and why) and has zeros or no values. Records in
  /// `skip` (rising) are not looked at. A failed status: out of memory.
  Status parse(std::span<const std::string_view> records,
               std::span<const std::int64_t> skip,
               std::vector<FeatureColumn>& out,
               std::vector<std::pair<std::int64_t, Status>>& failed) const;

  /// Record `row` of columns as a dict, and all of them as a batch.
  Element row(const std::vector<FeatureColumn>& columns,
              std::int64_t row) const;
  StatusOr<Element> batch(std::vector<FeatureColumn> columns) const;
  /// The leaves of spec() for all records, as columns of a block.
  StatusOr<Block::Columns> block_columns(
      std::vector<FeatureColumn> columns) const;

  class Lookup;

 private:
  ExampleParser() = default;
  std::vector<Feature> features_;
  /// What is read: features_, then those of their partitions.
  std::vector<Feature> read_;
  std::shared_ptr<const Lookup> lookup_;
};

/// One SequenceExample as a tuple of two dicts: context and sequences. Of the
/// latter, kFixedLenSequence is [steps, shape...], kVarLen and kRagged a ragged
/// value of the steps, each of which is cut by the same step of its partitions.
class SequenceExampleParser {
 public:
  static StatusOr<std::shared_ptr<const SequenceExampleParser>> make(
      std::vector<Feature> context, std::vector<Feature> sequences);
  Spec spec() const;
  StatusOr<Element> parse(std::string_view record) const;

 private:
  SequenceExampleParser() = default;
  std::shared_ptr<const ExampleParser> context_;
  std::vector<Feature> sequences_;
  /// What is read: sequences_, then those of their partitions.
  std::vector<Feature> read_;
  std::shared_ptr<const ExampleParser::Lookup> lookup_;
};

/// An Example of a dict of float, integer, bool or string tensors, flattened.
/// Keys are in order, as TensorFlow's deterministic serialisation has them.
StatusOr<std::string> serialize_example(const Element& dict);

}  // namespace penstock

// CSV (RFC 4180): records, fields, typed columns. Input is hostile.
//
// A field in quotes may hold delimiters, line ends and doubled quotes. A quote
// elsewhere is an error of its record and opens nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/formats/splitter.h"
#include "penstock/memory/spec.h"
#include "penstock/memory/tensor.h"

namespace penstock {

struct CsvFormat {
  char delimiter = ',';
  bool quotes = true;  // '"' around fields
  /// A field of these bytes counts as missing, as an empty one does.
  std::string na_value = "";
};

/// Records of CSV: lines, but for line ends in quotes. Empty lines are none.
class CsvSplitter final : public Splitter {
 public:
  /// What `names` mean to the header. If it is another, nothing is read behind
  /// it.
  enum class Names : std::uint8_t {
    kTheHeader,     // it has these, in this order
    kNotReordered,  // it has others, or these in this order
  };
  CsvSplitter(CsvFormat format, bool header,
              std::vector<std::string> names = {},
              Names meaning = Names::kTheHeader)
      : format_(std::move(format)),
        header_(header),
        names_(std::move(names)),
        meaning_(meaning) {}
  void split(const SplitInput& in, SplitOutput& out) const override;

 private:
  bool fits(std::string_view header) const;
  Status other_header(std::string_view header, std::int64_t offset) const;

  const CsvFormat format_;
  const bool header_;
  const std::vector<std::string> names_;
  const Names meaning_;
};

/// The fields of a record; what had to be changed lies in `scratch`.
/// InvalidArgument for quotes where none can be.
Status split_fields(std::string_view record, const CsvFormat& format,
                    std::vector<std::string_view>& fields,
                    std::string& scratch);

struct CsvColumn {
  std::string name;
  /// int32, int64, float32, float64, bool or string.
  DType dtype = DType::kString;
  /// For a missing field, a scalar of `dtype`; without one it is an error.
  Tensor default_value = {};
  /// Place among the fields; -1: the place in the list of columns.
  std::int64_t index = -1;
};

/// Parses many records into one tensor per column.
class CsvParser {
 public:
  /// `fields` is how many fields a record must have; -1: as many as the
  /// columns need, or more.
  static StatusOr<std::shared_ptr<const CsvParser>> make(
      std::vector<CsvColumn> columns, std::int64_t fields, CsvFormat format);
  const std::vector<CsvColumn>& columns() const { return columns_; }
  /// A dict of scalars.
  Spec spec() const;
  /// As ExampleParser::parse().
  Status parse(std::span<const std::string_view> records,
               std::span<const std::int64_t> skip, std::vector<Tensor>& out,
               std::vector<std::pair<std::int64_t, Status>>& failed) const;

 private:
  CsvParser() = default;
  std::vector<CsvColumn> columns_;
  std::int64_t fields_ = 0;
  std::int64_t last_ = 0;  // the largest index of a column
  CsvFormat format_;
};

/// The narrowest of int64, float32, float64 and string that all `values` can
/// be; empty ones do not count.
DType infer_dtype(std::span<const std::string> values);

}  // namespace penstock

// Runs a program over the rows of a block.
//
// evaluate() works operation by operation, each over all rows, and frees
// every value after its last use. It may be called from many threads.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "penstock/expr/program.h"
#include "penstock/expr/value.h"

namespace penstock::expr {

struct Rows {
  std::int64_t count = 1;
  /// One tensor per leaf of the input: [count, ...] if `batched`. Otherwise
  /// count is 1 and they are the leaves of one element.
  std::span<const Tensor> inputs;
  bool batched = true;
  /// Keys of random values; may be null for a program without any.
  std::function<std::uint64_t(std::int64_t row)> random_key;
  /// Rows that are errors already; empty or one flag per row.
  std::span<const bool> skip;
};

/// Appends one column per leaf of the result; for one element, packed columns
/// that hold its leaves as they are. Rows that failed are listed in `errors`,
/// rising; their values mean nothing. A failed status means that all rows
/// failed.
Status evaluate(const Program& program, const Rows& rows,
                std::vector<Column>& outputs, RowErrors& errors);
/// The same where every column is packed: for one element always.
Status evaluate(const Program& program, const Rows& rows,
                std::vector<Tensor>& outputs, RowErrors& errors);

/// An error of the native operation `name`, which its message then begins with.
Status named_status(const Status& status, std::string_view name);

/// Whether some operation can only be run element by element.
bool needs_single_rows(const Program& program);

}  // namespace penstock::expr

// Operations over all rows at once, one function per class of operation.
//
// `rows` counts rows; a result is batched when one of the inputs is. Shapes
// were checked by infer() as far as they were known then; the rest is checked
// here, for the values at hand.
#pragma once

#include <span>

#include "penstock/expr/program.h"
#include "penstock/expr/value.h"

namespace penstock::expr {

/// Memory for `shape` per element.
StatusOr<Value> allocate_value(DType dtype, const Shape& element, bool batched,
                               std::int64_t rows);

StatusOr<Value> run_elementwise(const Node& node, const LeafSpec& out,
                                std::span<const Value* const> in,
                                std::int64_t rows, RowErrors& errors);
StatusOr<Value> run_reduce(const Node& node, const Value& in,
                           std::int64_t rows);
StatusOr<Value> run_shape(const Node& node, const LeafSpec& out,
                          std::span<const Value* const> in, std::int64_t rows,
                          RowErrors& errors);
StatusOr<Value> run_matmul(const Value& a, const Value& b, std::int64_t rows);

}  // namespace penstock::expr

// Native operations by name: image decoding, parsing, users' own C++.
//
// An operation that a traced function may call registers here with a spec
// inference and a kernel. The kernel works on one element at a time (`row`) or
// on all elements of a block (`block`), without the GIL, on any thread, and
// must not depend on anything but its arguments, attributes and random key.
// Registration happens before main() or when a library is loaded; afterwards
// entries are only read.
//
//   Status twice(const expr::RowCall& call, std::vector<Tensor>& out) {...}
//   PENSTOCK_NATIVE_OP(twice, {
//       .name = "my.twice", .infer = expr::same_as_first(), .row = twice});
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/base/status.h"
#include "penstock/expr/attributes.h"
#include "penstock/memory/block.h"
#include "penstock/memory/spec.h"
#include "penstock/memory/tensor.h"

namespace penstock::expr {

/// One element's call.
struct RowCall {
  /// The tensor arguments, as they are for this element.
  std::span<const Tensor> args;
  const Attributes& attributes;
  /// Key of this element's random numbers for this call (RandomStream).
  std::uint64_t random_key = 0;
  /// Key of the element, from which those of all calls are made (native_key).
  std::uint64_t element_key = 0;
  /// What NativeOp::prepare made of the attributes.
  const void* prepared = nullptr;
};

/// The call for all elements of a block whose arguments have one shape each.
struct BlockCall {
  std::int64_t rows = 0;
  /// Argument i is [rows, ...] if `batched[i]`, else the same for each row.
  std::span<const Tensor> args;
  std::span<const bool> batched;
  const Attributes& attributes;
  std::span<const std::uint64_t> random_keys;  // one per row
  /// Rows that are errors already and must not be looked at; may be empty.
  std::span<const bool> skip;
  /// What went wrong with single rows goes here: (row, status), rising.
  std::vector<std::pair<std::int64_t, Status>>* errors = nullptr;
  const void* prepared = nullptr;
};

struct NativeOp {
  std::string name;
  /// One spec per result; InvalidArgument (naming operation and parameter) if
  /// the arguments cannot be right. Called when the function is traced.
  std::function<StatusOr<std::vector<LeafSpec>>(std::span<const LeafSpec> args,
                                                const Attributes& attributes)>
      infer;
  /// Makes what all calls share out of the attributes, once; optional.
  std::function<StatusOr<std::shared_ptr<const void>>(
      const Attributes& attributes)>
      prepare = nullptr;
  /// Appends one tensor per result. Exactly one of `row`, `block` and `columns`
  /// is set.
  std::function<Status(const RowCall& call, std::vector<Tensor>& out)> row =
      nullptr;
  /// Appends one [rows, ...] tensor per result.
  std::function<Status(const BlockCall& call, std::vector<Tensor>& out)> block =
      nullptr;
  /// The same for results whose shape differs from row to row: a column is
  /// packed, [rows, ...], or one tensor per row.
  std::function<Status(const BlockCall& call, std::vector<Column>& out)>
      columns = nullptr;
  /// May wait (reads files): it is run like a user's function.
  bool blocking = false;
  /// Uses its random key. Calls of a function are numbered, so that each draws
  /// other values; calls that draw nothing do not count.
  bool random = false;
  /// Changes when the meaning of the operation does; in the fingerprint.
  int version = 1;
};

/// AlreadyExists for a name that is taken, InvalidArgument for an entry that
/// lacks a name, an inference or a kernel.
Status register_native_op(NativeOp op);
/// Null if there is none. The entry lives as long as the process.
const NativeOp* find_native_op(std::string_view name);
/// All names, sorted.
std::vector<std::string> native_op_names();

/// Inference for a single result that is like the first argument.
std::function<StatusOr<std::vector<LeafSpec>>(std::span<const LeafSpec>,
                                              const Attributes&)>
same_as_first();

namespace detail {
struct RegisterNativeOp {
  explicit RegisterNativeOp(NativeOp op);  // aborts on a programmer's mistake
};
}  // namespace detail

#define PENSTOCK_NATIVE_OP(id, ...)                       \
  static const ::penstock::expr::detail::RegisterNativeOp \
      penstock_native_op_##id {                           \
    ::penstock::expr::NativeOp __VA_ARGS__                \
  }

}  // namespace penstock::expr

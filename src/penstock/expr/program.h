// A program: what a traced function became.
//
// A list of operations on earlier results, written once by a builder (the
// tracer), checked operation by operation, and immutable from then on. It
// knows nothing of threads, blocks or Python; evaluate.h runs it over rows.
// Equal programs encode to equal bytes, which is also their fingerprint.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "penstock/base/status.h"
#include "penstock/expr/attributes.h"
#include "penstock/expr/native_ops.h"
#include "penstock/expr/op.h"
#include "penstock/memory/spec.h"

namespace penstock::expr {

struct Node {
  Op op = Op::kInput;
  absl::InlinedVector<std::int32_t, 3> inputs;
  std::vector<std::int64_t> ints;
  DType dtype = DType::kInvalid;  // of casts and random numbers
  bool keepdims = false;
  Tensor constant;
  std::string name;       // of a native operation
  Attributes attributes;  // of a native operation
  const NativeOp* native = nullptr;
  std::shared_ptr<const void> prepared;  // by the native operation
  /// What it gives; several only for a native operation.
  std::vector<LeafSpec> specs;
};

/// What add() needs to know besides the inputs.
struct NodeOptions {
  std::vector<std::int64_t> ints = {};
  DType dtype = DType::kInvalid;
  bool keepdims = false;
  std::string name = "";
  Attributes attributes = {};
};

class Program {
 public:
  /// Most operations of one program.
  static constexpr std::size_t kMaxNodes = 10'000;

  /// For elements of `input`: its structure, dtypes and ranks must be known.
  static StatusOr<Program> make(Spec input);

  /// Appends an operation and gives its number. InvalidArgument when dtypes
  /// or shapes do not fit, ResourceExhausted past kMaxNodes.
  StatusOr<std::int32_t> add(Op op, std::span<const std::int32_t> inputs,
                             NodeOptions options = {});
  StatusOr<std::int32_t> add_constant(Tensor value);
  /// What leaf `i` of the result is; its structure.
  Status set_result(const Structure* structure,
                    std::vector<std::int32_t> outputs);

  const Spec& input_spec() const { return input_; }
  const Spec& output_spec() const { return output_; }
  const std::vector<Node>& nodes() const { return nodes_; }
  const std::vector<std::int32_t>& outputs() const { return outputs_; }
  const LeafSpec& spec(std::int32_t node) const {
    return nodes_[static_cast<std::size_t>(node)].specs[0];
  }
  /// Operations after which each result is needed no longer: its own number
  /// where only its error matters, -1 where nothing does.
  const std::vector<std::int32_t>& last_use() const { return last_use_; }
  /// Whether there may be elements for which `node` gives an error.
  bool can_fail(const Node& node) const;
  bool blocking() const { return blocking_; }
  bool random() const { return random_; }

  /// Bytes from which decode() makes an equal program; it checks all of them
  /// again and treats them as hostile.
  std::string encode() const;
  static StatusOr<Program> decode(std::string_view bytes);
  std::string fingerprint() const;
  /// One line per operation: "%2 = add(%0, %1): int64()".
  std::string to_string() const;

 private:
  Spec input_;
  Spec output_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> outputs_;
  std::vector<std::int32_t> last_use_;
  bool blocking_ = false;
  bool random_ = false;
};
using ProgramRef = std::shared_ptr<const Program>;

/// Specs of what `node` gives for inputs of these specs.
StatusOr<std::vector<LeafSpec>> infer(const Node& node,
                                      std::span<const LeafSpec> inputs);

/// Begin, step and count of a Python slice over `size` values.
struct SliceRange {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};
SliceRange normalize_slice(std::int64_t start, std::int64_t stop,
                           std::int64_t step, std::int64_t size);

}  // namespace penstock::expr

#include "penstock/expr/evaluate.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "penstock/base/random.h"
#include "penstock/expr/kernels.h"
#include "penstock/expr/random_values.h"
#include "penstock/memory/block.h"
#include "penstock/memory/placement.h"

namespace penstock::expr {
namespace {

class Evaluation {
 public:
  Evaluation(const Program& program, const Rows& rows, RowErrors& errors)
      : program_(program),
        rows_(rows),
        errors_(errors),
        values_(program.nodes().size()) {}

  Status run() {
    const auto& nodes = program_.nodes();
    const auto& last_use = program_.last_use();
    Placement* const slot = current_placement();
    const std::vector<bool> result =
        slot != nullptr ? results() : std::vector<bool>();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (last_use[n] < 0) continue;  // nobody reads it, and it cannot fail
      // A value on the way would take the slot, and the result be copied.
      const PlacementScope offer(slot != nullptr && result[n] ? slot : nullptr);
      PS_ASSIGN_OR_RETURN(values_[n], run_node(nodes[n]));
      for (const std::int32_t i : nodes[n].inputs) {
        const auto at = static_cast<std::size_t>(i);
        if (last_use[at] == static_cast<std::int32_t>(n)) values_[at] = {};
      }
      if (last_use[n] == static_cast<std::int32_t>(n)) values_[n] = {};
    }
    return absl::OkStatus();
  }

  StatusOr<Column> output(std::int32_t node) const {
    const Value& value = values_[static_cast<std::size_t>(node)];
    if (!value.rows.empty()) return Column(value.rows);
    if (value.batched == rows_.batched) return Column(value.tensor);
    PS_ASSIGN_OR_RETURN(Tensor repeated, repeat(value.tensor, rows_.count));
    return Column(std::move(repeated));
  }

 private:
  // Operations whose memory a result of the program lies in.
  std::vector<bool> results() const {
    const auto& nodes = program_.nodes();
    std::vector<bool> out(nodes.size());
    for (const std::int32_t i : program_.outputs()) {
      out[static_cast<std::size_t>(i)] = true;
    }
    for (std::size_t n = nodes.size(); n-- > 0;) {
      if (!out[n]) continue;
      if (nodes[n].op != Op::kResult && nodes[n].op != Op::kEnsureShape)
        continue;
      out[static_cast<std::size_t>(nodes[n].inputs[0])] = true;
    }
    return out;
  }

  static StatusOr<Tensor> repeat(const Tensor& row, std::int64_t count) {
    if (row.dtype() == DType::kString) {
      if (row.rank() != 0) {
        return make_error(StatusCode::kUnimplemented,
                          "a constant of several strings as a result");
      }
      const std::vector<std::string_view> values(
          static_cast<std::size_t>(count), row.str());
      return Tensor::strings(values, Shape{count});
    }
    PS_ASSIGN_OR_RETURN(
        Tensor out,
        Tensor::allocate(row.dtype(), row.shape().prepended(count)));
    const std::size_t bytes =
        static_cast<std::size_t>(row.num_elements()) * dtype_size(row.dtype());
    for (std::int64_t i = 0; i < count; ++i) {
      std::memcpy(out.mutable_data() + static_cast<std::size_t>(i) * bytes,
                  row.data(), bytes);
    }
    return out;
  }

  std::uint64_t key(std::int64_t row) const {
    return rows_.random_key ? rows_.random_key(row) : 0;
  }

  StatusOr<Value> run_node(const Node& node) {
    absl::InlinedVector<const Value*, 3> in;
    for (const std::int32_t i : node.inputs) {
      in.push_back(&values_[static_cast<std::size_t>(i)]);
    }
    switch (op_class(node.op)) {
      case OpClass::kInput: {
        const Tensor& tensor =
            rows_.inputs[static_cast<std::size_t>(node.ints[0])];
        return Value{tensor, rows_.batched, {}, {}};
      }
      case OpClass::kConst:
        return Value{node.constant, false, {}, {}};
      case OpClass::kReduce:
        return run_reduce(node, *in[0], rows_.count);
      case OpClass::kShape:
        return run_shape(node, node.specs[0], in, rows_.count, errors_);
      case OpClass::kOther:
        break;
      default:
        return run_elementwise(node, node.specs[0], in, rows_.count, errors_);
    }
    switch (node.op) {
      case Op::kMatmul:
        return run_matmul(*in[0], *in[1], rows_.count);
      case Op::kRandom:
        return run_random(node, in);
      case Op::kNative:
        return run_native(node, in);
      case Op::kResult:
        return in[0]->results[static_cast<std::size_t>(node.ints[0])];
      default:
        return internal_error("an operation without a kernel");
    }
  }

  StatusOr<Value> run_random(const Node& node,
                             std::span<const Value* const> in) {
    const auto kind = static_cast<RandomKind>(node.ints[0]);
    const auto call = static_cast<std::uint64_t>(node.ints[1]);
    const Shape shape(std::span<const std::int64_t>(node.ints).subspan(2));
    PS_ASSIGN_OR_RETURN(Value out, allocate_value(node.dtype, shape,
                                                  rows_.batched, rows_.count));
    const std::int64_t n = shape.num_elements();
    std::byte* to = out.tensor.mutable_data();
    for (std::int64_t row = 0; row < rows_.count; ++row) {
      std::int64_t bound = 1;
      if (kind == RandomKind::kBelow) {
        const auto* const bounds =
            reinterpret_cast<const std::int64_t*>(in[0]->tensor.data());
        bound = bounds[in[0]->batched ? row : 0];
        // What is negative is 2^63 and more of unsigned ones.
        const bool any = node.dtype == DType::kUInt64 ? bound != 0 : bound > 0;
        if (!any) {
          errors_.emplace_back(
              row, invalid_argument("random.uniform: maxval must be above "
                                    "minval, both within the dtype"));
          bound = 1;
        }
      }
      fill_random(kind, node.dtype, key(row), call, bound, n, to);
      to += static_cast<std::size_t>(n) * dtype_size(node.dtype);
    }
    return out;
  }

  StatusOr<Value> run_native(const Node& node,
                             std::span<const Value* const> in) {
    std::vector<Tensor> results;
    std::vector<Tensor> args;
    for (const Value* v : in) args.push_back(v->tensor);
    const std::uint64_t call =
        node.ints.empty() ? 0 : static_cast<std::uint64_t>(node.ints[0]);
    if (!node.native->row) {
      std::unique_ptr<bool[]> batched(new bool[in.size() + 1]);
      for (std::size_t i = 0; i < in.size(); ++i) batched[i] = in[i]->batched;
      std::vector<std::uint64_t> keys;
      for (std::int64_t r = 0; r < rows_.count; ++r) {
        keys.push_back(native_key(key(r), call));
      }
      if (!rows_.batched) {
        // One element as a block of one.
        for (std::size_t i = 0; i < in.size(); ++i) {
          if (op_class(
                  program_.nodes()[static_cast<std::size_t>(node.inputs[i])]
                      .op) == OpClass::kConst) {
            continue;
          }
          PS_ASSIGN_OR_RETURN(args[i], as_block_of_one(args[i]));
          batched[i] = true;
        }
      }
      const BlockCall block_call{rows_.count,
                                 args,
                                 {batched.get(), in.size()},
                                 node.attributes,
                                 keys,
                                 rows_.skip,
                                 &errors_,
                                 node.prepared.get()};
      if (node.native->columns) return run_columns(node, block_call);
      const std::size_t before = errors_.size();
      PS_RETURN_IF_ERROR(
          named_status(node.native->block(block_call, results), node.name));
      name_errors(before, node.name);
      if (!rows_.batched) {
        for (Tensor& t : results) t = t.row(0);
      }
    } else {
      if (rows_.batched) {
        return internal_error(node.name, " was not run row by row");
      }
      const RowCall row_call{args, node.attributes, native_key(key(0), call),
                             key(0), node.prepared.get()};
      PS_RETURN_IF_ERROR(
          named_status(node.native->row(row_call, results), node.name));
    }
    if (results.size() != node.specs.size()) {
      return internal_error(node.name, " gave ", results.size(),
                            " results instead of ", node.specs.size());
    }
    Value out;
    for (std::size_t i = 0; i < results.size(); ++i) {
      PS_RETURN_IF_ERROR(check_result(node, i, results[i], rows_.batched));
      out.results.push_back({std::move(results[i]), rows_.batched, {}, {}});
    }
    return out;
  }

  static Status check_result(const Node& node, std::size_t i, const Tensor& t,
                             bool batched) {
    const LeafSpec& spec = node.specs[i];
    const Shape shape = batched ? t.shape().without_first() : t.shape();
    if ((spec.dtype == DType::kInvalid || spec.dtype == t.dtype()) &&
        spec.shape.accepts(shape)) {
      return absl::OkStatus();
    }
    return internal_error(node.name, " gave ", to_absl(dtype_name(t.dtype())),
                          shape.to_string(), " instead of ", spec.to_string());
  }

  void name_errors(std::size_t first, const std::string& name) {
    for (std::size_t i = first; i < errors_.size(); ++i) {
      errors_[i].second = named_status(errors_[i].second, name);
    }
  }

  StatusOr<Value> run_columns(const Node& node, const BlockCall& call) {
    std::vector<Column> results;
    const std::size_t before = errors_.size();
    PS_RETURN_IF_ERROR(
        named_status(node.native->columns(call, results), node.name));
    name_errors(before, node.name);
    if (results.size() != node.specs.size()) {
      return internal_error(node.name, " gave ", results.size(),
                            " results instead of ", node.specs.size());
    }
    Value out;
    for (std::size_t i = 0; i < results.size(); ++i) {
      Column& column = results[i];
      Value value;
      value.batched = rows_.batched;
      if (!rows_.batched) {
        value.tensor = column.row(0);
        PS_RETURN_IF_ERROR(check_result(node, i, value.tensor, false));
      } else if (column.packed()) {
        PS_RETURN_IF_ERROR(check_result(node, i, column.tensor(), true));
        value.tensor = std::move(column.tensor());
      } else {
        for (const Tensor& t : column.rows()) {
          PS_RETURN_IF_ERROR(check_result(node, i, t, false));
        }
        value.rows = std::move(column.rows());
      }
      out.results.push_back(std::move(value));
    }
    return out;
  }

  static StatusOr<Tensor> as_block_of_one(const Tensor& t) {
    if (t.dtype() == DType::kString && t.rank() == 0) {
      const std::string_view value = t.str();
      return Tensor::strings({&value, 1}, Shape{1});
    }
    return stack_tensors({&t, 1});
  }

  const Program& program_;
  const Rows& rows_;
  RowErrors& errors_;
  std::vector<Value> values_;
};

}  // namespace

Status named_status(const Status& status, std::string_view name) {
  if (status.ok()) return status;
  const std::string_view message(status.message().data(),
                                 status.message().size());
  const auto starts = [&](std::string_view with) {
    return message.substr(0, with.size()) == with &&
           message.substr(with.size(), 2) == ": ";
  };
  if (starts(name)) return status;
  // Functions of the library name themselves, without the name's first part.
  const std::size_t dot = name.find('.');
  if (dot != std::string_view::npos && starts(name.substr(dot + 1))) {
    return annotate(status, std::string(name.substr(0, dot + 1)));
  }
  return annotate(status, absl::StrCat(to_absl(name), ": "));
}

bool needs_single_rows(const Program& program) {
  const auto& nodes = program.nodes();
  // Results that may differ in shape from row to row.
  std::vector<bool> loose(nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const Node& node = nodes[n];
    if (program.last_use()[n] < 0) continue;
    if (node.op == Op::kNative && node.native->row) return true;
    for (const std::int32_t i : node.inputs) {
      if (loose[static_cast<std::size_t>(i)]) return true;
    }
    if (node.op == Op::kResult) {
      const Node& from = nodes[static_cast<std::size_t>(node.inputs[0])];
      loose[n] = from.native->columns && !node.specs[0].shape.fully_known();
    }
  }
  return false;
}

Status evaluate(const Program& program, const Rows& rows,
                std::vector<Column>& outputs, RowErrors& errors) {
  Evaluation evaluation(program, rows, errors);
  PS_RETURN_IF_ERROR(evaluation.run());
  for (const std::int32_t node : program.outputs()) {
    PS_ASSIGN_OR_RETURN(Column column, evaluation.output(node));
    outputs.push_back(std::move(column));
  }
  std::stable_sort(
      errors.begin(), errors.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  errors.erase(std::unique(errors.begin(), errors.end(),
                           [](const auto& a, const auto& b) {
                             return a.first == b.first;
                           }),
               errors.end());
  return absl::OkStatus();
}

Status evaluate(const Program& program, const Rows& rows,
                std::vector<Tensor>& outputs, RowErrors& errors) {
  std::vector<Column> columns;
  PS_RETURN_IF_ERROR(evaluate(program, rows, columns, errors));
  for (Column& column : columns) {
    if (!column.packed()) {
      return internal_error(
          "a result of different shapes was not run row by "
          "row");
    }
    outputs.push_back(std::move(column.tensor()));
  }
  return absl::OkStatus();
}

}  // namespace penstock::expr

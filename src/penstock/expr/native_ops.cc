#include "penstock/expr/native_ops.h"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>

#include "penstock/expr/builtin_ops.h"

namespace penstock::expr {
namespace {

struct Table {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<NativeOp>, std::less<>> ops;
};

// Leaked: operations may still run while the process ends.
Table& table() {
  static Table* const table = [] {
    auto* made = new Table;
    std::vector<NativeOp> ops;
    add_image_ops(ops);
    add_image_color_ops(ops);
    add_image_random_ops(ops);
    add_image_fused_op(ops);
    add_io_ops(ops);
    add_ragged_ops(ops);
    add_random_ops(ops);
    add_string_ops(ops);
    for (NativeOp& op : ops) {
      std::string name = op.name;
      made->ops.emplace(std::move(name),
                        std::make_unique<NativeOp>(std::move(op)));
    }
    return made;
  }();
  return *table;
}

}  // namespace

Status register_native_op(NativeOp op) {
  if (op.name.empty()) return invalid_argument("native op: it has no name");
  if (!op.infer) {
    return invalid_argument("native op ", op.name, ": infer is missing");
  }
  if ((op.row != nullptr) + (op.block != nullptr) + (op.columns != nullptr) !=
      1) {
    return invalid_argument(
        "native op ", op.name,
        ": exactly one of row, block and columns must be given");
  }
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const std::string name = op.name;
  const bool added =
      t.ops.try_emplace(name, std::make_unique<NativeOp>(std::move(op))).second;
  if (added) return absl::OkStatus();
  return make_error(StatusCode::kAlreadyExists, "native op ", name,
                    " is registered already");
}

const NativeOp* find_native_op(std::string_view name) {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  const auto it = t.ops.find(name);
  return it == t.ops.end() ? nullptr : it->second.get();
}

std::vector<std::string> native_op_names() {
  Table& t = table();
  const std::lock_guard lock(t.mutex);
  std::vector<std::string> names;
  for (const auto& [name, op] : t.ops) names.push_back(name);
  return names;
}

std::function<StatusOr<std::vector<LeafSpec>>(std::span<const LeafSpec>,
                                              const Attributes&)>
same_as_first() {
  return [](std::span<const LeafSpec> args,
            const Attributes&) -> StatusOr<std::vector<LeafSpec>> {
    if (args.empty()) return invalid_argument("it takes one argument");
    return std::vector<LeafSpec>{args[0]};
  };
}

namespace detail {

RegisterNativeOp::RegisterNativeOp(NativeOp op) {
  const Status status = register_native_op(std::move(op));
  if (status.ok()) return;
  std::fprintf(stderr, "penstock: %s\n", status.ToString().c_str());
  std::abort();
}

}  // namespace detail

}  // namespace penstock::expr

#include "penstock/expr/compose.h"

#include "penstock/expr/prune.h"

namespace penstock::expr {

StatusOr<Program> compose(const Program& first, const Program& second) {
  if (first.output_spec().structure() != second.input_spec().structure()) {
    return invalid_argument(
        "compose: the one gives ", first.output_spec().to_string(),
        ", the other takes ", second.input_spec().to_string());
  }
  PS_ASSIGN_OR_RETURN(Program out, Program::make(first.input_spec()));
  std::vector<std::int32_t> place(first.nodes().size());
  for (std::size_t i = 0; i < first.input_spec().leaves().size(); ++i) {
    place[i] = static_cast<std::int32_t>(i);
  }
  PS_RETURN_IF_ERROR(append_nodes(
      first, std::vector<bool>(first.nodes().size(), true), place, out));
  std::vector<std::int32_t> behind(second.nodes().size());
  for (std::size_t i = 0; i < first.outputs().size(); ++i) {
    behind[i] = place[static_cast<std::size_t>(first.outputs()[i])];
  }
  PS_RETURN_IF_ERROR(append_nodes(
      second, std::vector<bool>(second.nodes().size(), true), behind, out));
  std::vector<std::int32_t> outputs = second.outputs();
  for (std::int32_t& output : outputs) {
    output = behind[static_cast<std::size_t>(output)];
  }
  PS_RETURN_IF_ERROR(
      out.set_result(second.output_spec().structure(), std::move(outputs)));
  return out;
}

int native_calls(const Program& program) {
  int calls = 0;
  for (std::size_t i = 0; i < program.nodes().size(); ++i) {
    calls += program.nodes()[i].op == Op::kNative && program.last_use()[i] >= 0;
  }
  return calls;
}

}  // namespace penstock::expr

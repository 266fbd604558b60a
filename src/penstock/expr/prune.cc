#include "penstock/expr/prune.h"

namespace penstock::expr {
namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

/// Nodes that `outputs` depend on, and those whose errors matter.
std::vector<bool> reached(const Program& program,
                          const std::vector<std::int32_t>& outputs) {
  std::vector<bool> found(program.nodes().size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i] = program.last_use()[i] == static_cast<std::int32_t>(i);
  }
  for (const std::int32_t output : outputs) found[at(output)] = true;
  for (std::size_t i = program.nodes().size(); i-- > 0;) {
    if (!found[i]) continue;
    for (const std::int32_t input : program.nodes()[i].inputs) {
      found[at(input)] = true;
    }
  }
  return found;
}

const Structure* tuple_of(std::size_t leaves) {
  return Structure::tuple(
      std::vector<const Structure*>(leaves, Structure::leaf()));
}

}  // namespace

Status append_nodes(const Program& from, const std::vector<bool>& wanted,
                    std::vector<std::int32_t>& place, Program& to) {
  for (std::size_t i = 0; i < from.nodes().size(); ++i) {
    const Node& node = from.nodes()[i];
    if (!wanted[i] || node.op == Op::kInput) continue;
    if (node.op == Op::kConst) {
      PS_ASSIGN_OR_RETURN(place[i], to.add_constant(node.constant));
      continue;
    }
    std::vector<std::int32_t> inputs;
    for (const std::int32_t input : node.inputs) {
      inputs.push_back(place[at(input)]);
    }
    PS_ASSIGN_OR_RETURN(place[i], to.add(node.op, inputs,
                                         {node.ints, node.dtype, node.keepdims,
                                          node.name, node.attributes}));
  }
  return absl::OkStatus();
}

std::vector<bool> leaves_read(const Program& program) {
  std::vector<bool> read(program.input_spec().leaves().size());
  if (program.input_spec().structure()->has_ragged()) {
    read.assign(read.size(), true);
    return read;
  }
  const auto use = [&](std::int32_t i) {
    const Node& node = program.nodes()[at(i)];
    if (node.op == Op::kInput) {
      read[static_cast<std::size_t>(node.ints[0])] = true;
    }
  };
  for (const Node& node : program.nodes()) {
    for (const std::int32_t input : node.inputs) use(input);
  }
  for (const std::int32_t output : program.outputs()) use(output);
  return read;
}

std::vector<bool> leaves_needed(const Program& program,
                                const std::vector<bool>& read) {
  std::vector<bool> needed(program.outputs().size(), true);
  // Random calls are numbered: leaving one out would change the others.
  if (program.random() || read.size() != needed.size() ||
      program.output_spec().structure()->has_ragged()) {
    return needed;
  }
  std::vector<std::int32_t> kept;
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i]) kept.push_back(program.outputs()[i]);
  }
  const std::vector<bool> alive = reached(program, kept);
  for (std::size_t i = 0; i < read.size(); ++i) {
    if (read[i]) continue;
    const std::vector<bool> own = reached(program, {program.outputs()[i]});
    bool safe = true;
    for (std::size_t k = 0; k < own.size() && safe; ++k) {
      safe = !own[k] || alive[k] || !program.can_fail(program.nodes()[k]);
    }
    needed[i] = !safe;
  }
  return needed;
}

StatusOr<Program> give_only(const Program& program,
                            const std::vector<bool>& kept) {
  std::vector<std::int32_t> outputs;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) outputs.push_back(program.outputs()[i]);
  }
  PS_ASSIGN_OR_RETURN(Program out, Program::make(program.input_spec()));
  std::vector<std::int32_t> place(program.nodes().size());
  for (std::size_t i = 0; i < program.input_spec().leaves().size(); ++i) {
    place[i] = static_cast<std::int32_t>(i);
  }
  PS_RETURN_IF_ERROR(
      append_nodes(program, reached(program, outputs), place, out));
  for (std::int32_t& output : outputs) output = place[at(output)];
  const Structure* structure = tuple_of(outputs.size());
  PS_RETURN_IF_ERROR(out.set_result(structure, std::move(outputs)));
  return out;
}

StatusOr<Program> take_only(const Program& program,
                            const std::vector<bool>& kept) {
  std::vector<LeafSpec> leaves;
  std::vector<std::int32_t> place(program.nodes().size());
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (!kept[i]) continue;
    place[i] = static_cast<std::int32_t>(leaves.size());
    leaves.push_back(program.input_spec().leaves()[i]);
  }
  const Structure* structure = tuple_of(leaves.size());
  PS_ASSIGN_OR_RETURN(Program out,
                      Program::make(Spec(structure, std::move(leaves))));
  PS_RETURN_IF_ERROR(append_nodes(
      program, std::vector<bool>(program.nodes().size(), true), place, out));
  std::vector<std::int32_t> outputs = program.outputs();
  for (std::int32_t& output : outputs) output = place[at(output)];
  PS_RETURN_IF_ERROR(
      out.set_result(program.output_spec().structure(), std::move(outputs)));
  return out;
}

}  // namespace penstock::expr

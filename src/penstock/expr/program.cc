#include "penstock/expr/program.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_join.h"

namespace penstock::expr {
namespace {

struct OpEntry {
  std::string_view name;
  OpClass cls;
};
constexpr std::array<OpEntry, kNumOps> kOps = {{
#define X(id, name, cls) {name, OpClass::cls},
    PENSTOCK_EXPR_OPS(X)
#undef X
}};

// Changes when encoded programs of earlier versions must not be read.
constexpr std::uint64_t kFormat = 1;

template <class T>
bool has_negative(const Tensor& t) {
  const auto values = t.as<T>();
  return std::any_of(values.begin(), values.end(), [](T v) { return v < 0; });
}

/// Whether an exponent may be one that integers have no power of.
bool may_be_negative(const Node& exponent) {
  const DType dtype = exponent.specs[0].dtype;
  const bool known = exponent.op == Op::kConst;
  switch (dtype) {
    case DType::kInt8:
      return !known || has_negative<std::int8_t>(exponent.constant);
    case DType::kInt16:
      return !known || has_negative<std::int16_t>(exponent.constant);
    case DType::kInt32:
      return !known || has_negative<std::int32_t>(exponent.constant);
    case DType::kInt64:
      return !known || has_negative<std::int64_t>(exponent.constant);
    default:
      return false;
  }
}

void encode_structure(const Structure& s, Encoder& out) {
  out.u64(static_cast<std::uint64_t>(s.kind()));
  out.bytes(s.tag());
  out.u64(s.kind() == Structure::Kind::kRagged
              ? static_cast<std::uint64_t>(s.ragged_rank())
              : s.children().size());
  if (s.kind() == Structure::Kind::kRagged) return;
  for (std::size_t i = 0; i < s.children().size(); ++i) {
    if (s.kind() == Structure::Kind::kDict) out.bytes(s.keys()[i]);
    encode_structure(*s.children()[i], out);
  }
}

const Structure* decode_structure(Decoder& in, int depth) {
  const std::uint64_t kind = in.u64();
  std::string tag(in.bytes());
  const std::size_t n = in.count(0);
  if (!in.ok() || depth > 64) {
    in.fail();
    return Structure::leaf();
  }
  switch (static_cast<Structure::Kind>(kind)) {
    case Structure::Kind::kLeaf:
      return Structure::leaf();
    case Structure::Kind::kAbsent:
      return Structure::absent();
    case Structure::Kind::kRagged:
      if (n < 1 || n > 8) in.fail();
      return in.ok() ? Structure::ragged(static_cast<int>(n))
                     : Structure::leaf();
    case Structure::Kind::kTuple: {
      std::vector<const Structure*> children;
      for (std::size_t i = 0; i < n && in.ok(); ++i) {
        children.push_back(decode_structure(in, depth + 1));
      }
      if (!in.ok()) return Structure::leaf();
      return Structure::tuple(std::move(children), std::move(tag));
    }
    case Structure::Kind::kDict: {
      std::vector<std::pair<std::string, const Structure*>> items;
      for (std::size_t i = 0; i < n && in.ok(); ++i) {
        std::string key(in.bytes());
        const Structure* child = decode_structure(in, depth + 1);
        items.emplace_back(std::move(key), child);
      }
      if (!in.ok()) return Structure::leaf();
      return Structure::dict(std::move(items), std::move(tag));
    }
  }
  in.fail();
  return Structure::leaf();
}

void encode_leaf(const LeafSpec& leaf, Encoder& out) {
  out.u64(static_cast<std::uint64_t>(leaf.dtype));
  out.boolean(leaf.shape.has_rank());
  if (!leaf.shape.has_rank()) return;
  out.u64(leaf.shape.rank());
  for (std::size_t i = 0; i < leaf.shape.rank(); ++i) out.i64(leaf.shape[i]);
}

LeafSpec decode_leaf(Decoder& in) {
  LeafSpec leaf;
  const std::uint64_t dtype = in.u64();
  if (dtype >= static_cast<std::uint64_t>(kNumDTypes))
    in.fail();
  else
    leaf.dtype = static_cast<DType>(dtype);
  if (!in.boolean()) return leaf;
  Shape shape;
  const std::size_t rank = in.count();
  for (std::size_t i = 0; i < rank && in.ok(); ++i) {
    const std::int64_t dim = in.i64();
    if (dim < kUnknownDim) in.fail();
    shape.push_back(dim);
  }
  leaf.shape = PartialShape(shape);
  return leaf;
}

}  // namespace

std::string_view op_name(Op op) { return kOps[static_cast<int>(op)].name; }
OpClass op_class(Op op) { return kOps[static_cast<int>(op)].cls; }
bool op_from_name(std::string_view name, Op& out) {
  for (int i = 0; i < kNumOps; ++i) {
    if (kOps[i].name == name) {
      out = static_cast<Op>(i);
      return true;
    }
  }
  return false;
}

StatusOr<Program> Program::make(Spec input) {
  if (!input.known()) {
    return invalid_argument("a program needs the structure of its input");
  }
  Program program;
  program.input_ = std::move(input);
  for (const LeafSpec& leaf : program.input_.leaves()) {
    Node node;
    node.op = Op::kInput;
    node.ints = {static_cast<std::int64_t>(program.nodes_.size())};
    node.specs = {leaf};
    program.nodes_.push_back(std::move(node));
  }
  return program;
}

StatusOr<std::int32_t> Program::add(Op op, std::span<const std::int32_t> inputs,
                                    NodeOptions options) {
  if (nodes_.size() >= kMaxNodes) {
    return make_error(StatusCode::kResourceExhausted, "a program has at most ",
                      kMaxNodes, " operations");
  }
  Node node;
  node.op = op;
  node.inputs.assign(inputs.begin(), inputs.end());
  node.ints = std::move(options.ints);
  node.dtype = options.dtype;
  node.keepdims = options.keepdims;
  node.name = std::move(options.name);
  node.attributes = std::move(options.attributes);
  std::vector<LeafSpec> specs;
  for (const std::int32_t i : inputs) {
    if (i < 0 || static_cast<std::size_t>(i) >= nodes_.size()) {
      return invalid_argument(to_absl(op_name(op)), ": there is no value ", i);
    }
    const Node& from = nodes_[static_cast<std::size_t>(i)];
    if (from.op == Op::kNative && op != Op::kResult) {
      return invalid_argument(to_absl(op_name(op)),
                              ": results of a native operation are taken "
                              "one by one");
    }
    if (!from.specs.empty()) specs.push_back(from.specs[0]);
  }
  if (op == Op::kResult) {
    if (inputs.size() != 1 || node.ints.size() != 1) {
      return invalid_argument("result: takes one input and one number");
    }
    const Node& from = nodes_[static_cast<std::size_t>(inputs[0])];
    if (from.op != Op::kNative || node.ints[0] < 0 ||
        static_cast<std::size_t>(node.ints[0]) >= from.specs.size()) {
      return invalid_argument("result: there is no result ", node.ints[0]);
    }
    node.specs = {from.specs[static_cast<std::size_t>(node.ints[0])]};
  } else {
    if (op == Op::kNative) {
      node.native = find_native_op(node.name);
      if (node.native == nullptr) {
        return make_error(StatusCode::kNotFound, "there is no native op ",
                          node.name);
      }
      blocking_ = blocking_ || node.native->blocking;
      random_ = random_ || node.native->random;
    }
    if (op == Op::kRandom) random_ = true;
    PS_ASSIGN_OR_RETURN(node.specs, infer(node, specs));
    if (node.native != nullptr && node.native->prepare) {
      auto prepared = node.native->prepare(node.attributes);
      if (!prepared.ok()) {
        return annotate(prepared.status(), absl::StrCat(node.name, ": "));
      }
      node.prepared = *std::move(prepared);
    }
  }
  nodes_.push_back(std::move(node));
  return static_cast<std::int32_t>(nodes_.size()) - 1;
}

StatusOr<std::int32_t> Program::add_constant(Tensor value) {
  if (nodes_.size() >= kMaxNodes) {
    return make_error(StatusCode::kResourceExhausted, "a program has at most ",
                      kMaxNodes, " operations");
  }
  if (!value.defined() || value.dtype() == DType::kObject) {
    return invalid_argument("const: takes numbers or strings");
  }
  Node node;
  node.op = Op::kConst;
  node.specs = {{value.dtype(), PartialShape(value.shape())}};
  node.constant = std::move(value);
  nodes_.push_back(std::move(node));
  return static_cast<std::int32_t>(nodes_.size()) - 1;
}

Status Program::set_result(const Structure* structure,
                           std::vector<std::int32_t> outputs) {
  if (structure->num_leaves() != outputs.size()) {
    return invalid_argument("result: the structure has ",
                            structure->num_leaves(), " leaves, got ",
                            outputs.size());
  }
  std::vector<LeafSpec> leaves;
  for (const std::int32_t i : outputs) {
    if (i < 0 || static_cast<std::size_t>(i) >= nodes_.size() ||
        nodes_[static_cast<std::size_t>(i)].op == Op::kNative) {
      return invalid_argument("result: there is no value ", i);
    }
    leaves.push_back(spec(i));
  }
  output_ = Spec(structure, std::move(leaves));
  outputs_ = std::move(outputs);
  last_use_.assign(nodes_.size(), -1);
  std::vector<bool> needed(nodes_.size());
  for (const std::int32_t i : outputs_) {
    needed[static_cast<std::size_t>(i)] = true;
    last_use_[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(nodes_.size());
  }
  for (std::size_t n = nodes_.size(); n-- > 0;) {
    // An error is a result too, also of what nobody reads.
    if (!needed[n] && can_fail(nodes_[n])) {
      last_use_[n] = static_cast<std::int32_t>(n);
      needed[n] = true;
    }
    if (!needed[n]) continue;
    for (const std::int32_t i : nodes_[n].inputs) {
      const auto at = static_cast<std::size_t>(i);
      needed[at] = true;
      last_use_[at] = std::max(last_use_[at], static_cast<std::int32_t>(n));
    }
  }
  return absl::OkStatus();
}

bool Program::can_fail(const Node& node) const {
  switch (op_class(node.op)) {
    case OpClass::kInput:
    case OpClass::kConst:
    case OpClass::kUnary:
    case OpClass::kMath:
    case OpClass::kTest:
      return false;
    case OpClass::kCast:
      return !dtype_is_dense(spec(node.inputs[0]).dtype);
    default:
      break;
  }
  switch (node.op) {
    case Op::kNative:
    case Op::kGather:
      return true;
    case Op::kResult:
    case Op::kShapeOf:
      return false;
    case Op::kPower:
      if (may_be_negative(nodes_[static_cast<std::size_t>(node.inputs[1])])) {
        return true;
      }
      break;
    default:
      break;
  }
  // Shapes that are not known may turn out not to fit.
  return std::any_of(
      node.inputs.begin(), node.inputs.end(),
      [&](std::int32_t i) { return !spec(i).shape.fully_known(); });
}

std::string Program::encode() const {
  Encoder out;
  out.u64(kFormat);
  encode_structure(*input_.structure(), out);
  for (const LeafSpec& leaf : input_.leaves()) encode_leaf(leaf, out);
  const std::size_t inputs = input_.leaves().size();
  out.u64(nodes_.size() - inputs);
  for (std::size_t n = inputs; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    // By name: the order of the list may change between versions.
    out.bytes(op_name(node.op));
    if (node.op == Op::kConst) {
      encode_tensor(node.constant, out);
      continue;
    }
    out.u64(node.inputs.size());
    for (const std::int32_t i : node.inputs) {
      out.u64(static_cast<std::uint64_t>(i));
    }
    out.u64(node.ints.size());
    for (const std::int64_t i : node.ints) out.i64(i);
    out.u64(static_cast<std::uint64_t>(node.dtype));
    out.boolean(node.keepdims);
    if (node.op == Op::kNative) {
      out.bytes(node.name);
      out.u64(static_cast<std::uint64_t>(node.native->version));
      node.attributes.encode(out);
    }
  }
  encode_structure(*output_.structure(), out);
  for (const std::int32_t i : outputs_) {
    out.u64(static_cast<std::uint64_t>(i));
  }
  return std::move(out).take();
}

StatusOr<Program> Program::decode(std::string_view bytes) {
  Decoder in(bytes);
  if (in.u64() != kFormat) in.fail();
  const Structure* structure = decode_structure(in, 0);
  std::vector<LeafSpec> leaves;
  for (std::size_t i = 0; i < structure->num_leaves() && in.ok(); ++i) {
    leaves.push_back(decode_leaf(in));
  }
  const std::size_t n = in.count();
  PS_RETURN_IF_ERROR(in.status("native function"));
  PS_ASSIGN_OR_RETURN(Program program,
                      make(Spec(structure, std::move(leaves))));
  for (std::size_t k = 0; k < n; ++k) {
    Op op = Op::kInput;
    if (!op_from_name(in.bytes(), op)) in.fail();
    if (in.ok() && op == Op::kConst) {
      Tensor constant = decode_tensor(in);
      PS_RETURN_IF_ERROR(in.status("native function"));
      PS_RETURN_IF_ERROR(program.add_constant(std::move(constant)).status());
      continue;
    }
    std::vector<std::int32_t> inputs;
    const std::size_t num_inputs = in.count();
    for (std::size_t i = 0; i < num_inputs && in.ok(); ++i) {
      inputs.push_back(static_cast<std::int32_t>(
          std::min<std::uint64_t>(in.u64(), kMaxNodes)));
    }
    NodeOptions options;
    const std::size_t num_ints = in.count();
    for (std::size_t i = 0; i < num_ints && in.ok(); ++i) {
      options.ints.push_back(in.i64());
    }
    const std::uint64_t dtype = in.u64();
    if (dtype >= static_cast<std::uint64_t>(kNumDTypes))
      in.fail();
    else
      options.dtype = static_cast<DType>(dtype);
    options.keepdims = in.boolean();
    std::uint64_t version = 0;
    if (in.ok() && op == Op::kNative) {
      options.name = std::string(in.bytes());
      version = in.u64();
      options.attributes = Attributes::decode(in);
    }
    PS_RETURN_IF_ERROR(in.status("native function"));
    PS_ASSIGN_OR_RETURN(const std::int32_t id,
                        program.add(op, inputs, std::move(options)));
    const Node& node = program.nodes_[static_cast<std::size_t>(id)];
    if (op == Op::kNative &&
        version != static_cast<std::uint64_t>(node.native->version)) {
      return make_error(StatusCode::kFailedPrecondition, "native op ",
                        node.name, " has version ", node.native->version,
                        ", the function was traced with version ", version);
    }
  }
  const Structure* result = decode_structure(in, 0);
  std::vector<std::int32_t> outputs;
  for (std::size_t i = 0; i < result->num_leaves() && in.ok(); ++i) {
    outputs.push_back(static_cast<std::int32_t>(
        std::min<std::uint64_t>(in.u64(), kMaxNodes)));
  }
  if (!in.at_end()) in.fail();
  PS_RETURN_IF_ERROR(in.status("native function"));
  PS_RETURN_IF_ERROR(program.set_result(result, std::move(outputs)));
  return program;
}

std::string Program::fingerprint() const {
  Fingerprint fp;
  fp.add(encode());
  return fp.hex();
}

std::string Program::to_string() const {
  std::string text;
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    const Node& node = nodes_[n];
    std::vector<std::string> args;
    for (const std::int32_t i : node.inputs) {
      args.push_back(absl::StrCat("%", i));
    }
    if (node.op == Op::kConst) args.push_back(node.constant.to_string());
    if (!node.ints.empty()) {
      args.push_back(absl::StrCat("[", absl::StrJoin(node.ints, ", "), "]"));
    }
    if (!node.attributes.values().empty()) {
      args.push_back(node.attributes.to_string());
    }
    const std::string name =
        node.op == Op::kNative ? node.name : std::string(op_name(node.op));
    absl::StrAppend(&text, "%", n, " = ", name, "(", absl::StrJoin(args, ", "),
                    ")");
    if (node.specs.size() == 1) {
      absl::StrAppend(&text, ": ", node.specs[0].to_string());
    }
    absl::StrAppend(&text, "\n");
  }
  std::vector<std::string> outputs;
  for (const std::int32_t i : outputs_) {
    outputs.push_back(absl::StrCat("%", i));
  }
  if (output_.known()) {
    absl::StrAppend(&text, "return ", output_.structure()->render(outputs),
                    "\n");
  }
  return text;
}

}  // namespace penstock::expr

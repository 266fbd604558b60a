#include "penstock/expr/image_fusion.h"

#include <cstring>
#include <optional>

#include "absl/strings/str_join.h"
#include "penstock/expr/evaluate.h"
#include "penstock/expr/image_specs.h"
#include "penstock/expr/loops.h"
#include "penstock/expr/random_values.h"
#include "penstock/image/augment.h"
#include "penstock/image/fused.h"
#include "penstock/image/geometry.h"
#include "penstock/image/kernels.h"

namespace penstock::expr {
namespace {

constexpr std::string_view kFusedOp = "image.decode_and_transform";
constexpr std::string_view kPrefix = "image.";

/// Places in the pass, in the order they come.
enum class Stage {
  kDecode,
  kCrop,
  kResize,
  kFlip,
  kNormalize,
  kArithmetic,
  kNone
};

Stage stage_of(const NativeOp& op, const Attributes& attributes) {
  const std::string_view name = op.name;
  const auto is = [&](std::string_view wanted) {
    return name.substr(0, kPrefix.size()) == kPrefix &&
           name.substr(kPrefix.size()) == wanted;
  };
  if (num_operands(attributes) > 0) return Stage::kNone;
  if (is("decode_jpeg")) {
    return attributes.integer("ratio", 1).value_or(0) == 1 ? Stage::kDecode
                                                           : Stage::kNone;
  }
  if (is("decode_image")) {
    const bool plain =
        !attributes.boolean("expand_animations", true).value_or(true) &&
        attributes.dtype("dtype", DType::kUInt8).value_or(DType::kInvalid) ==
            DType::kUInt8;
    return plain ? Stage::kDecode : Stage::kNone;
  }
  if (is("crop_to_bounding_box") || is("central_crop") || is("random_crop")) {
    return Stage::kCrop;
  }
  if (is("resize") || is("random_resized_crop")) return Stage::kResize;
  if (is("flip_left_right") || is("random_flip_left_right")) {
    return Stage::kFlip;
  }
  if (is("normalize")) return Stage::kNormalize;
  return Stage::kNone;
}

bool in_a_pass(Stage stage) {
  return stage != Stage::kDecode && stage != Stage::kNone;
}

std::string_view short_name(std::string_view name) {
  return name.substr(0, kPrefix.size()) == kPrefix ? name.substr(kPrefix.size())
                                                   : name;
}

/// Why a decoder begins no pass; empty for other operations.
std::string_view why_apart(const NativeOp& op, const Attributes& attributes) {
  const std::string_view name = short_name(op.name);
  if (name == op.name || name.substr(0, 7) != "decode_") return "";
  if (num_operands(attributes) > 0) return "its parameters are computed";
  if (name == "decode_jpeg") return "ratio is not 1";
  if (name == "decode_and_crop_jpeg") return "it crops by itself";
  if (name != "decode_image") return "only JPEG is decoded in parts";
  return attributes.boolean("expand_animations", true).value_or(true)
             ? "expand_animations is set"
             : "dtype is not uint8";
}

// float32 values, and one constant for all of them or one for each channel.
struct Arithmetic {
  Op op = Op::kInput;
  Tensor constant;
  bool constant_first = false;

  /// `in` may be `out`.
  void apply(const float* in, std::int64_t count, float* out) const {
    const std::int64_t period = constant.num_elements();
    if (op == Op::kDivide && period == 1 && !constant_first) {
      image::divide(in, count, *constant.as<float>().data(), out);
      return;
    }
    const BinaryLoop loop = binary_loop(op, DType::kFloat32);
    const std::byte* const of = constant.data();
    const std::int64_t stride = period == 1 ? 0 : 1;
    const std::int64_t step = period == 1 ? count : period;
    for (std::int64_t i = 0; i < count; i += step) {
      const std::int64_t n = std::min(step, count - i);
      const auto* const from = reinterpret_cast<const std::byte*>(in + i);
      auto* const to = reinterpret_cast<std::byte*>(out + i);
      if (constant_first) {
        loop(of, stride, from, 1, to, n);
      } else {
        loop(from, 1, of, stride, to, n);
      }
    }
  }

  StatusOr<Tensor> of(const Tensor& picture) const {
    PS_ASSIGN_OR_RETURN(Tensor result,
                        Tensor::allocate<float>(picture.shape()));
    float* const out = result.mutable_as<float>().data();
    const std::int64_t count = picture.num_elements();
    if (picture.dtype() == DType::kFloat32) {
      apply(picture.as<float>().data(), count, out);
    } else {
      image::widen(picture.as<std::uint8_t>().data(), count, 1, out);
      apply(out, count, out);
    }
    return result;
  }
};

struct Step {
  const NativeOp* op = nullptr;  // null: arithmetic
  Attributes attributes;
  std::uint64_t call = 0;
  Arithmetic arithmetic;
};

struct Chain {
  std::vector<Step> steps;

  RowCall row_call(const Step& step, std::span<const Tensor> args,
                   std::uint64_t element_key) const {
    return {.args = args,
            .attributes = step.attributes,
            .random_key = native_key(element_key, step.call),
            .element_key = element_key};
  }
};

Attributes attributes_of(const Chain& chain) {
  Attributes out;
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const Step& step = chain.steps[i];
    const std::string number = absl::StrCat(i, ".");
    if (step.op == nullptr) {
      out.set(number + "op", std::string(op_name(step.arithmetic.op)));
      out.set(number + "constant", step.arithmetic.constant);
      out.set(number + "constant_first", step.arithmetic.constant_first);
      continue;
    }
    out.set(number + "op", step.op->name);
    out.set(number + "call", static_cast<std::int64_t>(step.call));
    for (const auto& [name, value] : step.attributes.values()) {
      out.set(absl::StrCat(number, "@", name), value);
    }
  }
  return out;
}

// A short constant is repeated, so that a loop has some hundred values.
StatusOr<Arithmetic> arithmetic_from(std::string_view name,
                                     const Attribute& constant,
                                     bool constant_first) {
  Arithmetic out;
  const auto* const value = std::get_if<Tensor>(&constant);
  if (!op_from_name(name, out.op) ||
      binary_loop(out.op, DType::kFloat32) == nullptr || value == nullptr ||
      value->dtype() != DType::kFloat32 || value->num_elements() == 0) {
    return invalid_argument("no arithmetic: ", to_absl(name));
  }
  out.constant_first = constant_first;
  out.constant = *value;
  const std::int64_t period = value->num_elements();
  if (period == 1) return out;
  const std::int64_t repeats = std::max<std::int64_t>(1, 768 / period);
  PS_ASSIGN_OR_RETURN(out.constant,
                      Tensor::allocate<float>(Shape{repeats * period}));
  for (std::int64_t i = 0; i < repeats; ++i) {
    std::memcpy(out.constant.mutable_as<float>().data() + i * period,
                value->data(), static_cast<std::size_t>(period) * 4);
  }
  return out;
}

StatusOr<Chain> chain_of(const Attributes& attributes) {
  Chain chain;
  for (std::size_t i = 0;; ++i) {
    const std::string number = absl::StrCat(i, ".");
    PS_ASSIGN_OR_RETURN(const std::string name,
                        attributes.text(number + "op", ""));
    if (name.empty()) break;
    Step step;
    if (const auto* constant = attributes.find(number + "constant")) {
      PS_ASSIGN_OR_RETURN(
          step.arithmetic,
          arithmetic_from(name, *constant,
                          attributes.boolean(number + "constant_first", false)
                              .value_or(false)));
      chain.steps.push_back(std::move(step));
      continue;
    }
    step.op = find_native_op(name);
    if (step.op == nullptr) {
      return invalid_argument("there is no native op ", name);
    }
    PS_ASSIGN_OR_RETURN(const auto call,
                        attributes.integer(number + "call", 0));
    step.call = static_cast<std::uint64_t>(call);
    const std::string prefix = number + "@";
    for (const auto& [key, value] : attributes.values()) {
      if (key.compare(0, prefix.size(), prefix) == 0) {
        step.attributes.set(key.substr(prefix.size()), value);
      }
    }
    chain.steps.push_back(std::move(step));
  }
  if (chain.steps.empty()) return invalid_argument("there are no steps");
  return chain;
}

StatusOr<image::TransformOptions> options_of(const Chain& chain,
                                             std::uint64_t element_key) {
  image::TransformOptions options;
  options.whole_file = true;
  for (const Step& step : chain.steps) {
    if (step.op == nullptr) {
      options.finish = [&chain](std::span<float> values) {
        const auto count = static_cast<std::int64_t>(values.size());
        for (const Step& each : chain.steps) {
          if (each.op != nullptr) continue;
          each.arithmetic.apply(values.data(), count, values.data());
        }
      };
      continue;
    }
    const RowCall call = chain.row_call(step, {}, element_key);
    const Params params(call);
    const std::string_view name = short_name(step.op->name);
    PS_ASSIGN_OR_RETURN(const auto key, params.key(call.random_key));
    switch (stage_of(*step.op, step.attributes)) {
      case Stage::kDecode: {
        PS_ASSIGN_OR_RETURN(options.decode, jpeg_params(params));
        PS_ASSIGN_OR_RETURN(options.allow_scaled_decoding,
                            params.boolean("allow_scaled_decoding", false));
        break;
      }
      case Stage::kCrop: {
        if (name == "crop_to_bounding_box") {
          PS_ASSIGN_OR_RETURN(const auto window,
                              window_param(params, "window"));
          options.crop = [window](image::Size) { return window; };
        } else if (name == "central_crop") {
          PS_ASSIGN_OR_RETURN(const double fraction,
                              params.number("fraction", 1.0));
          options.crop = [fraction](image::Size size) {
            return image::central_crop_window(size, fraction);
          };
        } else {
          PS_ASSIGN_OR_RETURN(const auto wanted, size_param(params));
          options.crop = [wanted, key](image::Size size) {
            return image::random_crop_window(size, wanted, key);
          };
        }
        break;
      }
      case Stage::kResize: {
        PS_ASSIGN_OR_RETURN(options.size, size_param(params));
        PS_ASSIGN_OR_RETURN(options.resize, resize_params(params));
        if (name == "random_resized_crop") {
          PS_ASSIGN_OR_RETURN(const auto crop, resized_crop_params(params));
          options.crop = [crop, key](image::Size size) {
            return image::random_resized_crop_window(size, key, crop);
          };
        }
        break;
      }
      case Stage::kFlip: {
        options.flip_left_right = true;
        if (name == "random_flip_left_right") {
          PS_ASSIGN_OR_RETURN(const double p,
                              params.number("probability", 0.5));
          PS_ASSIGN_OR_RETURN(options.flip_left_right,
                              image::flips_left_right(key, p));
        }
        break;
      }
      case Stage::kNormalize: {
        PS_ASSIGN_OR_RETURN(const auto mean, params.numbers("mean"));
        PS_ASSIGN_OR_RETURN(const auto deviation, params.numbers("std"));
        options.normalize = image::Normalization{
            {mean.begin(), mean.end()}, {deviation.begin(), deviation.end()}};
        break;
      }
      case Stage::kArithmetic:
      case Stage::kNone:
        return internal_error(step.op->name, " is not part of a fused pass");
    }
  }
  return options;
}

StatusOr<Tensor> one_by_one(const Chain& chain, const RowCall& call) {
  Tensor value = call.args[0];
  for (const Step& step : chain.steps) {
    if (step.op == nullptr) {
      PS_ASSIGN_OR_RETURN(value, step.arithmetic.of(value));
      continue;
    }
    std::vector<Tensor> results;
    const Status status = step.op->row(
        chain.row_call(step, {&value, 1}, call.element_key), results);
    if (!status.ok()) return named_status(status, step.op->name);
    value = std::move(results[0]);
  }
  return value;
}

StatusOr<Tensor> run_chain(const RowCall& call) {
  const auto& chain = *static_cast<const Chain*>(call.prepared);
  const std::string_view contents = call.args[0].str();
  // decode_jpeg refuses other formats, decode_image has other defaults there.
  if (image::detect_format(contents) == image::Format::kJpeg) {
    PS_ASSIGN_OR_RETURN(const auto options,
                        options_of(chain, call.element_key));
    auto result = image::decode_and_transform(contents, options);
    if (result.ok()) return result;
  }
  return one_by_one(chain, call);
}

LeafSpecs chain_specs(SpecArgs args, const Attributes& attributes) {
  PS_ASSIGN_OR_RETURN(const Chain chain, chain_of(attributes));
  std::vector<LeafSpec> specs(args.begin(), args.end());
  for (const Step& step : chain.steps) {
    if (step.op == nullptr) {
      specs[0].dtype = DType::kFloat32;
      continue;
    }
    PS_ASSIGN_OR_RETURN(specs, step.op->infer(specs, step.attributes));
  }
  return specs;
}

// --- finding chains ---------------------------------------------------------

class Fuser {
 public:
  explicit Fuser(ProgramRef program)
      : program_(std::move(program)), readers_(program_->nodes().size(), 0) {
    const auto& nodes = program_->nodes();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (program_->last_use()[n] < 0) continue;
      for (const std::int32_t i : nodes[n].inputs) ++readers_[at(i)];
    }
    for (const std::int32_t i : program_->outputs()) ++readers_[at(i)];
    reader_.resize(nodes.size(), -1);
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (program_->last_use()[n] < 0) continue;
      for (const std::int32_t i : nodes[n].inputs) {
        reader_[at(i)] = static_cast<std::int32_t>(n);
      }
    }
  }

  Fusion run() {
    const auto& nodes = program_->nodes();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (nodes[n].op != Op::kNative || program_->last_use()[n] < 0) continue;
      const auto i = static_cast<std::int32_t>(n);
      if (stage_of(*nodes[n].native, nodes[n].attributes) == Stage::kDecode) {
        follow(i);
      } else {
        note_apart(i);
      }
    }
    if (found_.empty()) return {program_, absl::StrJoin(notes_, "; ")};
    auto rewritten = rewrite();
    if (!rewritten.ok()) return {program_, ""};
    return {std::make_shared<const Program>(*std::move(rewritten)),
            absl::StrJoin(notes_, "; ")};
  }

 private:
  struct Found {
    std::int32_t decode = 0;  // the native node
    std::int32_t last = 0;    // the value that the pass replaces
    Chain chain;
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }
  const Node& node(std::int32_t i) const { return program_->nodes()[at(i)]; }

  static Step step_of(const Node& node) {
    Step step;
    step.op = node.native;
    step.attributes = node.attributes;
    if (!node.ints.empty())
      step.call = static_cast<std::uint64_t>(node.ints[0]);
    return step;
  }

  // What `node` does to the values of node `value`, if a pass can do it.
  std::optional<Arithmetic> arithmetic_of(const Node& node,
                                          std::int32_t value) const {
    if (node.op != Op::kAdd && node.op != Op::kSubtract &&
        node.op != Op::kMultiply && node.op != Op::kDivide) {
      return std::nullopt;
    }
    Arithmetic out;
    out.op = node.op;
    out.constant_first = node.inputs[1] == value;
    const Node& other = this->node(node.inputs[out.constant_first ? 0 : 1]);
    const LeafSpec& picture = program_->spec(value);
    if (other.op != Op::kConst || picture.dtype != DType::kFloat32 ||
        !picture.shape.has_rank()) {
      return std::nullopt;
    }
    out.constant = other.constant;
    const Shape& shape = out.constant.shape();
    const std::int64_t values = shape.num_elements();
    const std::size_t rank = picture.shape.rank();
    const bool per_channel = values > 1 && shape[shape.rank() - 1] == values &&
                             picture.shape[rank - 1] == values;
    if (shape.rank() > rank || (values != 1 && !per_channel)) {
      return std::nullopt;
    }
    return out;
  }

  void note_apart(std::int32_t decode) {
    const std::string_view why =
        why_apart(*node(decode).native, node(decode).attributes);
    const std::int32_t value = why.empty() ? -1 : reader_[at(decode)];
    const std::int32_t next = value < 0 ? -1 : reader_[at(value)];
    if (next < 0 || node(next).op != Op::kNative ||
        !in_a_pass(stage_of(*node(next).native, node(next).attributes))) {
      return;
    }
    notes_.push_back(absl::StrCat("nothing fused into ",
                                  to_absl(short_name(node(decode).name)), ": ",
                                  to_absl(why)));
  }

  void follow(std::int32_t decode) {
    Found found;
    found.decode = decode;
    found.chain.steps.push_back(step_of(node(decode)));
    std::vector<std::string> names = {
        std::string(short_name(node(decode).name))};
    Stage stage = Stage::kDecode;
    std::int32_t value = reader_[at(decode)];  // its result
    found.last = value;
    std::string why;
    bool wide = false;  // cast to float32, which is no step of its own
    bool flipped = false;
    while (value >= 0) {
      if (readers_[at(value)] != 1) {
        if (readers_[at(value)] > 1) why = "its result is read twice";
        break;
      }
      const std::int32_t next = reader_[at(value)];
      if (next < 0) break;  // a result of the program
      const Node& reader = node(next);
      if (reader.op == Op::kCast && reader.dtype == DType::kFloat32) {
        value = next;
        wide = true;
        continue;
      }
      if (auto arithmetic = arithmetic_of(reader, value)) {
        stage = Stage::kArithmetic;
        names.emplace_back(op_name(reader.op));
        found.chain.steps.emplace_back().arithmetic = *std::move(arithmetic);
        value = next;
        found.last = value;
        continue;
      }
      if (reader.op != Op::kNative) {
        why = absl::StrCat("then ", to_absl(op_name(reader.op)));
        break;
      }
      const Stage place = stage_of(*reader.native, reader.attributes);
      const std::string name(short_name(reader.name));
      if (place == Stage::kNone || place == Stage::kDecode) {
        why = absl::StrCat(name, num_operands(reader.attributes) > 0
                                     ? " has computed parameters"
                                     : " runs by itself");
        break;
      }
      const bool crops = name == "random_resized_crop";
      // A flip moves pixels as they are: it may come behind their arithmetic.
      const bool flips = place == Stage::kFlip && !std::exchange(flipped, true);
      if ((place <= stage && !flips) || (crops && stage != Stage::kDecode)) {
        why = absl::StrCat(name, " comes too late to be part of it");
        break;
      }
      // resize of float32 values is not what it is of uint8.
      if (wide && std::max(stage, place) < Stage::kNormalize) {
        why = absl::StrCat(name, " works on float32");
        break;
      }
      stage = std::max(stage, place);
      found.chain.steps.push_back(step_of(reader));
      names.push_back(name);
      value = reader_[at(next)];
      found.last = value;
    }
    if (found.chain.steps.size() < 2) {
      if (!why.empty()) {
        notes_.push_back(
            absl::StrCat("nothing fused into ", names[0], ": ", why));
      }
      return;
    }
    notes_.push_back(absl::StrCat("fused ", absl::StrJoin(names, " + "),
                                  why.empty() ? "" : ", ", why));
    found_.push_back(std::move(found));
  }

  const Found* found_at(std::size_t n) const {
    for (const Found& f : found_) {
      if (at(f.last) == n) return &f;
    }
    return nullptr;
  }

  // What is still computed when the passes take the place of their parts.
  std::vector<bool> beside_passes() const {
    const auto& nodes = program_->nodes();
    std::vector<bool> kept(nodes.size());
    for (const std::int32_t i : program_->outputs()) kept[at(i)] = true;
    for (std::size_t n = nodes.size(); n-- > 0;) {
      const Found* const found = found_at(n);
      // Parts of a pass are read by each other alone.
      if (program_->last_use()[n] == static_cast<std::int32_t>(n)) {
        kept[n] = true;
      }
      if (!kept[n]) continue;
      const Node& from = found == nullptr ? nodes[n] : node(found->decode);
      for (const std::int32_t i : from.inputs) kept[at(i)] = true;
    }
    return kept;
  }

  StatusOr<Program> rewrite() const {
    PS_ASSIGN_OR_RETURN(Program out, Program::make(program_->input_spec()));
    const auto& nodes = program_->nodes();
    std::vector<std::int32_t> moved(nodes.size(), -1);
    const std::vector<bool> kept = beside_passes();
    const std::size_t inputs = program_->input_spec().leaves().size();
    for (std::size_t n = 0; n < nodes.size(); ++n) {
      if (n < inputs) {
        moved[n] = static_cast<std::int32_t>(n);
        continue;
      }
      if (!kept[n]) continue;
      const Found* found = found_at(n);
      const Node& from = nodes[n];
      if (found != nullptr) {
        const std::int32_t contents[] = {
            moved[at(node(found->decode).inputs[0])]};
        PS_ASSIGN_OR_RETURN(
            const std::int32_t pass,
            out.add(Op::kNative, contents,
                    {.ints = {0},
                     .name = std::string(kFusedOp),
                     .attributes = attributes_of(found->chain)}));
        const std::int32_t result[] = {pass};
        PS_ASSIGN_OR_RETURN(moved[n],
                            out.add(Op::kResult, result, {.ints = {0}}));
        continue;
      }
      if (from.op == Op::kConst) {
        PS_ASSIGN_OR_RETURN(moved[n], out.add_constant(from.constant));
        continue;
      }
      std::vector<std::int32_t> args;
      for (const std::int32_t i : from.inputs) args.push_back(moved[at(i)]);
      PS_ASSIGN_OR_RETURN(moved[n], out.add(from.op, args,
                                            {.ints = from.ints,
                                             .dtype = from.dtype,
                                             .keepdims = from.keepdims,
                                             .name = from.name,
                                             .attributes = from.attributes}));
    }
    std::vector<std::int32_t> outputs;
    for (const std::int32_t i : program_->outputs()) {
      outputs.push_back(moved[at(i)]);
    }
    PS_RETURN_IF_ERROR(
        out.set_result(program_->output_spec().structure(), outputs));
    return out;
  }

  const ProgramRef program_;
  std::vector<int> readers_;          // how many read a value
  std::vector<std::int32_t> reader_;  // the last of them
  std::vector<Found> found_;
  std::vector<std::string> notes_;
};

}  // namespace

void add_image_fused_op(std::vector<NativeOp>& out) {
  NativeOp op = row_op(std::string(kFusedOp), chain_specs, run_chain, true);
  op.prepare = [](const Attributes& attributes)
      -> StatusOr<std::shared_ptr<const void>> {
    PS_ASSIGN_OR_RETURN(Chain chain, chain_of(attributes));
    return std::shared_ptr<const void>(
        std::make_shared<const Chain>(std::move(chain)));
  };
  out.push_back(std::move(op));
}

Fusion fuse_images(ProgramRef program) {
  return Fuser(std::move(program)).run();
}

}  // namespace penstock::expr

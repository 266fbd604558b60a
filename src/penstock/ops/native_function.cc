#include "penstock/ops/native_function.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "penstock/expr/evaluate.h"
#include "penstock/expr/image_fusion.h"

namespace penstock::ops {
namespace {

using expr::ProgramRef;

// Whether `block` can be computed as a whole.
bool packed_as(const Spec& spec, const Block& block) {
  if (block.mixed() || block.structure() != spec.structure()) return false;
  for (std::size_t i = 0; i < spec.leaves().size(); ++i) {
    const Column& column = block.column(i);
    if (!column.packed()) return false;
    const LeafSpec& leaf = spec.leaves()[i];
    const Tensor& tensor = column.tensor();
    if (leaf.dtype != tensor.dtype() ||
        !leaf.shape.prepended(block.size()).accepts(tensor.shape())) {
      return false;
    }
  }
  return true;
}

class NativeFunction final : public Function {
 public:
  explicit NativeFunction(ProgramRef program)
      : identity_("native:" + program->fingerprint()),
        written_(program),
        program_(expr::fuse_images(std::move(program)).program),
        single_rows_(expr::needs_single_rows(*program_)) {}

  StatusOr<Spec> output_spec(const Spec& input) const override {
    if (input.known()) {
      const Spec& wanted = program_->input_spec();
      bool fits = input.structure() == wanted.structure();
      for (std::size_t i = 0; fits && i < input.leaves().size(); ++i) {
        fits = (input.leaves()[i].dtype == wanted.leaves()[i].dtype ||
                input.leaves()[i].dtype == DType::kInvalid) &&
               PartialShape::compatible(input.leaves()[i].shape,
                                        wanted.leaves()[i].shape);
      }
      if (!fits) {
        return invalid_argument("the function was made for ",
                                wanted.to_string(), ", the element is ",
                                input.to_string());
      }
    }
    return program_->output_spec();
  }

  Status apply(const Block& in, CallContext& context,
               Block& out) const override {
    if (!single_rows_ && packed_as(program_->input_spec(), in)) {
      return apply_whole(in, context, out);
    }
    return apply_rowwise(
        in, context, out,
        [&](const Element& element, std::int64_t row) -> StatusOr<Element> {
          PS_RETURN_IF_ERROR(program_->input_spec().check(element));
          expr::Rows rows;
          rows.count = 1;
          rows.batched = false;
          rows.inputs = {element.leaves().data(), element.leaves().size()};
          if (program_->random()) {
            rows.random_key = [&](std::int64_t) {
              return context.random_key(in.origins(), row);
            };
          }
          std::vector<Tensor> outputs;
          expr::RowErrors errors;
          PS_RETURN_IF_ERROR(expr::evaluate(*program_, rows, outputs, errors));
          if (!errors.empty()) return errors[0].second;
          return Element(program_->output_spec().structure(),
                         Element::Leaves(outputs.begin(), outputs.end()));
        });
  }
  std::string identity() const override { return identity_; }
  bool user_code() const override { return program_->blocking(); }
  const ProgramRef& written() const { return written_; }

 private:
  Status apply_whole(const Block& in, CallContext& context, Block& out) const {
    expr::Rows rows;
    rows.count = in.size();
    absl::InlinedVector<Tensor, 4> inputs;
    for (const Column& column : in.columns()) {
      inputs.push_back(column.tensor());
    }
    rows.inputs = {inputs.data(), inputs.size()};
    if (program_->random()) {
      rows.random_key = [&](std::int64_t row) {
        return context.random_key(in.origins(), row);
      };
    }
    std::unique_ptr<bool[]> skip;
    if (!in.errors().empty()) {
      skip = std::make_unique<bool[]>(static_cast<std::size_t>(in.size()));
      for (const auto& [row, error] : in.errors()) skip[row] = true;
      rows.skip = {skip.get(), static_cast<std::size_t>(in.size())};
    }
    std::vector<Column> outputs;
    expr::RowErrors errors;
    PS_RETURN_IF_ERROR(expr::evaluate(*program_, rows, outputs, errors));
    Block::Columns columns;
    for (Column& column : outputs) columns.push_back(std::move(column));
    out = Block(program_->output_spec().structure(), std::move(columns),
                in.size(), in.origins());
    out.errors() = in.errors();
    bool added = false;
    for (auto& [row, status] : errors) {
      if (skip && skip[row]) continue;
      added = true;
      out.errors().emplace_back(
          row, context.error(std::move(status), in.origins().at(row)));
    }
    if (added && !in.errors().empty()) {
      std::sort(out.errors().begin(), out.errors().end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
    }
    return absl::OkStatus();
  }

  const std::string identity_;
  const ProgramRef written_;  // of the program as it was traced
  const ProgramRef program_;
  const bool single_rows_;
};

// What must be equal for one program to serve: structure, dtypes, ranks.
// Dimensions are left open, so that pictures of any size share a program.
Spec open_spec(const Element& element) {
  Spec spec = Spec::of(element);
  for (LeafSpec& leaf : spec.leaves()) {
    for (std::size_t i = 0; i < leaf.shape.rank(); ++i) {
      leaf.shape.set(i, kUnknownDim);
    }
  }
  return spec;
}

class LateNativeFunction final : public Function {
 public:
  LateNativeFunction(Specializer specialize, FunctionRef fallback,
                     Spec declared, std::string identity)
      : specialize_(std::move(specialize)),
        fallback_(std::move(fallback)),
        declared_(std::move(declared)),
        identity_(std::move(identity)) {}

  StatusOr<Spec> output_spec(const Spec&) const override { return declared_; }
  Status apply(const Block& in, CallContext& context,
               Block& out) const override {
    // One kind of element per block is the rule; otherwise the fallback has
    // the same meaning.
    const Function* chosen = fallback_.get();
    if (!in.mixed() && in.structure() != nullptr) {
      for (std::int64_t row = 0; row < in.size(); ++row) {
        if (in.error_at(row) != nullptr) continue;
        const Element sample = in.element(row);
        const Spec spec = open_spec(sample);
        if (!same_kind(in, spec)) break;
        const Function* native = native_for(spec);
        // A function that reads its argument's shape needs the dimensions.
        if (native == nullptr && packed(in)) {
          native = native_for(Spec::of(sample));
        }
        if (native != nullptr) chosen = native;
        break;
      }
    }
    return chosen->apply(in, context, out);
  }
  std::string identity() const override { return identity_; }
  bool user_code() const override { return true; }

 private:
  static constexpr std::size_t kMaxPrograms = 64;

  static bool packed(const Block& in) {
    for (const Column& column : in.columns()) {
      if (!column.packed()) return false;
    }
    return true;
  }
  static bool same_kind(const Block& in, const Spec& spec) {
    for (std::size_t i = 0; i < spec.leaves().size(); ++i) {
      if (in.column(i).packed()) continue;
      for (const Tensor& t : in.column(i).rows()) {
        if (!spec.leaves()[i].accepts(t)) return false;
      }
    }
    return true;
  }

  /// Null if there is no program for elements of `spec`.
  const Function* native_for(const Spec& spec) const {
    const std::string key = spec.to_string();
    {
      const std::shared_lock lock(mutex_);
      if (const auto it = made_.find(key); it != made_.end()) {
        return it->second.get();
      }
      if (made_.size() >= kMaxPrograms) return nullptr;
    }
    ProgramRef program = specialize_(spec);
    const std::unique_lock lock(mutex_);
    auto [it, added] = made_.try_emplace(key);
    if (added && program) it->second = make_native_function(std::move(program));
    return it->second.get();
  }

  const Specializer specialize_;
  const FunctionRef fallback_;
  const Spec declared_;
  const std::string identity_;
  mutable std::shared_mutex mutex_;
  mutable std::map<std::string, FunctionRef> made_;
};

}  // namespace

FunctionRef make_native_function(ProgramRef program) {
  return std::make_shared<NativeFunction>(std::move(program));
}

ProgramRef program_of(const Function& function) {
  const auto* native = dynamic_cast<const NativeFunction*>(&function);
  return native != nullptr ? native->written() : nullptr;
}

FunctionRef make_late_native_function(Specializer specialize,
                                      FunctionRef fallback, Spec declared,
                                      std::string identity) {
  return std::make_shared<LateNativeFunction>(
      std::move(specialize), std::move(fallback), std::move(declared),
      std::move(identity));
}

}  // namespace penstock::ops

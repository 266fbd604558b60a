// filter: the elements for which a predicate holds.
//
// A transform that drops rows; they keep their origins. An element whose
// predicate fails becomes an error in its place, unless on_error says else.
#include "penstock/ops/filter/filter.h"

#include "penstock/ops/function_stage.h"
#include "penstock/ops/ignore_errors/ignore_errors.h"
#include "penstock/ops/on_error/on_error.h"

namespace penstock::ops {

Status check_predicate(const Function& predicate, const Spec& input) {
  PS_ASSIGN_OR_RETURN(const Spec spec, predicate.output_spec(input));
  if (!spec.known()) return absl::OkStatus();
  const LeafSpec& leaf = spec.leaves().empty() ? LeafSpec{} : spec.leaves()[0];
  const bool fits =
      spec.structure()->is_leaf() &&
      (leaf.dtype == DType::kBool || leaf.dtype == DType::kInvalid) &&
      PartialShape::compatible(leaf.shape, PartialShape(Shape{}));
  if (fits) return absl::OkStatus();
  return invalid_argument("the predicate must give a bool scalar, it gives ",
                          spec.to_string());
}

StatusOr<std::vector<std::int8_t>> apply_predicate(const Function& predicate,
                                                   Block& block,
                                                   CallContext& context) {
  Block verdicts;
  PS_RETURN_IF_ERROR(predicate.apply(block, context, verdicts));
  if (verdicts.size() < block.size()) {
    context.left = block.slice(verdicts.size(), block.size());
    block = block.slice(0, verdicts.size());
  }
  std::vector<std::int8_t> out(static_cast<std::size_t>(block.size()));
  const bool packed = !verdicts.mixed() && verdicts.columns().size() == 1 &&
                      verdicts.column(0).packed() &&
                      verdicts.column(0).tensor().dtype() == DType::kBool &&
                      verdicts.column(0).tensor().rank() == 1;
  const bool* flags =
      packed ? verdicts.column(0).tensor().as<bool>().data() : nullptr;
  Block::Errors errors = verdicts.errors();
  if (flags != nullptr) {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = flags[i] ? 1 : 0;
  } else {
    for (std::int64_t i = 0; i < block.size(); ++i) {
      if (verdicts.error_at(i) != nullptr) continue;
      const Element verdict = verdicts.element(i);
      if (verdict.size() != 1 || verdict[0].dtype() != DType::kBool ||
          verdict[0].rank() != 0) {
        errors.emplace_back(
            i, context.error(
                   invalid_argument("the predicate must give a bool scalar, "
                                    "it gave ",
                                    Spec::of(verdict).to_string()),
                   block.origins().at(i)));
        continue;
      }
      out[static_cast<std::size_t>(i)] = verdict[0].value<bool>() ? 1 : 0;
    }
    std::sort(errors.begin(), errors.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
  }
  for (const auto& [row, error] : errors) {
    out[static_cast<std::size_t>(row)] = -1;
  }
  block.errors() = std::move(errors);
  return out;
}

namespace {

class Filter final : public TransformOp,
                     public OwnErrorPolicy,
                     public FunctionStage {
 public:
  Filter(FunctionRef fn, MapOptions options, int cap)
      : fn_(std::move(fn)), options_(std::move(options)), cap_(cap) {}

  std::string_view op() const override { return "filter"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    std::string text = "filter(fn";
    if (cap_ > 0) absl::StrAppend(&text, ", num_parallel_calls=", cap_);
    const std::string policy = describe_policy(options_.on_error);
    if (!policy.empty()) absl::StrAppend(&text, ", on_error=", policy);
    return text + ")";
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    PS_RETURN_IF_ERROR(check_predicate(*fn_, inputs[0]));
    return options_.on_error.kind == ErrorPolicy::Kind::kReplace
               ? spec_with_value(inputs[0], options_.on_error.value)
               : inputs[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0] == Cardinality(0) ? in[0] : Cardinality::unknown();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(fn_->identity());
    fp.add(static_cast<std::uint64_t>(options_.deterministic.value_or(true)));
    add_policy(options_.on_error, fp);
  }

  TransformTraits traits() const override {
    TransformTraits traits;
    traits.user_code = fn_->user_code();
    traits.may_stop = traits.user_code;
    traits.max_parallel = cap_;
    traits.deterministic = options_.deterministic;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    PS_ASSIGN_OR_RETURN(const std::vector<std::int8_t> verdicts,
                        apply_predicate(*fn_, block, context));
    std::vector<std::int64_t> keep;
    keep.reserve(verdicts.size());
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (verdicts[i] != 0) keep.push_back(static_cast<std::int64_t>(i));
    }
    PS_RETURN_IF_ERROR(block.keep(keep));
    return options_.on_error.kind == ErrorPolicy::Kind::kReplace
               ? replace_errors(block, options_.on_error.value, ErrorsOf::own(),
                                context)
               : absl::OkStatus();
  }
  std::vector<Part> lower() const override {
    std::vector<Part> parts = TransformOp::lower();
    if (options_.on_error.kind == ErrorPolicy::Kind::kSkip) {
      parts.push_back({.sequencer = make_error_skipper(options_.on_error,
                                                       ErrorsOf::own())});
    }
    return parts;
  }
  const ErrorPolicy& error_policy() const override { return options_.on_error; }
  const FunctionRef& function() const override { return fn_; }
  std::shared_ptr<const Transform> with_function(
      FunctionRef function) const override {
    return std::make_shared<Filter>(std::move(function), options_, cap_);
  }
  bool passes_elements() const override { return true; }
  bool changes_errors() const override {
    return options_.on_error.kind == ErrorPolicy::Kind::kSkip ||
           options_.on_error.kind == ErrorPolicy::Kind::kReplace;
  }

 private:
  FunctionRef fn_;
  MapOptions options_;
  int cap_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_filter(FunctionRef predicate,
                                                      MapOptions options) {
  PS_RETURN_IF_ERROR(check_given("filter", "predicate", predicate));
  PS_ASSIGN_OR_RETURN(const int cap,
                      parallel_cap("filter", options.num_parallel_calls));
  PS_RETURN_IF_ERROR(check_policy("filter", options.on_error));
  return std::make_shared<Filter>(std::move(predicate), std::move(options),
                                  cap);
}

}  // namespace penstock::ops

// map: a function of every element.
//
// A transform, one to one; the chain stays indexed. It keeps no state.
#include "penstock/ops/map/map.h"

#include <limits>

#include "penstock/ops/function_stage.h"
#include "penstock/ops/ignore_errors/ignore_errors.h"
#include "penstock/ops/on_error/on_error.h"

namespace penstock::ops {
namespace {

class Map final : public TransformOp,
                  public OwnErrorPolicy,
                  public FunctionStage {
 public:
  Map(FunctionRef fn, MapOptions options, int cap)
      : fn_(std::move(fn)), options_(std::move(options)), cap_(cap) {}

  std::string_view op() const override { return "map"; }
  std::string describe() const override {
    std::string text = "map(fn";
    if (cap_ > 0) absl::StrAppend(&text, ", num_parallel_calls=", cap_);
    if (options_.deterministic) {
      absl::StrAppend(&text, ", deterministic=",
                      *options_.deterministic ? "true" : "false");
    }
    const std::string policy = describe_policy(options_.on_error);
    if (!policy.empty()) absl::StrAppend(&text, ", on_error=", policy);
    return text + ")";
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    PS_ASSIGN_OR_RETURN(Spec spec, fn_->output_spec(inputs[0]));
    return replaces_errors() ? spec_with_value(spec, options_.on_error.value)
                             : spec;
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return skips_errors() && in[0] != Cardinality(0) ? Cardinality::unknown()
                                                     : in[0];
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(fn_->identity());
    fp.add(static_cast<std::uint64_t>(options_.deterministic.value_or(true)));
    add_policy(options_.on_error, fp);
  }

  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    traits.user_code = fn_->user_code();
    traits.may_stop = traits.user_code;
    traits.max_parallel = cap_;
    traits.deterministic = options_.deterministic;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    Block out;
    PS_RETURN_IF_ERROR(fn_->apply(block, context, out));
    if (out.size() < block.size()) {
      context.left = block.slice(out.size(), block.size());
    }
    block = std::move(out);
    return replaces_errors() ? replace_errors(block, options_.on_error.value,
                                              ErrorsOf::own(), context)
                             : absl::OkStatus();
  }
  std::vector<Part> lower() const override {
    std::vector<Part> parts = TransformOp::lower();
    if (skips_errors()) {
      parts.push_back({.sequencer = make_error_skipper(options_.on_error,
                                                       ErrorsOf::own())});
    }
    return parts;
  }
  const IndexedOp* indexed() const override {
    // Skipping numbers the elements anew: random access ends.
    return skips_errors() ? nullptr : this;
  }
  const ErrorPolicy& error_policy() const override { return options_.on_error; }

  const FunctionRef& function() const override { return fn_; }
  std::shared_ptr<const Transform> with_function(
      FunctionRef function) const override {
    return std::make_shared<Map>(std::move(function), options_, cap_);
  }
  bool passes_elements() const override { return false; }
  bool changes_errors() const override {
    return options_.on_error.kind == ErrorPolicy::Kind::kSkip ||
           options_.on_error.kind == ErrorPolicy::Kind::kReplace;
  }

 private:
  bool skips_errors() const {
    return options_.on_error.kind == ErrorPolicy::Kind::kSkip;
  }
  bool replaces_errors() const {
    return options_.on_error.kind == ErrorPolicy::Kind::kReplace;
  }

  FunctionRef fn_;
  MapOptions options_;
  int cap_;
};

}  // namespace

StatusOr<int> parallel_cap(std::string_view op, std::int64_t calls,
                           std::string_view parameter) {
  if (calls == kAutotune) return 0;
  if (calls < 1) {
    return invalid_argument(to_absl(op), ": ", to_absl(parameter),
                            " must be >= 1 or AUTOTUNE, got ", calls);
  }
  return static_cast<int>(
      std::min<std::int64_t>(calls, std::numeric_limits<int>::max()));
}

StatusOr<std::shared_ptr<const Operator>> make_map(FunctionRef fn,
                                                   MapOptions options) {
  PS_RETURN_IF_ERROR(check_given("map", "fn", fn));
  PS_ASSIGN_OR_RETURN(const int cap,
                      parallel_cap("map", options.num_parallel_calls));
  PS_RETURN_IF_ERROR(check_policy("map", options.on_error));
  return std::make_shared<Map>(std::move(fn), std::move(options), cap);
}

}  // namespace penstock::ops

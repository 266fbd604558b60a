// on_error: Options::on_error, applied to the stages that inherit it.
//
// A rewrite of the graph: behind each such stage comes one that skips errors
// (a sequencer; it ends random access) or replaces them (a transform, one to
// one). It has the number of its stage, so that no other stage changes its
// name, and touches the errors of that stage only. Limits and rates count per
// stage. State: that of the skipper.
#include "penstock/ops/on_error/on_error.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "penstock/ops/function_stage.h"
#include "penstock/ops/ignore_errors/ignore_errors.h"
#include "penstock/ops/native_function.h"

namespace penstock::ops {
namespace {

constexpr std::string_view kName = "on_error";

class SkipErrors final : public Operator {
 public:
  SkipErrors(ErrorPolicy policy, std::vector<std::string> stages)
      : policy_(std::move(policy)), stages_(std::move(stages)) {}

  std::string_view op() const override { return kName; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return absl::StrCat("on_error(", describe_policy(policy_), ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return in[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0] == Cardinality(0) ? in[0] : Cardinality::unknown();
  }
  void add_to(Fingerprint& fp) const override { add_policy(policy_, fp); }
  std::vector<Part> lower() const override {
    return {
        {.sequencer = make_error_skipper(policy_, ErrorsOf::stages(stages_))}};
  }

 private:
  const ErrorPolicy policy_;
  const std::vector<std::string> stages_;
};

class ReplaceErrors final : public TransformOp {
 public:
  ReplaceErrors(ErrorPolicy policy, std::string stage)
      : policy_(std::move(policy)),
        stage_(std::move(stage)),
        of_(ErrorsOf::stages({stage_})) {}

  std::string_view op() const override { return kName; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return absl::StrCat("on_error(", describe_policy(policy_), ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    auto spec = spec_with_value(in[0], policy_.value);
    if (spec.ok()) return spec;
    return annotate(spec.status(), absl::StrCat(stage_, ": "));
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0];
  }
  void add_to(Fingerprint& fp) const override { add_policy(policy_, fp); }
  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    return replace_errors(block, policy_.value, of_, context);
  }

 private:
  const ErrorPolicy policy_;
  const std::string stage_;
  const ErrorsOf of_;
};

bool calls_user_code(const Operator& op) {
  const std::vector<Part> parts = op.lower();
  return std::any_of(parts.begin(), parts.end(), [](const Part& part) {
    return (part.transform && part.transform->traits().user_code) ||
           (part.sequencer && part.sequencer->traits().user_code) ||
           (part.source && part.source->user_code());
  });
}

/// A function of the user that runs natively, and may fail all the same.
bool may_fail_natively(const Operator& op) {
  const auto* stage = dynamic_cast<const FunctionStage*>(&op);
  const auto program =
      stage == nullptr ? nullptr : program_of(*stage->function());
  return program != nullptr &&
         std::any_of(program->nodes().begin(), program->nodes().end(),
                     [&](const expr::Node& n) { return program->can_fail(n); });
}

bool inherits(const Operator& op) {
  const auto* own = dynamic_cast<const OwnErrorPolicy*>(&op);
  return (own == nullptr ||
          own->error_policy().kind == ErrorPolicy::Kind::kInherit) &&
         (calls_user_code(op) || may_fail_natively(op) ||
          dynamic_cast<const FailsOnElements*>(&op) != nullptr);
}

/// Stages whose errors are skipped further down, because what follows needs
/// random access.
struct SkippedLater {
  const ErrorPolicy* policy;
  std::string stage;
};

class Rewriter {
 public:
  /// `strip`: only takes out what an earlier one put in.
  explicit Rewriter(bool strip) : strip_(strip) {}

  StatusOr<NodeRef> visit(const NodeRef& node, const ErrorPolicy& policy) {
    return visit(node, policy, nullptr);
  }

 private:
  using Later = std::vector<SkippedLater>;

  // `later` is null if nothing that follows needs random access.
  StatusOr<NodeRef> visit(const NodeRef& node, const ErrorPolicy& policy,
                          Later* later) {
    if (node->op->op() == kName) {
      return visit(node->inputs.front(), policy, later);
    }
    if (later != nullptr) return rewrite(node, policy, later);
    // Those that inherit nothing are one, wherever that was not said.
    const bool given = policy.kind != ErrorPolicy::Kind::kInherit;
    NodeRef& known = rewritten_[{node.get(), given ? &policy : nullptr}];
    if (!known) {
      PS_ASSIGN_OR_RETURN(known, rewrite(node, policy, nullptr));
    }
    return known;
  }

  StatusOr<NodeRef> rewrite(const NodeRef& node, const ErrorPolicy& policy,
                            Later* later) {
    const IndexedOp* indexed = node->op->indexed();
    Later below;
    Later* inner = later;
    if (inner == nullptr && indexed != nullptr &&
        indexed->needs_random_access() && !strip_) {
      inner = &below;
    }
    std::vector<NodeRef> inputs;
    std::vector<Later> skipped(node->inputs.size());
    bool changed = false;
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const NodeRef& branch = node->inputs[i];
      PS_ASSIGN_OR_RETURN(NodeRef input,
                          visit(branch,
                                policy.kind == ErrorPolicy::Kind::kInherit
                                    ? branch->options.on_error
                                    : policy,
                                inner != nullptr ? &skipped[i] : nullptr));
      changed |= input != branch;
      inputs.push_back(std::move(input));
    }
    NodeRef out = node;
    if (changed) {
      PS_ASSIGN_OR_RETURN(out,
                          Node::make(node->op, std::move(inputs), node->name));
    }
    const std::string label = out->stage().to_string();
    for (std::size_t i = 0; i < skipped.size(); ++i) {
      for (SkippedLater& inside : skipped[i]) {
        if (skipped.size() > 1) {
          inside.stage = absl::StrCat(label, "[", i, "].", inside.stage);
        }
        inner->push_back(std::move(inside));
      }
    }
    const bool skips = policy.kind == ErrorPolicy::Kind::kSkip;
    const bool replaces = policy.kind == ErrorPolicy::Kind::kReplace;
    if (!strip_ && (skips || replaces) && inherits(*node->op)) {
      if (inner == nullptr || replaces) {
        PS_ASSIGN_OR_RETURN(out, behind(out, policy, {label}));
      } else {
        inner->push_back({&policy, label});
      }
    }
    while (!below.empty()) {
      const ErrorPolicy* one = below.front().policy;
      std::vector<std::string> stages;
      std::erase_if(below, [&](SkippedLater& at) {
        if (at.policy != one) return false;
        stages.push_back(std::move(at.stage));
        return true;
      });
      PS_ASSIGN_OR_RETURN(out, behind(out, *one, std::move(stages)));
    }
    return out;
  }

  static StatusOr<NodeRef> behind(const NodeRef& node,
                                  const ErrorPolicy& policy,
                                  std::vector<std::string> stages) {
    std::shared_ptr<const Operator> op;
    if (policy.kind == ErrorPolicy::Kind::kSkip) {
      op = std::make_shared<SkipErrors>(policy, std::move(stages));
    } else {
      op = std::make_shared<ReplaceErrors>(policy, stages.front());
    }
    PS_ASSIGN_OR_RETURN(const NodeRef made, Node::make(std::move(op), {node}));
    auto numbered = std::make_shared<Node>(*made);
    numbered->index = node->index;
    return numbered;
  }

  const bool strip_;
  // A dataset may be used twice, and what it is made of twice again. References
  // to its values stay good as it grows.
  std::map<std::pair<const Node*, const ErrorPolicy*>, NodeRef> rewritten_;
};

}  // namespace

StatusOr<NodeRef> with_error_policy(const NodeRef& node,
                                    const ErrorPolicy& policy) {
  return Rewriter(false).visit(node, policy);
}

StatusOr<NodeRef> without_error_policy(const NodeRef& node) {
  return Rewriter(true).visit(node, {});
}

}  // namespace penstock::ops

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Drops elements that are errors, up to a limit; then raises the next one.
StatusOr<std::shared_ptr<const Operator>> make_ignore_errors(
    std::optional<std::int64_t> limit);

/// The stages whose errors a policy is about.
class ErrorsOf {
 public:
  static ErrorsOf any() { return ErrorsOf(std::nullopt); }
  /// Of the stage that applies the policy.
  static ErrorsOf own() { return ErrorsOf(std::vector<std::string>()); }
  /// Labels of stages in the branch of the one that applies the policy.
  static ErrorsOf stages(std::vector<std::string> labels) {
    return ErrorsOf(std::move(labels));
  }
  bool match(const ElementError& error, const StageInfo& at) const;

 private:
  explicit ErrorsOf(std::optional<std::vector<std::string>> labels)
      : labels_(std::move(labels)) {}
  std::optional<std::vector<std::string>> labels_;
};

/// InvalidArgument unless limit, rate and value of `policy` make sense.
Status check_policy(std::string_view op, const ErrorPolicy& policy);

void add_policy(const ErrorPolicy& policy, Fingerprint& fingerprint);

/// "skip, limit=2", or nothing for a policy that raises.
std::string describe_policy(const ErrorPolicy& policy);

/// Takes out the errors `of` these stages, as a part of another operator. It
/// raises the ones beyond the limit or rate of `policy`.
std::shared_ptr<const Sequencer> make_error_skipper(const ErrorPolicy& policy,
                                                    ErrorsOf of);

/// Puts `value` in the place of the errors `of` these stages.
Status replace_errors(Block& block, const Element& value, const ErrorsOf& of,
                      CallContext& context);

/// What a stage gives whose errors become `value`.
StatusOr<Spec> spec_with_value(const Spec& spec, const Element& value);

}  // namespace penstock::ops

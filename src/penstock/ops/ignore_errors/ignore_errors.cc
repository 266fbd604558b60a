// ignore_errors: what is left when the errors are taken out.
//
// A sequencer, because a limit counts errors in their order, not in the order
// in which they happened to be found. State: how many elements and errors have
// gone through. The same sequencer serves the skip policies of other stages,
// for their own errors only. An error with which a stage ended is never
// skipped: what should have followed it is missing. Nor is a cancellation.
#include "penstock/ops/ignore_errors/ignore_errors.h"

#include <algorithm>
#include <bit>

#include "penstock/memory/element_codec.h"

namespace penstock::ops {
namespace {

class ErrorSkipper final : public Sequencer {
 public:
  ErrorSkipper(std::optional<std::int64_t> limit, std::optional<double> rate,
               ErrorsOf of)
      : limit_(limit), rate_(rate), of_(std::move(of)) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;  // whether a row is an error
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto counts = std::make_unique<Counts>();
    counts->stage = *context.stage;
    return counts;
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& counts = s.as<Counts>();
    if (in.available(0) == 0) {
      return in.ended(0) ? Step::end() : Step::need_each(0, 1, 1);
    }
    const Rows rows = in.take(0, out.room());
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      ++counts.seen;
      if (rows.block().error_at(rows.at(i)) == nullptr) continue;
      const ErrorRef error = rows.block().error_ref(rows.at(i));
      if (!of_.match(*error, counts.stage)) continue;  // stays in the stream
      if (i > begin) out.emit(rows.slice(begin, i));
      begin = i + 1;
      std::string reason = refusal(counts);
      if (reason.empty()) {
        ++counts.skipped;
        out.skipped(error);
      } else {
        out.emit(with_reason(*error, std::move(reason),
                             rows.block().origins().at(rows.at(i))));
      }
    }
    if (rows.size() > begin) out.emit(rows.slice(begin, rows.size()));
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& w) const override {
    w.own.i64(s.as<Counts>().seen);
    w.own.i64(s.as<Counts>().skipped);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    s.as<Counts>().seen = own.i64();
    s.as<Counts>().skipped = own.i64();
    return absl::OkStatus();
  }

 private:
  struct Counts : SequencerState {
    std::int64_t seen = 0;
    std::int64_t skipped = 0;
    StageInfo stage;
  };
  // Why no further error is skipped; empty if this one may be.
  std::string refusal(const Counts& counts) const {
    if (limit_ && counts.skipped >= *limit_) {
      return absl::StrCat("the limit is ", *limit_);
    }
    if (rate_ && !within_rate(counts)) {
      return absl::StrCat(counts.skipped + 1, " of ", counts.seen,
                          " elements failed, the rate is ", *rate_);
    }
    return {};
  }

  static Rows with_reason(const ElementError& error, std::string reason,
                          const Origin& origin) {
    auto told = std::make_shared<ElementError>(error);
    told->not_skipped = std::move(reason);
    Block block(nullptr, {}, 1, Origins(origin.path, origin.ordinal));
    block.errors().emplace_back(0, std::move(told));
    return Rows(BlockRef(make_ref<SharedBlock>(std::move(block))));
  }

  // One more than the share, so that errors that lie evenly pass, whichever
  // element is the first of them. At the start as many as among 20 elements: a
  // share of a few says nothing, but half of ten must not pass as a tenth.
  bool within_rate(const Counts& counts) const {
    constexpr std::int64_t kFew = 20;
    const auto seen = static_cast<double>(std::max(counts.seen, kFew));
    return *rate_ > 0 && static_cast<double>(counts.skipped) <= *rate_ * seen;
  }

  std::optional<std::int64_t> limit_;
  std::optional<double> rate_;
  const ErrorsOf of_;
};

class IgnoreErrors final : public Operator {
 public:
  explicit IgnoreErrors(std::optional<std::int64_t> limit) : limit_(limit) {}

  std::string_view op() const override { return "ignore_errors"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return limit_ ? absl::StrCat("ignore_errors(limit=", *limit_, ")")
                  : "ignore_errors()";
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return in[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0] == Cardinality(0) ? in[0] : Cardinality::unknown();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(limit_.value_or(-1)));
  }
  std::vector<Part> lower() const override {
    return {{.sequencer = std::make_shared<ErrorSkipper>(limit_, std::nullopt,
                                                         ErrorsOf::any())}};
  }

 private:
  std::optional<std::int64_t> limit_;
};

}  // namespace

bool ErrorsOf::match(const ElementError& error, const StageInfo& at) const {
  if (error.ends_stage || error.restore_failed) return false;
  if (absl::IsCancelled(error.status)) return false;
  if (!labels_) return true;
  if (labels_->empty()) return error.stage == at.to_string();
  return std::any_of(
      labels_->begin(), labels_->end(), [&](const std::string& label) {
        return error.stage.size() == at.prefix.size() + label.size() &&
               error.stage.starts_with(at.prefix) &&
               error.stage.ends_with(label);
      });
}

Status check_policy(std::string_view op, const ErrorPolicy& policy) {
  if (policy.limit && *policy.limit < 0) {
    return invalid_argument(to_absl(op), ": on_error: limit must be >= 0, got ",
                            *policy.limit);
  }
  if (policy.rate && !(*policy.rate >= 0 && *policy.rate <= 1)) {
    return invalid_argument(
        to_absl(op), ": on_error: rate must be in [0, 1], got ", *policy.rate);
  }
  if (policy.kind == ErrorPolicy::Kind::kReplace && !policy.value.defined()) {
    return invalid_argument(
        to_absl(op), ": on_error: value must be an element, got <undefined>");
  }
  return absl::OkStatus();
}

void add_policy(const ErrorPolicy& policy, Fingerprint& fp) {
  using Kind = ErrorPolicy::Kind;
  if (policy.kind != Kind::kSkip && policy.kind != Kind::kReplace) return;
  fp.add(static_cast<std::uint64_t>(policy.kind));
  fp.add(static_cast<std::uint64_t>(policy.limit.value_or(-1)));
  fp.add(std::bit_cast<std::uint64_t>(policy.rate.value_or(-1.0)));
  if (policy.kind == Kind::kReplace) {
    auto value = encode_element(policy.value);
    fp.add(value.ok() ? std::string_view(*value) : "?");
  }
}

std::string describe_policy(const ErrorPolicy& policy) {
  using Kind = ErrorPolicy::Kind;
  if (policy.kind == Kind::kReplace) {
    return absl::StrCat("replace by ", policy.value.to_string());
  }
  if (policy.kind != Kind::kSkip) return "";
  std::string text = "skip";
  if (policy.limit) absl::StrAppend(&text, ", limit=", *policy.limit);
  if (policy.rate) absl::StrAppend(&text, ", rate=", *policy.rate);
  return text;
}

std::shared_ptr<const Sequencer> make_error_skipper(const ErrorPolicy& policy,
                                                    ErrorsOf of) {
  return std::make_shared<ErrorSkipper>(policy.limit, policy.rate,
                                        std::move(of));
}

StatusOr<std::shared_ptr<const Operator>> make_ignore_errors(
    std::optional<std::int64_t> limit) {
  if (limit && *limit < 0) {
    return invalid_argument("ignore_errors: limit must be >= 0, got ", *limit);
  }
  return std::make_shared<IgnoreErrors>(limit);
}

namespace {

/// Tuples and dicts lie inside of each other in the same way.
bool nest_alike(const Structure& a, const Structure& b) {
  using Kind = Structure::Kind;
  const auto nested = [](const Structure& s) {
    return s.kind() == Kind::kTuple || s.kind() == Kind::kDict;
  };
  if (&a == &b || (!nested(a) && !nested(b))) return true;
  if (a.kind() != b.kind() || a.children().size() != b.children().size()) {
    return false;
  }
  for (std::size_t i = 0; i < a.children().size(); ++i) {
    const std::size_t k = a.kind() == Kind::kDict ? b.find(a.keys()[i]) : i;
    if (k == b.children().size() ||
        !nest_alike(*a.children()[i], *b.children()[k])) {
      return false;
    }
  }
  return true;
}

/// What the stage gives is of the form of `value`, where it gives anything.
bool all_nest_alike(const Block& block, const Element& value) {
  const Structure& form = *value.structure();
  if (!block.mixed()) {
    return block.structure() == nullptr || nest_alike(*block.structure(), form);
  }
  for (std::int64_t row = 0; row < block.size(); ++row) {
    if (block.error_at(row) == nullptr &&
        !nest_alike(*block.element(row).structure(), form)) {
      return false;
    }
  }
  return true;
}

}  // namespace

Status replace_errors(Block& block, const Element& value, const ErrorsOf& of,
                      CallContext& context) {
  const auto mine = [&](const auto& entry) {
    return of.match(*entry.second, *context.stage);
  };
  const Block::Errors& errors = block.errors();
  // Behind an unknown spec only elements show that the value does not fit; each
  // that does so is an error, however they are cut into blocks.
  const bool fits = all_nest_alike(block, value);
  if (fits && std::none_of(errors.begin(), errors.end(), mine)) {
    return absl::OkStatus();
  }
  BlockBuilder builder;
  builder.reserve(block.size());
  auto next = errors.begin();
  for (std::int64_t row = 0; row < block.size(); ++row) {
    if (next == errors.end() || next->first != row) {
      Element element = block.element(row);
      if (fits || nest_alike(*element.structure(), *value.structure())) {
        builder.add(std::move(element));
      } else {
        builder.add_error(context.error(
            invalid_argument("on_error: value must fit ",
                             Spec::of(element).to_string(), ", got ",
                             Spec::of(value).to_string()),
            block.origins().at(row)));
      }
      continue;
    }
    if (mine(*next)) {
      builder.add(value);
      if (context.replaced != nullptr) {
        context.replaced->push_back(next->second);
      }
    } else {
      builder.add_error(next->second);
    }
    ++next;
  }
  Origins origins = block.origins();
  PS_ASSIGN_OR_RETURN(block, builder.finish());
  block.set_origins(std::move(origins));
  return absl::OkStatus();
}

StatusOr<Spec> spec_with_value(const Spec& spec, const Element& value) {
  if (!spec.known()) return spec;
  auto both = Spec::unify(spec, Spec::of(value));
  if (both.ok()) return both;
  return invalid_argument("on_error: value must fit ", spec.to_string(),
                          ", got ", Spec::of(value).to_string());
}

}  // namespace penstock::ops

// ignore_errors: what is left when the errors are taken out.
//
// A sequencer, because a limit counts errors in their order, not in the order
// in which they happened to be found. State: how many elements and errors have
// gone through.
#include "penstock/ops/ignore_errors/ignore_errors.h"

namespace penstock::ops {
namespace {

class ErrorSkipper final : public Sequencer {
 public:
  ErrorSkipper(std::optional<std::int64_t> limit, std::optional<double> rate)
      : limit_(limit), rate_(rate) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;  // whether a row is an error
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext&) const override {
    return std::make_unique<Counts>();
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& counts = s.as<Counts>();
    if (in.available(0) == 0) {
      return in.ended(0) ? Step::end() : Step::need(0);
    }
    const Rows rows = in.take(0, out.room());
    std::int64_t begin = 0;
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      ++counts.seen;
      if (rows.block().error_at(rows.at(i)) == nullptr) continue;
      if (!accept(counts)) continue;  // stays in the stream
      if (i > begin) out.emit(rows.slice(begin, i));
      begin = i + 1;
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
  };
  bool accept(Counts& counts) const {
    if (limit_ && counts.skipped >= *limit_) return false;
    // A rate needs a few elements before it means anything.
    constexpr std::int64_t kRateAfter = 20;
    if (rate_ && counts.seen >= kRateAfter &&
        static_cast<double>(counts.skipped + 1) >
            *rate_ * static_cast<double>(counts.seen)) {
      return false;
    }
    ++counts.skipped;
    return true;
  }

  std::optional<std::int64_t> limit_;
  std::optional<double> rate_;
};

class IgnoreErrors final : public Operator {
 public:
  explicit IgnoreErrors(std::optional<std::int64_t> limit) : limit_(limit) {}

  std::string_view op() const override { return "ignore_errors"; }
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
    return {{.sequencer = std::make_shared<ErrorSkipper>(limit_,
                                                         std::nullopt)}};
  }

 private:
  std::optional<std::int64_t> limit_;
};

}  // namespace

std::shared_ptr<const Sequencer> make_error_skipper(
    const ErrorPolicy& policy) {
  return std::make_shared<ErrorSkipper>(policy.limit, policy.rate);
}

StatusOr<std::shared_ptr<const Operator>> make_ignore_errors(
    std::optional<std::int64_t> limit) {
  if (limit && *limit < 0) {
    return invalid_argument("ignore_errors: limit must be >= 0, got ", *limit);
  }
  return std::make_shared<IgnoreErrors>(limit);
}

Status replace_errors(Block& block, const Element& value,
                      CallContext& /*context*/) {
  if (block.errors().empty()) return absl::OkStatus();
  BlockBuilder builder;
  for (std::int64_t i = 0; i < block.size(); ++i) {
    builder.add(block.error_at(i) != nullptr ? value : block.element(i));
  }
  Origins origins = block.origins();
  PS_ASSIGN_OR_RETURN(block, builder.finish());
  block.set_origins(std::move(origins));
  return absl::OkStatus();
}

}  // namespace penstock::ops

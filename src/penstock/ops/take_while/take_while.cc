// take_while: the elements before the first for which a predicate is false.
//
// Three parts. A transform calls the predicate, in parallel and possibly past
// the end, and adds its verdict to the element; a sequencer ends the stream at
// the first false; a transform takes the verdicts off again. An element whose
// predicate fails is an error in its place and does not end the stream.
// The sequencer keeps no state: it is restored in front of the end.
#include "penstock/ops/take_while/take_while.h"

#include "penstock/ops/columns.h"
#include "penstock/ops/filter/filter.h"

namespace penstock::ops {
namespace {

class Judge final : public Transform {
 public:
  explicit Judge(FunctionRef predicate) : predicate_(std::move(predicate)) {}

  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    traits.user_code = predicate_->user_code();
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    PS_ASSIGN_OR_RETURN(const std::vector<std::int8_t> verdicts,
                        apply_predicate(*predicate_, block, context));
    PS_ASSIGN_OR_RETURN(Tensor flags,
                        Tensor::allocate<bool>(Shape{block.size()}));
    const auto out = flags.mutable_as<bool>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = verdicts[i] != 0;
    return widen(block, flags, Side::kBack);
  }

 private:
  FunctionRef predicate_;
};

class Cut final : public Sequencer {
 public:
  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext&) const override {
    return std::make_unique<SequencerState>();
  }
  StatusOr<Step> step(SequencerState&, Inputs& in,
                      Outputs& out) const override {
    if (in.available(0) == 0) {
      return in.ended(0) ? Step::end() : Step::need_each(0, out.room(), 1);
    }
    const Rows rows = in.take(0, out.room());
    std::int64_t n = 0;
    while (n < rows.size() && holds(rows.block(), rows.at(n))) ++n;
    out.emit(rows.slice(0, n));
    return n < rows.size() ? Step::end() : Step::more();
  }
  void save(const SequencerState&, SnapshotWriter&) const override {}
  Status restore(SequencerState&, Decoder&) const override {
    return absl::OkStatus();
  }

 private:
  static bool holds(const Block& block, std::int64_t row) {
    if (block.error_at(row) != nullptr) return true;
    if (block.mixed()) {
      return block.elements()[static_cast<std::size_t>(row)]
          .leaves()
          .back()
          .value<bool>();
    }
    const Column& verdicts = block.columns().back();
    return verdicts.packed()
               ? verdicts.tensor().as<bool>()[static_cast<std::size_t>(row)]
               : verdicts.row(row).value<bool>();
  }
};

class DropVerdicts final : public Transform {
 public:
  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    return traits;
  }
  Status apply(Block& block, CallContext&) const override {
    return narrow_to_first(block);
  }
};

class TakeWhile final : public Operator {
 public:
  explicit TakeWhile(FunctionRef predicate)
      : predicate_(std::move(predicate)) {}

  std::string_view op() const override { return "take_while"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override { return "take_while(fn)"; }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    PS_RETURN_IF_ERROR(check_predicate(*predicate_, in[0]));
    return in[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0] == Cardinality(0) ? in[0] : Cardinality::unknown();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(predicate_->identity());
  }
  std::vector<Part> lower() const override {
    return {{.transform = std::make_shared<Judge>(predicate_)},
            {.sequencer = std::make_shared<Cut>()},
            {.transform = std::make_shared<DropVerdicts>()}};
  }

 private:
  FunctionRef predicate_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_take_while(
    FunctionRef predicate) {
  PS_RETURN_IF_ERROR(check_given("take_while", "predicate", predicate));
  return std::make_shared<TakeWhile>(std::move(predicate));
}

}  // namespace penstock::ops

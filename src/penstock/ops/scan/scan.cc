// scan: a function of every element and of what it made of those before.
//
// A sequencer that runs user code, one call after the other: it cannot be
// parallel. A call that fails, or an input that is an error, is an error in
// its place and leaves the state as it was.
//
// State: the value of the user's state itself, as bytes (memory/
// element_codec.h), taken every kSnapshotRows elements; a restored iterator
// calls the function again for those behind the last one.
#include "penstock/ops/scan/scan.h"

#include "penstock/graph/element_key.h"
#include "penstock/memory/element_codec.h"
#include "penstock/ops/function.h"

namespace penstock::ops {
namespace {

constexpr std::int64_t kSnapshotRows = 64;

struct ScanState final : SequencerState {
  std::string stage;
  Epoch epoch;
  std::uint64_t salt = 0;
  Element value;
};

class Scan final : public SequencerOp {
 public:
  Scan(Element initial, std::string initial_bytes, ScanFunction fn,
       ScanOptions options)
      : initial_(std::move(initial)),
        initial_bytes_(std::move(initial_bytes)),
        fn_(std::move(fn)),
        options_(std::move(options)) {}

  std::string_view op() const override { return "scan"; }
  std::string describe() const override {
    return "scan(fn) (serial; its state holds the value)";
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return options_.output_signature;
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0];
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(options_.identity);
    fp.add(initial_bytes_);
  }

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;
    traits.user_code = true;
    traits.snapshot_interval = kSnapshotRows;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<ScanState>();
    state->stage = context.stage->to_string();
    state->epoch = context.epoch;
    state->salt = context.stage_salt;
    state->value = initial_;
    return state;
  }
  std::int64_t held_bytes(const SequencerState& s) const override {
    return s.as<ScanState>().value.byte_size();
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<ScanState>();
    if (in.available(0) == 0) {
      return in.ended(0) ? Step::end() : Step::need_each(0, out.room(), 1);
    }
    // Not past the next snapshot, so that one is taken there.
    const Rows rows = in.take(0, std::min(out.room(), kSnapshotRows));
    BlockBuilder builder;
    builder.reserve(rows.size());
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const std::int64_t row = rows.at(i);
      const Origin origin = rows.block().origins().at(row);
      ErrorRef error = rows.block().error_ref(row);
      if (!error)
        error = call(state, rows.block().element(row), origin, builder);
      if (error) builder.add_error(std::move(error), origin);
    }
    PS_ASSIGN_OR_RETURN(Block block, builder.finish());
    out.emit_block(std::move(block));
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    // Cannot fail: call() accepts no value without bytes.
    encode_element(s.as<ScanState>().value, writer.own).IgnoreError();
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    PS_ASSIGN_OR_RETURN(s.as<ScanState>().value, decode_element(own));
    const Status fits = check_state(initial_, s.as<ScanState>().value);
    return fits.ok() ? fits : absl::DataLossError(fits.message());
  }

 private:
  /// Adds the output, or gives the error that takes its place.
  ErrorRef call(ScanState& state, const Element& element, const Origin& origin,
                BlockBuilder& builder) const {
    auto error = std::make_shared<ElementError>();
    const ElementKey key(element_key(state.epoch, state.salt, origin.key()));
    try {
      auto result = fn_(state.value, element);
      error->status = result.ok() ? check(*result) : result.status();
      if (error->status.ok()) {
        state.value = std::move(result->first);
        builder.add(std::move(result->second), origin);
        return nullptr;
      }
    } catch (...) {
      error->status = status_of_current_exception();
      error->cause = std::current_exception();
    }
    error->stage = state.stage;
    error->element = origin.to_string();
    return error;
  }
  Status check(const std::pair<Element, Element>& result) const {
    PS_RETURN_IF_ERROR(check_state(initial_, result.first));
    if (!result.second.defined()) {
      return invalid_argument("the function returned nothing");
    }
    return options_.output_signature.check(result.second);
  }

  Element initial_;
  std::string initial_bytes_;
  ScanFunction fn_;
  ScanOptions options_;
};

}  // namespace

Status check_state(const Element& first, const Element& next) {
  PS_RETURN_IF_ERROR(check_encodable(next));
  bool fits = first.structure() == next.structure();
  for (std::size_t i = 0; fits && i < first.size(); ++i) {
    fits = first[i].dtype() == next[i].dtype();
  }
  if (fits) return absl::OkStatus();
  return invalid_argument("the state was ", Spec::of(first).to_string(),
                          " at first, the function returned ",
                          Spec::of(next).to_string());
}

StatusOr<std::shared_ptr<const Operator>> make_scan(Element initial_state,
                                                    ScanFunction fn,
                                                    ScanOptions options) {
  auto bytes = encode_element(initial_state);
  if (!bytes.ok()) {
    return invalid_argument(
        "scan: initial_state must be a value that can be "
        "saved, got ",
        initial_state.to_string(), " (", bytes.status().message(), ")");
  }
  return std::make_shared<Scan>(std::move(initial_state), *std::move(bytes),
                                std::move(fn), std::move(options));
}

}  // namespace penstock::ops

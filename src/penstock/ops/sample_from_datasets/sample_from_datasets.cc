// sample_from_datasets: elements of several datasets in random turns.
//
// A sequencer. The draw for element k depends on (seed, k) and on which
// datasets have ended, never on blocks or timing. A dataset that is drawn at
// its end leaves the draw, and another one is drawn. State: the number of draws
// and which datasets are left.
#include "penstock/ops/sample_from_datasets/sample_from_datasets.h"

#include <cmath>

#include "penstock/base/random.h"
#include "penstock/ops/shuffle/shuffle.h"

namespace penstock::ops {
namespace {

// Pieces in one item: the stage behind takes them one by one.
constexpr int kMaxSampledParts = 64;
// Draws that are made ahead, so that datasets drawn later work already.
constexpr std::size_t kForeseenDraws = 32;

struct Draws final : SequencerState {
  std::uint64_t key = 0;
  std::uint64_t next = 0;
  std::vector<bool> ended;
  TurnOrder turns;             // what the last step waits for
  std::uint64_t drawn_at = 0;  // the first of those draws
};

class Sample final : public SequencerOp {
 public:
  Sample(std::size_t n, SampleOptions options)
      : n_(n), options_(std::move(options)) {}

  std::string_view op() const override { return "sample_from_datasets"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    std::string text = "sample_from_datasets(";
    absl::StrAppend(&text, n_, " datasets");
    if (options_.seed) absl::StrAppend(&text, ", seed=", *options_.seed);
    if (options_.stop_on_empty_dataset) text += ", stop_on_empty_dataset=true";
    return text + ")";
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    return common_spec(inputs);
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    std::int64_t sum = 0;
    bool unknown = false;
    bool infinite = false;
    bool all_infinite = true;
    for (std::size_t i = 0; i < n_; ++i) {
      if (weight(i) <= 0) continue;
      unknown |= in[i].is_unknown();
      infinite |= in[i].is_infinite();
      all_infinite &= in[i].is_infinite();
      if (in[i].finite() && __builtin_add_overflow(sum, in[i].value(), &sum)) {
        unknown = true;
      }
    }
    if (all_infinite) return Cardinality::infinite();
    if (options_.stop_on_empty_dataset) {
      return !unknown && !infinite && sum == 0 ? Cardinality(0)
                                               : Cardinality::unknown();
    }
    if (infinite) return Cardinality::infinite();
    return unknown ? Cardinality::unknown() : Cardinality(sum);
  }
  void add_to(Fingerprint& fp) const override {
    for (std::size_t i = 0; i < n_; ++i) {
      fp.add(static_cast<std::uint64_t>(weight(i) * 0x1.0p53));
    }
    fp.add(static_cast<std::uint64_t>(options_.seed.has_value()));
    fp.add(options_.seed.value_or(0));
    fp.add(static_cast<std::uint64_t>(options_.stop_on_empty_dataset));
    fp.add(static_cast<std::uint64_t>(options_.rerandomize_each_iteration));
  }

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.num_inputs = static_cast<int>(n_);
    traits.own_paths = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<Draws>();
    state->key = order_key(options_.seed, options_.rerandomize_each_iteration,
                           context.epoch, context.stage_salt, context.path);
    state->ended.resize(n_);
    return state;
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<Draws>();
    std::int64_t room = out.room();
    for (int parts = 0; room > 0 && parts < kMaxSampledParts;) {
      const int input = draw(state, state.next);
      if (input < 0) return Step::end();
      if (in.available(input) > 0) {
        out.emit(in.take(input, 1));
        ++parts;
        --room;
      } else if (!in.ended(input)) {
        return need(state, input);
      } else if (options_.stop_on_empty_dataset) {
        return Step::end();
      } else {
        state.ended[static_cast<std::size_t>(input)] = true;
        state.turns.inputs.clear();  // the others share its draws
      }
      ++state.next;
    }
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<Draws>();
    writer.own.u64(state.next);
    for (const bool ended : state.ended) writer.own.boolean(ended);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<Draws>();
    state.next = own.u64();
    for (std::size_t i = 0; i < n_; ++i) state.ended[i] = own.boolean();
    return absl::OkStatus();
  }

 private:
  /// The share of dataset `i`; all together 1.
  double weight(std::size_t i) const {
    return options_.weights.empty() ? 1.0 / static_cast<double>(n_)
                                    : options_.weights[i];
  }

  /// Waits for `input`, and says which ones come after it.
  Step need(Draws& state, int input) const {
    std::vector<int>& drawn = state.turns.inputs;
    const std::size_t past =
        std::min<std::size_t>(state.next - state.drawn_at, drawn.size());
    drawn.erase(drawn.begin(),
                drawn.begin() + static_cast<std::ptrdiff_t>(past));
    state.drawn_at = state.next;
    state.turns.cycle = 0;
    while (drawn.size() < kForeseenDraws) {
      drawn.push_back(draw(state, state.next + drawn.size()));
    }
    Step step = Step::need(input);
    step.turns = &state.turns;
    return step;
  }

  /// The input that gives the element of draw `number`; -1 when none is left.
  int draw(const Draws& state, std::uint64_t number) const {
    double total = 0;
    for (std::size_t i = 0; i < n_; ++i) {
      if (!state.ended[i]) total += weight(i);
    }
    if (total <= 0) return -1;
    const auto block = philox(state.key, 0, number);
    const std::uint64_t bits =
        block[0] | (static_cast<std::uint64_t>(block[1]) << 32);
    double at = static_cast<double>(bits >> 11) * 0x1.0p-53 * total;
    int last = -1;
    for (std::size_t i = 0; i < n_; ++i) {
      if (state.ended[i] || weight(i) <= 0) continue;
      last = static_cast<int>(i);
      at -= weight(i);
      if (at < 0) break;
    }
    return last;
  }

  std::size_t n_;
  SampleOptions options_;
};

}  // namespace

StatusOr<Spec> common_spec(std::span<const Spec> specs) {
  Spec common = specs[0];
  for (std::size_t i = 1; i < specs.size(); ++i) {
    if (!common.known() || !specs[i].known()) {
      common = {};
      continue;
    }
    auto unified = Spec::unify(common, specs[i]);
    if (!unified.ok()) {
      return annotate(unified.status(), absl::StrCat("dataset ", i, ": "));
    }
    common = *std::move(unified);
  }
  return common;
}

StatusOr<std::shared_ptr<const Operator>> make_sample_from_datasets(
    std::size_t num_datasets, SampleOptions options) {
  if (num_datasets == 0) {
    return invalid_argument(
        "sample_from_datasets: datasets must not be empty, got 0");
  }
  auto& weights = options.weights;
  if (!weights.empty()) {
    if (weights.size() != num_datasets) {
      return invalid_argument(
          "sample_from_datasets: weights must have one value per dataset (",
          num_datasets, "), got ", weights.size());
    }
    double total = 0;
    for (const double w : weights) {
      if (!(w >= 0) || std::isinf(w)) {
        return invalid_argument(
            "sample_from_datasets: weights must be finite and >= 0, got ", w);
      }
      total += w;
    }
    if (!(total > 0) || std::isinf(total)) {
      return invalid_argument(
          "sample_from_datasets: weights must have a positive, finite sum, "
          "got ",
          total);
    }
    for (double& w : weights) w /= total;
  }
  return std::make_shared<Sample>(num_datasets, std::move(options));
}

}  // namespace penstock::ops

// choose_from_datasets: the datasets take turns as another dataset says.
//
// A sequencer. A choice is taken together with the element it names, so the
// only state is the inputs' own places. A choice that failed, or names no
// dataset, is an error in the element's place.
#include "penstock/ops/choose_from_datasets/choose_from_datasets.h"

#include "penstock/ops/sample_from_datasets/sample_from_datasets.h"

namespace penstock::ops {
namespace {

// Pieces in one item: the stage behind takes them one by one.
constexpr int kMaxChosenParts = 64;
// Choices that are looked at ahead, so that datasets chosen later work already.
constexpr std::int64_t kForeseenChoices = 32;

struct Choices final : SequencerState {
  TurnOrder turns;  // what the last step waits for
};

class Choose final : public SequencerOp {
 public:
  Choose(std::size_t n, bool stop_on_empty_dataset)
      : n_(static_cast<std::int64_t>(n)), stop_(stop_on_empty_dataset) {}

  std::string_view op() const override { return "choose_from_datasets"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return absl::StrCat("choose_from_datasets(", n_, " datasets",
                        stop_ ? "" : ", stop_on_empty_dataset=false", ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    const Spec& choice = inputs.back();
    const bool fits =
        !choice.known() || (choice.structure() == Structure::leaf() &&
                            (choice.leaves()[0].dtype == DType::kInvalid ||
                             choice.leaves()[0].dtype == DType::kInt64) &&
                            choice.leaves()[0].shape.accepts(Shape{}));
    if (!fits) {
      return invalid_argument("choice must give int64 scalars, it gives ",
                              choice.to_string());
    }
    return common_spec(inputs.first(inputs.size() - 1));
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    const Cardinality choices = in.back();
    if (choices == Cardinality(0)) return 0;
    bool all_infinite = true;
    for (const Cardinality c : in.first(in.size() - 1)) {
      all_infinite &= c.is_infinite();
    }
    // Every choice gives one element, be it an error.
    if (all_infinite) return choices;
    return Cardinality::unknown();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(n_));
    fp.add(static_cast<std::uint64_t>(stop_));
  }

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.num_inputs = static_cast<int>(n_) + 1;
    traits.needs_payload = true;
    traits.own_paths = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext&) const override {
    return std::make_unique<Choices>();
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    std::int64_t room = out.room();
    for (int parts = 0; room > 0 && parts < kMaxChosenParts;) {
      if (in.available(choice_input()) == 0) {
        return in.ended(choice_input()) ? Step::end()
                                        : Step::need(choice_input(), room);
      }
      if (!stop_ && all_ended(in)) return Step::end();
      const Rows choice = in.peek(choice_input(), 1);
      const Block& block = choice.block();
      const std::int64_t row = choice.at(0);
      StatusOr<std::int64_t> chosen = value_of(block, row);
      if (ErrorRef error = block.error_ref(row)) {
        in.take(choice_input(), 1);
        Block failed(nullptr, {}, 1, block.origins().slice(row));
        failed.errors().emplace_back(0, std::move(error));
        out.emit(Rows(BlockRef(make_ref<SharedBlock>(std::move(failed)))));
      } else if (!chosen.ok()) {
        out.emit_error(chosen.status(), block.origins().at(row));
        in.take(choice_input(), 1);
      } else {
        const int input = static_cast<int>(*chosen);
        if (in.available(input) > 0) {
          out.emit(in.take(input, 1));
          in.take(choice_input(), 1);
        } else if (!in.ended(input)) {
          return need(s.as<Choices>(), input, in);
        } else if (stop_) {
          return Step::end();
        } else {
          in.take(choice_input(), 1);
          continue;
        }
      }
      ++parts;
      --room;
    }
    return Step::more();
  }
  void save(const SequencerState&, SnapshotWriter&) const override {}
  Status restore(SequencerState&, Decoder&) const override {
    return absl::OkStatus();
  }

 private:
  /// Behind the datasets, which are numbered as choices name them.
  int choice_input() const { return static_cast<int>(n_); }

  /// Waits for `input`, and says which ones the choices at hand name after it.
  Step need(Choices& state, int input, const Inputs& in) const {
    const Rows choices = in.peek(choice_input(), kForeseenChoices);
    state.turns.cycle = 0;
    state.turns.next.assign(1, choice_input());
    state.turns.inputs.assign(1, input);
    for (std::int64_t i = 1; i < choices.size(); ++i) {
      const StatusOr<std::int64_t> chosen =
          value_of(choices.block(), choices.at(i));
      state.turns.inputs.push_back(chosen.ok() ? static_cast<int>(*chosen)
                                               : TurnOrder::kAtHand);
    }
    Step step = Step::need(input);
    step.turns = &state.turns;
    return step;
  }

  StatusOr<std::int64_t> value_of(const Block& block, std::int64_t row) const {
    const Element element = block.element(row);
    if (element.size() != 1 || element[0].dtype() != DType::kInt64 ||
        element[0].rank() != 0) {
      return invalid_argument("a choice must be an int64 scalar, got ",
                              element.defined() ? element.to_string() : "none");
    }
    const auto value = element[0].value<std::int64_t>();
    if (value < 0 || value >= n_) {
      return invalid_argument("a choice must be in [0, ", n_, "), got ", value);
    }
    return value;
  }
  bool all_ended(const Inputs& in) const {
    for (int i = 0; i < static_cast<int>(n_); ++i) {
      if (in.available(i) > 0 || !in.ended(i)) return false;
    }
    return true;
  }

  std::int64_t n_;
  bool stop_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_choose_from_datasets(
    std::size_t num_datasets, bool stop_on_empty_dataset) {
  if (num_datasets == 0) {
    return invalid_argument(
        "choose_from_datasets: datasets must not be empty, got 0");
  }
  return std::make_shared<Choose>(num_datasets, stop_on_empty_dataset);
}

}  // namespace penstock::ops

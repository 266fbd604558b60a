// rejection_resample: drops elements so that classes have given shares.
//
// Two parts: a transform computes the classes, in parallel; a sequencer keeps
// element k of class c with probability (target / initial)[c] over the largest
// such ratio, by a random number that depends on (seed, iteration, k) only.
// Without initial_dist the shares are estimated from the elements so far, each
// class counting 10 from the start. Elements are only ever dropped: tf.data
// may mix a second pass over its input into the output, so that some elements
// come twice. The shares are the same; here the input is read once, no element
// is seen twice in an epoch, and the output is never larger than the input.
//
// State: the number of elements and, when estimating, a count per class.
#include "penstock/ops/rejection_resample/rejection_resample.h"

#include <cmath>

#include "penstock/base/random.h"
#include "penstock/ops/group_by_window/attach.h"
#include "penstock/ops/shuffle/shuffle.h"

namespace penstock::ops {
namespace {

constexpr std::int64_t kPriorCount = 10;

struct Resampled final : SequencerState {
  std::uint64_t key = 0;
  std::uint64_t next = 0;
  std::vector<std::int64_t> counts;  // when estimating
};

class Reject final : public Sequencer {
 public:
  explicit Reject(RejectionResampleOptions options)
      : options_(std::move(options)) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<Resampled>();
    state->key = order_key(options_.seed, true, context.epoch,
                           context.stage_salt, context.path);
    if (estimates()) {
      state->counts.assign(options_.target_dist.size(), kPriorCount);
    }
    return state;
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<Resampled>();
    if (in.available(0) == 0) {
      return in.ended(0) ? Step::end() : Step::need_each(0, out.room(), 1);
    }
    const Rows rows = in.take(0, out.room());
    std::vector<std::int64_t> kept;
    const auto flush = [&] {
      if (kept.empty()) return;
      out.emit(Rows::listed(rows.block_ref(), std::move(kept)));
      kept.clear();
    };
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const std::int64_t row = rows.at(i);
      if (rows.block().error_at(row) != nullptr) {
        kept.push_back(row);
        ++state.next;
        continue;
      }
      const std::int64_t label = attached_number(rows.block(), row);
      if (label < 0 || label >= classes()) {
        flush();
        out.emit_error(invalid_argument("class_func must give a class in [0, ",
                                        classes(), "), it gave ", label),
                       rows.block().origins().at(row));
        ++state.next;
        continue;
      }
      if (keeps(state, static_cast<std::size_t>(label))) kept.push_back(row);
    }
    flush();
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    const auto& state = s.as<Resampled>();
    writer.own.u64(state.next);
    for (const std::int64_t count : state.counts) writer.own.i64(count);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& state = s.as<Resampled>();
    state.next = own.u64();
    for (std::int64_t& count : state.counts) {
      count = own.i64();
      if (count < kPriorCount) own.fail();
    }
    return absl::OkStatus();
  }

 private:
  bool estimates() const { return options_.initial_dist.empty(); }
  std::int64_t classes() const {
    return static_cast<std::int64_t>(options_.target_dist.size());
  }

  bool keeps(Resampled& state, std::size_t label) const {
    if (estimates()) ++state.counts[label];
    // Counts do as well as shares: only ratios of them matter.
    const auto ratio = [&](std::size_t c) {
      const double initial = estimates() ? static_cast<double>(state.counts[c])
                                         : options_.initial_dist[c];
      return options_.target_dist[c] > 0 ? options_.target_dist[c] / initial
                                         : 0.0;
    };
    double largest = 0;
    for (std::size_t c = 0; c < options_.target_dist.size(); ++c) {
      largest = std::max(largest, ratio(c));
    }
    const auto block = philox(state.key, 0, state.next++);
    const std::uint64_t bits =
        block[0] | (static_cast<std::uint64_t>(block[1]) << 32);
    return static_cast<double>(bits >> 11) * 0x1.0p-53 * largest < ratio(label);
  }

  RejectionResampleOptions options_;
};

class RejectionResample final : public Operator {
 public:
  RejectionResample(FunctionRef fn, RejectionResampleOptions options)
      : fn_(std::move(fn)), options_(std::move(options)) {}

  std::string_view op() const override { return "rejection_resample"; }
  std::string describe() const override {
    return absl::StrCat(
        "rejection_resample(class_func, ", options_.target_dist.size(),
        " classes", options_.initial_dist.empty() ? ", estimating" : "", ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    PS_ASSIGN_OR_RETURN(const Spec label,
                        check_number(*fn_, inputs[0], "class_func"));
    if (!label.known() || !inputs[0].known()) return Spec();
    return Spec::tuple({label, inputs[0]});
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0] == Cardinality(0) ? in[0] : Cardinality::unknown();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(fn_->identity());
    fp.add(options_.target_dist.size());
    for (const double p : options_.target_dist) {
      fp.add(static_cast<std::uint64_t>(p * 0x1.0p53));
    }
    for (const double p : options_.initial_dist) {
      fp.add(static_cast<std::uint64_t>(p * 0x1.0p53));
    }
    fp.add(static_cast<std::uint64_t>(options_.seed.has_value()));
    fp.add(options_.seed.value_or(0));
  }
  std::vector<Part> lower() const override {
    return {{.transform = make_attach(fn_, "class_func")},
            {.sequencer = std::make_shared<Reject>(options_)}};
  }
  bool cheap() const override { return false; }

 private:
  FunctionRef fn_;
  RejectionResampleOptions options_;
};

/// Checks that `dist` has only shares and makes their sum 1.
Status normalise(std::string_view name, std::vector<double>& dist) {
  double total = 0;
  for (const double p : dist) {
    if (!(p >= 0) || std::isinf(p)) {
      return invalid_argument("rejection_resample: ", to_absl(name),
                              " must be finite and >= 0, got ", p);
    }
    total += p;
  }
  if (!(total > 0) || std::isinf(total)) {
    return invalid_argument("rejection_resample: ", to_absl(name),
                            " must have a positive, finite sum, got ", total);
  }
  for (double& p : dist) p /= total;
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_rejection_resample(
    FunctionRef class_func, RejectionResampleOptions options) {
  PS_RETURN_IF_ERROR(
      check_given("rejection_resample", "class_func", class_func));
  PS_RETURN_IF_ERROR(normalise("target_dist", options.target_dist));
  if (!options.initial_dist.empty()) {
    PS_RETURN_IF_ERROR(normalise("initial_dist", options.initial_dist));
    if (options.initial_dist.size() != options.target_dist.size()) {
      return invalid_argument(
          "rejection_resample: initial_dist must have one value per class (",
          options.target_dist.size(), "), got ", options.initial_dist.size());
    }
    for (std::size_t c = 0; c < options.target_dist.size(); ++c) {
      if (options.target_dist[c] > 0 && options.initial_dist[c] <= 0) {
        return invalid_argument(
            "rejection_resample: initial_dist must be > 0 where target_dist "
            "is, got 0 for class ",
            c);
      }
    }
  }
  return std::make_shared<RejectionResample>(std::move(class_func),
                                             std::move(options));
}

}  // namespace penstock::ops

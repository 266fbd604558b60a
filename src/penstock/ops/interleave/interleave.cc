// interleave: each element becomes a dataset; `cycle_length` of them take
// turns, `block_length` elements each.
//
// The same parts as flat_map: a transform calls the function and reads small
// datasets on the spot, a sequencer merges (flat_map/merge.cc, where order and
// state are described). num_parallel_calls caps the calls of the function and
// the opened datasets that are worked on at once; neither changes the order.
// With deterministic=false a dataset that is slow holds up no other.
#include "penstock/ops/interleave/interleave.h"

#include "penstock/ops/flat_map/flat_map.h"
#include "penstock/ops/map/map.h"

namespace penstock::ops {
namespace {

class Interleave final : public Operator {
 public:
  Interleave(DatasetFunctionRef fn, const InterleaveOptions& options, int cap)
      : fn_(std::move(fn)), options_(options), cap_(cap) {}

  std::string_view op() const override { return "interleave"; }
  std::string describe() const override {
    std::string text =
        absl::StrCat("interleave(fn, cycle_length=", options_.cycle_length,
                     ", block_length=", options_.block_length);
    if (cap_ > 0) absl::StrAppend(&text, ", num_parallel_calls=", cap_);
    if (options_.deterministic) {
      absl::StrAppend(&text, ", deterministic=",
                      *options_.deterministic ? "true" : "false");
    }
    return text + ")";
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    return fn_->output_spec(inputs[0]);
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return nested_cardinality(in[0]);
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(fn_->identity());
    fp.add(static_cast<std::uint64_t>(options_.cycle_length));
    fp.add(static_cast<std::uint64_t>(options_.block_length));
    fp.add(static_cast<std::uint64_t>(options_.deterministic.value_or(true)));
  }
  std::vector<Part> lower() const override {
    return nested_parts(fn_, cap_,
                        {options_.cycle_length, options_.block_length,
                         options_.deterministic, cap_});
  }
  bool cheap() const override { return false; }

 private:
  DatasetFunctionRef fn_;
  InterleaveOptions options_;
  int cap_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_interleave(
    DatasetFunctionRef fn, InterleaveOptions options) {
  PS_RETURN_IF_ERROR(check_given("interleave", "fn", fn));
  if (options.cycle_length == kAutotune) {
    options.cycle_length = kDefaultCycleLength;
  }
  if (options.cycle_length < 1) {
    return invalid_argument(
        "interleave: cycle_length must be >= 1 or AUTOTUNE, got ",
        options.cycle_length);
  }
  if (options.block_length < 1) {
    return invalid_argument("interleave: block_length must be >= 1, got ",
                            options.block_length);
  }
  PS_ASSIGN_OR_RETURN(const int cap,
                      parallel_cap("interleave", options.num_parallel_calls));
  return std::make_shared<Interleave>(std::move(fn), options, cap);
}

}  // namespace penstock::ops

// flat_map: each element becomes a dataset; their elements in order.
//
// Two parts: a transform that calls the function, in parallel, and reads small
// datasets on the spot; a sequencer that puts them in order and opens the
// large ones (merge.cc, where the state is described too).
#include "penstock/ops/flat_map/flat_map.h"

#include "penstock/ops/flat_map/expand.h"

namespace penstock::ops {
namespace {

class FlatMap final : public Operator {
 public:
  explicit FlatMap(DatasetFunctionRef fn) : fn_(std::move(fn)) {}

  std::string_view op() const override { return "flat_map"; }
  std::string describe() const override { return "flat_map(fn)"; }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    return fn_->output_spec(inputs[0]);
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return nested_cardinality(in[0]);
  }
  void add_to(Fingerprint& fp) const override { fp.add(fn_->identity()); }
  std::vector<Part> lower() const override { return nested_parts(fn_, 0, {}); }
  bool cheap() const override { return false; }

 private:
  DatasetFunctionRef fn_;
};

}  // namespace

Cardinality nested_cardinality(Cardinality outer) {
  if (outer == Cardinality(0) || outer.is_infinite()) return outer;
  return Cardinality::unknown();
}

std::vector<Part> nested_parts(const DatasetFunctionRef& fn, int max_parallel,
                               const MergeOptions& options) {
  std::vector<Part> parts;
  parts.push_back({.transform = make_expand(fn, max_parallel)});
  parts.push_back({.sequencer = make_merge(options)});
  const StatusOr<Spec> declared = fn->output_spec({});
  if (declared.ok() && declared->known()) {
    parts.push_back({.transform = make_spec_check(*declared)});
  }
  return parts;
}

StatusOr<std::shared_ptr<const Operator>> make_flat_map(DatasetFunctionRef fn) {
  PS_RETURN_IF_ERROR(check_given("flat_map", "fn", fn));
  return std::make_shared<FlatMap>(std::move(fn));
}

}  // namespace penstock::ops

// from_tensors: a dataset of one element.
//
// An indexed source in memory; it shares the element's memory.
#include "penstock/ops/from_tensors/from_tensors.h"

#include "penstock/graph/holds_tensors.h"
#include "penstock/ops/content.h"

namespace penstock::ops {
namespace {

class FromTensors final : public IndexedSourceOp, public HoldsTensors {
 public:
  explicit FromTensors(Element element) : element_(std::move(element)) {}

  std::string_view op() const override { return "from_tensors"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override { return "from_tensors(element)"; }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return Spec::of(element_);
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return 1;
  }
  void add_to(Fingerprint& fp) const override {
    std::size_t budget = kContentBytes;
    add_content(fp, element_, budget);
  }

  std::int64_t size() const override { return 1; }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    BlockBuilder builder;
    for (std::int64_t i = 0; i < run.count; ++i) builder.add(element_);
    PS_ASSIGN_OR_RETURN(out, builder.finish());
    out.set_origins(run.list ? Origins(run.path, *run.list)
                             : Origins(run.path, run.begin, run.step));
    return absl::OkStatus();
  }
  std::int64_t own_bytes() const override { return own_bytes_of(element_); }

 private:
  Element element_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_from_tensors(Element element) {
  if (!element.defined()) {
    return invalid_argument(
        "from_tensors: element must be defined, got "
        "an empty one");
  }
  for (std::size_t i = 0; i < element.size(); ++i) {
    if (element[i].defined()) continue;
    return invalid_argument("from_tensors: every tensor must be defined, leaf ",
                            i, " is not");
  }
  return std::make_shared<FromTensors>(std::move(element));
}

}  // namespace penstock::ops

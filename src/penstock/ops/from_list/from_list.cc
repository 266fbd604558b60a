// from_list: the elements of a list.
//
// An indexed source in memory. Building it looks at structures, dtypes and
// shapes only; small elements are packed when a block of them is read. Shapes
// may differ: the spec is then as wide as all of them need.
#include "penstock/ops/from_list/from_list.h"

#include "penstock/graph/holds_tensors.h"
#include "penstock/ops/content.h"

namespace penstock::ops {
namespace {

class FromList final : public IndexedSourceOp, public HoldsTensors {
 public:
  FromList(std::vector<Element> elements, Spec spec)
      : elements_(std::move(elements)), spec_(std::move(spec)) {}

  std::string_view op() const override { return "from_list"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override {
    return absl::StrCat("from_list(", elements_.size(), " elements)");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return spec_;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return size();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(elements_.size()));
    fp.add(spec_.to_string());
    std::size_t budget = kContentBytes;
    for (const Element& element : elements_) {
      if (budget == 0) break;
      add_content(fp, element, budget);
      budget -= std::min<std::size_t>(budget, 64);  // for what is not payload
    }
    if (budget > 0) return;
    constexpr std::size_t kSampled = 16;  // up to the last one
    for (std::size_t i = 1; i <= kSampled; ++i) {
      std::size_t of_one = 1024;
      add_content(fp, elements_[(elements_.size() - 1) * i / kSampled], of_one);
    }
  }

  std::int64_t size() const override {
    return static_cast<std::int64_t>(elements_.size());
  }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    BlockBuilder builder;
    builder.reserve(run.count);
    for (std::int64_t k = 0; k < run.count; ++k) {
      builder.add(elements_[static_cast<std::size_t>(run.at(k))]);
    }
    PS_ASSIGN_OR_RETURN(out, builder.finish());
    out.set_origins(run.list ? Origins(run.path, *run.list)
                             : Origins(run.path, run.begin, run.step));
    return absl::OkStatus();
  }
  std::int64_t own_bytes() const override {
    std::int64_t bytes = 0;
    for (const Element& element : elements_) bytes += own_bytes_of(element);
    return bytes;
  }

 private:
  std::vector<Element> elements_;
  Spec spec_;
};

// Widens `spec` so that it accepts `element`; all dtypes are known here.
Status widen(Spec& spec, const Element& element) {
  if (spec.structure() != element.structure()) {
    return invalid_argument("structures differ: ", spec.to_string(), " and ",
                            Spec::of(element).to_string());
  }
  for (std::size_t i = 0; i < element.size(); ++i) {
    LeafSpec& leaf = spec.leaves()[i];
    const Tensor& t = element[i];
    if (leaf.dtype != t.dtype()) {
      return invalid_argument("dtypes of leaf ", i,
                              " differ: ", to_absl(dtype_name(leaf.dtype)),
                              " and ", to_absl(dtype_name(t.dtype())));
    }
    if (!leaf.shape.accepts(t.shape())) {
      leaf.shape = PartialShape::unify(leaf.shape, PartialShape(t.shape()));
    }
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_from_list(
    std::vector<Element> elements) {
  Spec spec;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!elements[i].defined()) {
      return invalid_argument("from_list: element ", i,
                              " must be defined, got an empty one");
    }
    for (const Tensor& t : elements[i].leaves()) {
      if (t.defined()) continue;
      return invalid_argument(
          "from_list: every tensor must be defined, one of "
          "element ",
          i, " is not");
    }
    if (i == 0) {
      spec = Spec::of(elements[0]);
      continue;
    }
    const Status status = widen(spec, elements[i]);
    if (!status.ok()) {
      return annotate(status,
                      absl::StrCat("from_list: elements 0 and ", i,
                                   " must have one structure and dtype; "));
    }
  }
  return std::make_shared<FromList>(std::move(elements), std::move(spec));
}

}  // namespace penstock::ops

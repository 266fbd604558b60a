// from_tensor_slices: the slices along the first dimension of all tensors.
//
// An indexed source in memory. Consecutive slices are a view of the tensors;
// slices in another order are gathered where they are small and views of their
// own where they are large.
#include "penstock/ops/from_tensor_slices/from_tensor_slices.h"

#include "penstock/ops/content.h"

namespace penstock::ops {
namespace {

// Above this a view per slice is cheaper than a copy.
constexpr std::int64_t kGatherBytes = 1024;

class FromTensorSlices final : public IndexedSourceOp {
 public:
  FromTensorSlices(Element element, std::int64_t size)
      : element_(std::move(element)), size_(size) {}

  std::string_view op() const override { return "from_tensor_slices"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override {
    return absl::StrCat("from_tensor_slices(", Spec::of(element_).to_string(),
                        ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    Spec spec = Spec::of(element_);
    for (LeafSpec& leaf : spec.leaves())
      leaf.shape = leaf.shape.without_first();
    return spec;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return size_;
  }
  void add_to(Fingerprint& fp) const override {
    std::size_t budget = kContentBytes;
    add_content(fp, element_, budget);
  }

  std::int64_t size() const override { return size_; }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    const bool contiguous = !run.list && (run.step == 1 || run.count <= 1);
    std::vector<std::int64_t> indices;
    if (!contiguous) {
      indices.reserve(static_cast<std::size_t>(run.count));
      for (std::int64_t k = 0; k < run.count; ++k) indices.push_back(run.at(k));
    }
    Block::Columns columns;
    for (const Tensor& t : element_.leaves()) {
      if (contiguous) {
        columns.emplace_back(t.rows(run.begin, run.begin + run.count));
        continue;
      }
      if (t.byte_size() <= kGatherBytes * size_) {
        PS_ASSIGN_OR_RETURN(Tensor gathered, gather_rows(t, indices));
        columns.emplace_back(std::move(gathered));
        continue;
      }
      std::vector<Tensor> rows;
      rows.reserve(indices.size());
      for (std::int64_t i : indices) rows.push_back(t.row(i));
      columns.emplace_back(std::move(rows));
    }
    out = Block(element_.structure(), std::move(columns), run.count,
                contiguous ? Origins(run.path, run.begin, run.step)
                           : Origins(run.path, std::move(indices)));
    return absl::OkStatus();
  }

 private:
  Element element_;
  std::int64_t size_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_from_tensor_slices(
    Element element) {
  if (!element.defined() || element.size() == 0) {
    return invalid_argument(
        "from_tensor_slices: needs at least one tensor, got ",
        element.to_string());
  }
  if (element.structure()->has_ragged()) {
    return invalid_argument(
        "from_tensor_slices: ragged values cannot be sliced, got ",
        Spec::of(element).to_string(), "; use from_list");
  }
  for (std::size_t i = 0; i < element.size(); ++i) {
    const Tensor& t = element[i];
    if (!t.defined() || t.rank() == 0) {
      return invalid_argument(
          "from_tensor_slices: every tensor must have a first dimension, leaf ",
          i, " is ", LeafSpec{t.dtype(), PartialShape(t.shape())}.to_string());
    }
    if (t.shape()[0] != element[0].shape()[0]) {
      return invalid_argument(
          "from_tensor_slices: first dimensions must be equal, leaf 0 has ",
          element[0].shape()[0], " rows, leaf ", i, " has ", t.shape()[0]);
    }
  }
  const std::int64_t size = element[0].shape()[0];
  return std::make_shared<FromTensorSlices>(std::move(element), size);
}

}  // namespace penstock::ops

// from_tensor_slices: the slices along the first dimension of all tensors.
//
// An indexed source in memory. Consecutive slices are a view of the tensors;
// slices in another order are gathered where they are small and views of their
// own where they are large. Rows of ragged values are always views.
#include "penstock/ops/from_tensor_slices/from_tensor_slices.h"

#include "penstock/graph/holds_tensors.h"
#include "penstock/memory/ragged.h"
#include "penstock/ops/content.h"

namespace penstock::ops {
namespace {

// Above this a view per slice is cheaper than a copy.
constexpr std::int64_t kGatherBytes = 1024;

class FromTensorSlices final : public IndexedSourceOp, public HoldsTensors {
 public:
  FromTensorSlices(Element element, std::int64_t size)
      : element_(std::move(element)),
        components_(ragged_components(element_.structure())),
        spec_(row_spec(Spec::of(element_))),
        size_(size) {}

  std::string_view op() const override { return "from_tensor_slices"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override {
    return absl::StrCat("from_tensor_slices(", Spec::of(element_).to_string(),
                        ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return spec_;
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
    for (const RaggedComponent& c : components_) {
      const Tensor& t = element_[c.first_leaf];
      if (c.ragged_rank > 0) {
        PS_RETURN_IF_ERROR(read_ragged(c, run, columns));
        continue;
      }
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
    out = Block(spec_.structure(), std::move(columns), run.count,
                contiguous ? Origins(run.path, run.begin, run.step)
                           : Origins(run.path, std::move(indices)));
    return absl::OkStatus();
  }
  std::int64_t own_bytes() const override { return own_bytes_of(element_); }

 private:
  /// Rows of a ragged value are of rank one lower: arrays if it was 1.
  Status read_ragged(const RaggedComponent& c, const IndexRun& run,
                     Block::Columns& columns) const {
    const std::span<const Tensor> value(element_.leaves().data() + c.first_leaf,
                                        c.num_leaves());
    std::vector<std::vector<Tensor>> rows(value.size() - 1);
    for (std::int64_t k = 0; k < run.count; ++k) {
      PS_ASSIGN_OR_RETURN(Element::Leaves row, ragged_row(value, run.at(k)));
      for (std::size_t i = 0; i < row.size(); ++i) {
        rows[i].push_back(std::move(row[i]));
      }
    }
    for (auto& column : rows) columns.emplace_back(std::move(column));
    return absl::OkStatus();
  }

  const Element element_;
  const std::vector<RaggedComponent> components_;
  const Spec spec_;
  const std::int64_t size_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_from_tensor_slices(
    Element element) {
  if (!element.defined() || element.size() == 0) {
    return invalid_argument(
        "from_tensor_slices: needs at least one tensor, got ",
        element.to_string());
  }
  std::int64_t size = -1;
  for (const RaggedComponent& c : ragged_components(element.structure())) {
    const std::size_t i = c.first_leaf;
    const Tensor& t = element[i];
    if (!t.defined() || t.rank() == 0) {
      return invalid_argument(
          "from_tensor_slices: every tensor must have a first dimension, leaf ",
          i, " is ", LeafSpec{t.dtype(), PartialShape(t.shape())}.to_string());
    }
    const std::span<const Tensor> value(&t, c.num_leaves());
    if (const Status status = check_ragged(value); !status.ok()) {
      return annotate(status, "from_tensor_slices: ");
    }
    const std::int64_t rows = ragged_rows(value);
    if (size < 0) size = rows;
    if (rows != size) {
      return invalid_argument(
          "from_tensor_slices: first dimensions must be equal, leaf 0 has ",
          size, " rows, leaf ", i, " has ", rows);
    }
  }
  return std::make_shared<FromTensorSlices>(std::move(element), size);
}

}  // namespace penstock::ops

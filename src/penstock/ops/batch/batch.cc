// batch: consecutive elements as one, stacked along a new first dimension.
//
// Two parts. A sequencer cuts the stream into whole groups and touches no
// payload; a transform behind it stacks them, in parallel. A group that already
// lies in one piece of memory is a view. Ragged values gain a level of
// row_splits. State: rows that went through.
#include "penstock/ops/batch/batch.h"

#include "penstock/memory/ragged.h"

namespace penstock::ops {
namespace {

class Regroup final : public Sequencer {
 public:
  Regroup(std::int64_t size, bool drop_remainder)
      : size_(size), drop_remainder_(drop_remainder) {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.granularity = size_;
    traits.groups_rows = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext&) const override {
    return std::make_unique<Passed>();
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    std::int64_t& passed = s.as<Passed>().rows;
    const std::int64_t available = in.available(0);
    std::int64_t rows = std::min(available, std::max(out.room(), size_));
    rows -= rows % size_;
    if (rows == 0) {
      if (!in.ended(0)) return Step::need_each(0, size_, 1);
      if (drop_remainder_ || available == 0) return Step::end();
      rows = available;
    }
    // Whole groups that lie in one piece become views; do not join pieces.
    const std::int64_t whole = in.peek(0, rows).size();
    if (whole >= size_) rows = whole - whole % size_;
    out.set_tag(passed);
    passed += rows;
    while (rows > 0) {
      Rows piece = in.take(0, rows);
      rows -= piece.size();
      out.emit(std::move(piece));
    }
    return Step::more();
  }
  MemoryNeed memory_need(const SequencerState&) const override {
    return {.remedy = "make batch_size smaller"};
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    writer.own.i64(s.as<Passed>().rows);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    s.as<Passed>().rows = own.i64();
    return absl::OkStatus();
  }

 private:
  struct Passed : SequencerState {
    std::int64_t rows = 0;
  };
  std::int64_t size_;
  bool drop_remainder_;
};

Status mismatch(const Block& rows, std::int64_t other, const std::string& what,
                const std::string& first, const std::string& second) {
  return invalid_argument(
      "elements differ in ", what, ": element ",
      rows.origins().at(0).to_string(), " has ", first, ", element ",
      rows.origins().at(other).to_string(), " has ", second,
      what == "shape" ? "; use padded_batch to pad them to one shape" : "");
}

// One [n, ...] tensor of leaf `leaf`.
StatusOr<Tensor> stack_leaf(const Block& rows, std::size_t leaf) {
  const Column& column = rows.column(leaf);
  if (column.packed()) return column.tensor();
  PS_RETURN_IF_ERROR(check_same_dtype(rows, leaf));
  const std::vector<Tensor>& tensors = column.rows();
  for (std::size_t i = 1; i < tensors.size(); ++i) {
    if (!(tensors[0].shape() == tensors[i].shape())) {
      return mismatch(rows, static_cast<std::int64_t>(i), "shape",
                      tensors[0].shape().to_string(),
                      tensors[i].shape().to_string());
    }
  }
  return stack_tensors(tensors);
}

// Rows that are lists, as one ragged value of rank 1.
StatusOr<Element::Leaves> stack_lists(const Block& rows, std::size_t leaf) {
  const std::vector<Tensor>& lists = rows.column(leaf).rows();
  PS_ASSIGN_OR_RETURN(Tensor splits,
                      Tensor::allocate<std::int64_t>(
                          Shape{static_cast<std::int64_t>(lists.size()) + 1}));
  auto s = splits.mutable_as<std::int64_t>();
  s[0] = 0;
  for (std::size_t i = 0; i < lists.size(); ++i) {
    s[i + 1] = s[i] + lists[i].shape()[0];
  }
  PS_ASSIGN_OR_RETURN(Tensor values, concat_rows(lists));
  return Element::Leaves{std::move(values), std::move(splits)};
}

bool all_lists(const Column& column) {
  if (column.packed()) return false;
  for (const Tensor& t : column.rows()) {
    if (t.rank() != 1) return false;
  }
  return true;
}

// The rows of a component as one ragged value of rank `rank`.
StatusOr<Element::Leaves> stack_as_ragged(const Block& rows,
                                          const RaggedComponent& component,
                                          int rank) {
  const std::size_t first = component.first_leaf;
  PS_RETURN_IF_ERROR(check_same_dtype(rows, first));
  if (component.ragged_rank == 0 && rank == 1 &&
      all_lists(rows.column(first))) {
    return stack_lists(rows, first);
  }
  std::vector<Element::Leaves> values;
  Shape inner;  // of the first row's values, without their first dimension
  for (std::int64_t r = 0; r < rows.size(); ++r) {
    Element::Leaves value;
    for (std::size_t k = 0; k < component.num_leaves(); ++k) {
      value.push_back(rows.column(first + k).row(r));
    }
    Status status;
    if (component.ragged_rank > 0) {
      status = check_ragged({value.data(), value.size()});
    } else {
      auto converted = ragged_from_dense(value[0], rank - 1);
      status = converted.status();
      if (converted.ok()) value = *std::move(converted);
    }
    if (!status.ok()) {
      return annotate(
          status,
          absl::StrCat("element ", rows.origins().at(r).to_string(), ": "));
    }
    const Shape own = value[0].shape().without_first();
    if (r == 0) inner = own;
    if (!(own == inner)) {
      return mismatch(rows, r, "inner shape", inner.to_string(),
                      own.to_string());
    }
    values.push_back(std::move(value));
  }
  return stack_ragged(values);
}

class Batch final : public GroupingOp {
 public:
  using GroupingOp::GroupingOp;

  TransformTraits traits() const override {
    TransformTraits traits;
    traits.arranges = true;
    return traits;
  }

  std::string_view op() const override { return "batch"; }
  std::string describe() const override {
    return absl::StrCat("batch(", size_,
                        drop_remainder_ ? ", drop_remainder=true" : "", ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    return batched_spec(inputs[0], static_size());
  }
  Status apply(Block& block, CallContext& context) const override {
    const bool whole = block.size() % size_ == 0;
    bool packed = whole && block.errors().empty() && !block.mixed() &&
                  !block.columns().empty() && !block.structure()->has_ragged();
    for (const Column& column : block.columns()) packed &= column.packed();
    if (!packed) {
      return combine_groups(block, size_, context,
                            [](const Block& rows) { return stack_rows(rows); });
    }
    const std::int64_t groups = block.size() / size_;
    Block::Columns columns;
    for (const Column& column : block.columns()) {
      const Tensor& t = column.tensor();
      Shape shape = t.shape().without_first().prepended(size_);
      columns.emplace_back(t.reshaped(shape.prepended(groups)));
    }
    block = Block(block.structure(), std::move(columns), groups,
                  Origins(context.path, context.tag / size_));
    return absl::OkStatus();
  }
};

}  // namespace

std::shared_ptr<const Sequencer> make_regroup(std::int64_t size,
                                              bool drop_remainder) {
  return std::make_shared<Regroup>(size, drop_remainder);
}

Cardinality grouped(Cardinality n, std::int64_t size, bool drop_remainder) {
  if (!n.finite()) return n;
  return n.value() / size + (!drop_remainder && n.value() % size != 0 ? 1 : 0);
}

StatusOr<Element> stack_rows(const Block& group,
                             std::span<const int> ragged_ranks) {
  Block made;
  if (group.mixed()) {
    PS_ASSIGN_OR_RETURN(made, uniform_rows(group));
  }
  const Block& rows = group.mixed() ? made : group;
  const auto components = ragged_components(rows.structure());
  std::vector<int> ranks;
  Element::Leaves leaves;
  for (std::size_t i = 0; i < components.size(); ++i) {
    const RaggedComponent& c = components[i];
    const int rank = c.ragged_rank > 0         ? c.ragged_rank + 1
                     : i < ragged_ranks.size() ? ragged_ranks[i]
                                               : 0;
    ranks.push_back(rank);
    if (rank == 0) {
      PS_ASSIGN_OR_RETURN(Tensor stacked, stack_leaf(rows, c.first_leaf));
      leaves.push_back(std::move(stacked));
    } else {
      PS_ASSIGN_OR_RETURN(Element::Leaves stacked,
                          stack_as_ragged(rows, c, rank));
      for (Tensor& t : stacked) leaves.push_back(std::move(t));
    }
  }
  return Element(with_ragged_ranks(rows.structure(), ranks), std::move(leaves));
}

StatusOr<Block> uniform_rows(const Block& rows) {
  if (!rows.mixed()) return rows;
  // A slice of a block of several structures may itself have only one.
  const auto& elements = rows.elements();
  BlockBuilder builder;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    Element element = elements[i];
    if (!element.order_like(elements[0].structure())) {
      return mismatch(rows, static_cast<std::int64_t>(i), "structure",
                      elements[0].structure()->to_string(),
                      element.structure()->to_string());
    }
    builder.add(std::move(element));
  }
  PS_ASSIGN_OR_RETURN(Block out, builder.finish());
  out.set_origins(rows.origins());
  return out;
}

Status check_same_dtype(const Block& rows, std::size_t leaf) {
  const Column& column = rows.column(leaf);
  if (column.packed()) return absl::OkStatus();
  const std::vector<Tensor>& tensors = column.rows();
  const DType dtype = tensors.front().dtype();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].dtype() == DType::kObject) {
      return invalid_argument("nested datasets cannot be batched");
    }
    if (tensors[i].dtype() != dtype) {
      return mismatch(rows, static_cast<std::int64_t>(i), "dtype",
                      std::string(dtype_name(dtype)),
                      std::string(dtype_name(tensors[i].dtype())));
    }
  }
  return absl::OkStatus();
}

Status combine_groups(
    Block& block, std::int64_t size, CallContext& context,
    const std::function<StatusOr<Element>(const Block& rows)>& combine) {
  BlockBuilder builder;
  const std::int64_t first = context.tag / size;
  for (std::int64_t begin = 0; begin < block.size(); begin += size) {
    const std::int64_t end = std::min(begin + size, block.size());
    const Block rows = block.slice(begin, end);
    if (!rows.errors().empty()) {
      auto error =
          std::make_shared<ElementError>(*rows.errors().front().second);
      error->others += static_cast<std::int64_t>(rows.errors().size()) - 1;
      builder.add_error(std::move(error));
      continue;
    }
    auto combined = combine(rows);
    if (combined.ok()) {
      builder.add(*std::move(combined));
    } else {
      builder.add_error(context.error(
          combined.status(), Origin{context.path, first + begin / size}));
    }
  }
  PS_ASSIGN_OR_RETURN(block, builder.finish());
  block.set_origins(Origins(context.path, first));
  return absl::OkStatus();
}

Status GroupingOp::read(const IndexRun& run, IndexInputs& in,
                        CallContext& context, std::vector<Block>& out) const {
  return read_groups(
      run, size_, in,
      [&](Block& rows, std::int64_t position) {
        context.tag = position;
        return apply(rows, context);
      },
      out);
}

Status read_groups(const IndexRun& run, std::int64_t size, IndexInputs& in,
                   const std::function<Status(Block&, std::int64_t)>& combine,
                   std::vector<Block>& out) {
  const std::int64_t total = in.size(0);
  const auto read = [&](std::int64_t begin, std::int64_t count) -> Status {
    IndexRun rows;
    rows.path = run.path;
    rows.begin = begin * size;
    rows.count = std::min(count * size, total - rows.begin);
    std::vector<Block> blocks;
    PS_RETURN_IF_ERROR(in.read(0, rows, blocks));
    PS_ASSIGN_OR_RETURN(Block block, join_blocks(blocks));
    PS_RETURN_IF_ERROR(combine(block, rows.begin));
    out.push_back(std::move(block));
    return absl::OkStatus();
  };
  if (!run.list && run.step == 1) return read(run.begin, run.count);
  for (std::int64_t i = 0; i < run.count; ++i) {
    PS_RETURN_IF_ERROR(read(run.at(i), 1));
  }
  return absl::OkStatus();
}

StatusOr<std::shared_ptr<const Operator>> make_batch(std::int64_t batch_size,
                                                     bool drop_remainder) {
  if (batch_size < 1) {
    return invalid_argument("batch: batch_size must be >= 1, got ", batch_size);
  }
  return std::make_shared<Batch>(batch_size, drop_remainder);
}

}  // namespace penstock::ops

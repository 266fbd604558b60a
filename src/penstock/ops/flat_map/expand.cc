#include "penstock/ops/flat_map/expand.h"

#include "penstock/graph/element_key.h"
#include "penstock/graph/holds_tensors.h"

namespace penstock::ops {
namespace {

// Up to here reading a dataset on the spot costs less than a pipe of its own
// and does not keep a worker for long.
constexpr std::int64_t kMaxExpanded = 4096;
// Datasets of one block that hold more are read one by one: together they would
// be copied into one block, and held twice meanwhile.
constexpr std::int64_t kMaxHeld = 256 * 1024;
// Smaller arguments, file names say, are not worth the bookkeeping.
constexpr std::int64_t kMinCharged = 1024;

bool expands(const Node& node) {
  return node.indexed && node.cheap && node.cardinality.finite() &&
         node.cardinality.value() <= kMaxExpanded;
}

/// Bytes that end with the dataset: what is part of other datasets, too, is not
/// held by this one.
std::int64_t own_bytes(const NodeRef& node) {
  if (node.use_count() > 1) return 0;
  const HoldsTensors* source = nullptr;
  if (node->op->memory() == Memory::kKept) {
    source = dynamic_cast<const HoldsTensors*>(node->op.get());
  }
  std::int64_t bytes = source != nullptr ? source->own_bytes() : 0;
  for (const NodeRef& input : node->inputs) bytes += own_bytes(input);
  return bytes;
}

Block error_row(ErrorRef error, const Origin& origin) {
  Block block(nullptr, {}, 1, Origins(origin.path, origin.ordinal));
  block.errors().emplace_back(0, std::move(error));
  return block;
}

class Expand final : public Transform {
 public:
  Expand(DatasetFunctionRef fn, int max_parallel)
      : fn_(std::move(fn)), max_parallel_(max_parallel) {}

  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    traits.user_code = true;
    traits.may_stop = true;
    traits.max_parallel = max_parallel_;
    // The merge tells elements apart by their number.
    traits.deterministic = true;
    return traits;
  }

  Status apply(Block& block, CallContext& context) const override {
    std::vector<Called> called = call_rows(block, context);
    const auto n = static_cast<std::int64_t>(called.size());
    if (n < block.size()) {
      context.left = block.slice(n, block.size());
      block = block.slice(0, n);
    }
    const std::string prefix = absl::StrCat(context.stage->to_string(), ".");
    auto expansion = make_ref<Expansion>();
    PS_ASSIGN_OR_RETURN(Tensor spans,
                        Tensor::allocate<std::int64_t>(Shape{n, 2}));
    std::int64_t* span = spans.mutable_as<std::int64_t>().data();
    std::vector<Block> pieces;
    pieces.reserve(static_cast<std::size_t>(n));
    std::int64_t total = 0;
    for (std::int64_t row = 0; row < n; ++row, span += 2) {
      const Origin origin = block.origins().at(row);
      const std::size_t first = pieces.size();
      const std::size_t opened = expansion->open.size();
      auto& [node, error, held] = called[static_cast<std::size_t>(row)];
      if (!error) {
        error = expand(std::move(node), held, block, row, prefix, context,
                       *expansion, pieces);
      }
      if (error) {
        pieces.resize(first);
        pieces.push_back(error_row(std::move(error), origin));
      } else if (expansion->open.size() > opened) {
        span[0] = -1;
        span[1] = static_cast<std::int64_t>(opened);
        continue;
      }
      span[0] = total;
      for (std::size_t i = first; i < pieces.size(); ++i) {
        total += pieces[i].size();
      }
      span[1] = total;
    }
    if (!pieces.empty()) {
      PS_ASSIGN_OR_RETURN(Block rows, join_blocks(pieces));
      const std::int64_t bytes = rows.byte_size();
      context.charged_bytes += bytes;
      expansion->rows = BlockRef(make_ref<SharedBlock>(
          std::move(rows), context.reservation != nullptr
                               ? context.reservation->split(bytes)
                               : Charge()));
    }
    Block::Columns columns;
    columns.emplace_back(std::move(spans));
    columns.emplace_back(std::vector<Tensor>(
        static_cast<std::size_t>(n), Tensor::object(std::move(expansion))));
    block = Block(Structure::leaves(2), std::move(columns), n, block.origins());
    return absl::OkStatus();
  }

 private:
  /// What the function made of an element.
  struct Called {
    NodeRef node;
    ErrorRef error;
    std::int64_t held = 0;  // by the dataset alone
  };

  /// Of the first rows only, when they take too long or make too much.
  std::vector<Called> call_rows(const Block& block,
                                CallContext& context) const {
    std::vector<Called> called;
    called.reserve(static_cast<std::size_t>(block.size()));
    const std::unique_ptr<DatasetFunction::Calls> calls = fn_->calls();
    Element element;
    std::int64_t held = 0;
    for (std::int64_t row = 0; row < block.size(); ++row) {
      const bool full = context.overdue_flag != nullptr && held > kMaxHeld;
      if (row > 0 && (full || context.overdue())) break;
      Called& made = called.emplace_back();
      made.error = block.error_ref(row);
      if (made.error) continue;
      const Origin origin = block.origins().at(row);
      if (context.cancelled()) {
        made.error = context.error(absl::CancelledError("cancelled"), origin);
        continue;
      }
      const ElementKey key(context.random_key(block.origins(), row));
      block.read_element(row, element);
      try {
        StatusOr<NodeRef> node =
            calls ? calls->call(element) : fn_->call(element);
        if (node.ok() && *node == nullptr) {
          node = absl::InvalidArgumentError("the function returned no dataset");
        }
        if (node.ok()) {
          made.node = *std::move(node);
          made.held = own_bytes(made.node);
          held += made.held;
        } else {
          made.error = context.error(node.status(), origin);
        }
      } catch (...) {
        made.error = context.error(status_of_current_exception(), origin,
                                   std::current_exception());
      }
    }
    return called;
  }

  /// Adds the elements of the dataset that `row` became to `pieces`, or the
  /// dataset to those to be opened. Gives the error, if there is one.
  static ErrorRef expand(NodeRef node, std::int64_t held, const Block& block,
                         std::int64_t row, const std::string& prefix,
                         CallContext& context, Expansion& expansion,
                         std::vector<Block>& pieces) {
    if (node->cardinality == Cardinality(0)) return nullptr;
    const Origin origin = block.origins().at(row);
    PathRef path = OriginPath::extend(origin.path, OriginPath::Kind::kInner,
                                      origin.ordinal);
    if (!expands(*node)) {
      expansion.open.push_back({std::move(node), std::move(path),
                                charge(block.element(row), held, context)});
      return nullptr;
    }
    IndexRun run;
    run.path = std::move(path);
    run.count = node->cardinality.value();
    const Status status = read_indexed(*node, run, context.epoch,
                                       context.cancel_flag, prefix, pieces);
    return status.ok() ? nullptr : context.error(status, origin);
  }

  static std::shared_ptr<const Charge> charge(const Element& argument,
                                              std::int64_t held,
                                              CallContext& context) {
    const std::int64_t bytes = argument.byte_size() + held;
    if (context.reservation == nullptr || bytes < kMinCharged) return nullptr;
    context.charged_bytes += bytes;
    return std::make_shared<const Charge>(context.reservation->split(bytes));
  }

  DatasetFunctionRef fn_;
  int max_parallel_;
};

class SpecCheck final : public Transform {
 public:
  explicit SpecCheck(Spec spec) : spec_(std::move(spec)) {}

  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    traits.only_checks = true;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    if (fits(block)) return absl::OkStatus();
    Block::Errors errors;
    for (std::int64_t row = 0; row < block.size(); ++row) {
      if (ErrorRef error = block.error_ref(row)) {
        errors.emplace_back(row, std::move(error));
        continue;
      }
      Status status = spec_.check(block.element(row));
      if (!status.ok()) {
        errors.emplace_back(
            row, context.error(std::move(status), block.origins().at(row)));
      }
    }
    block.errors() = std::move(errors);
    return absl::OkStatus();
  }

 private:
  /// All rows at once, where columns are packed.
  bool fits(const Block& block) const {
    if (block.structure() != spec_.structure() || block.mixed()) return false;
    for (std::size_t i = 0; i < block.columns().size(); ++i) {
      const Column& column = block.column(i);
      const LeafSpec& leaf = spec_.leaves()[i];
      if (!column.packed()) return false;
      if (leaf.dtype != DType::kInvalid &&
          leaf.dtype != column.tensor().dtype()) {
        return false;
      }
      if (!leaf.shape.accepts(column.tensor().shape().without_first())) {
        return false;
      }
    }
    return true;
  }

  Spec spec_;
};

}  // namespace

std::shared_ptr<const Transform> make_expand(DatasetFunctionRef fn,
                                             int max_parallel) {
  return std::make_shared<Expand>(std::move(fn), max_parallel);
}

std::shared_ptr<const Transform> make_spec_check(Spec spec) {
  return std::make_shared<SpecCheck>(std::move(spec));
}

}  // namespace penstock::ops

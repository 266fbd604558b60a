// zip: element i of every input, as one element; as long as the shortest.
//
// A sequencer over several inputs: it puts columns of equally many rows side by
// side and copies no payload. All inputs advance, also where one of them has an
// error: the element is one error then, and the others stay aligned. Elements
// are numbered anew. State: how many went out, and where the inputs are.
#include "penstock/ops/zip/zip.h"

namespace penstock::ops {
namespace {

/// `structure` with `children` in place of its leaves, in order.
const Structure* substitute(const Structure* structure,
                            std::span<const Structure* const> children,
                            std::size_t& at) {
  switch (structure->kind()) {
    case Structure::Kind::kLeaf:
      return children[at++];
    case Structure::Kind::kTuple: {
      std::vector<const Structure*> parts;
      for (const Structure* child : structure->children()) {
        parts.push_back(substitute(child, children, at));
      }
      return Structure::tuple(std::move(parts), structure->tag());
    }
    case Structure::Kind::kDict: {
      std::vector<std::pair<std::string, const Structure*>> items;
      for (std::size_t i = 0; i < structure->children().size(); ++i) {
        items.emplace_back(structure->keys()[i],
                           substitute(structure->children()[i], children, at));
      }
      return Structure::dict(std::move(items), structure->tag());
    }
    case Structure::Kind::kAbsent:
    case Structure::Kind::kRagged:
      break;
  }
  return structure;
}

/// Nested structures are interned under a lock: look the last one up here.
struct Nesting {
  std::vector<const Structure*> parts;
  const Structure* whole = nullptr;

  const Structure* of(const Structure* structure,
                      std::vector<const Structure*> children) {
    if (whole == nullptr || children != parts) {
      std::size_t at = 0;
      whole = substitute(structure, children, at);
      parts = std::move(children);
    }
    return whole;
  }
};

/// One error per row that any part has an error in: the one of the first part.
Block::Errors merge_errors(std::span<const Block> parts) {
  std::vector<std::pair<std::int64_t, ErrorRef>> all;
  for (const Block& part : parts) {
    all.insert(all.end(), part.errors().begin(), part.errors().end());
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.first < b.first;
  });
  Block::Errors merged;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t end = i + 1;
    std::int64_t others = 0;
    for (; end < all.size() && all[end].first == all[i].first; ++end) {
      others += 1 + all[end].second->others;
    }
    if (others == 0) {
      merged.push_back(std::move(all[i]));
    } else {
      auto error = std::make_shared<ElementError>(*all[i].second);
      error->others += others;
      merged.emplace_back(all[i].first, std::move(error));
    }
    i = end;
  }
  return merged;
}

/// Rows of equally long parts side by side.
StatusOr<Block> zip_blocks(std::span<const Block> parts,
                           const Structure* structure, Nesting& nesting,
                           Origins origins) {
  const std::int64_t rows = parts.front().size();
  Block::Errors errors = merge_errors(parts);
  bool mixed = false;
  bool any = true;  // a row without an error
  std::vector<const Structure*> structures;
  for (const Block& part : parts) {
    mixed |= part.mixed();
    any &= part.mixed() || part.structure() != nullptr;
    structures.push_back(part.structure());
  }
  Block out(nullptr, {}, rows, origins);
  if (any && !mixed) {
    Block::Columns columns;
    for (const Block& part : parts) {
      columns.insert(columns.end(), part.columns().begin(),
                     part.columns().end());
    }
    out.replace(nesting.of(structure, std::move(structures)),
                std::move(columns));
  } else if (any) {
    BlockBuilder builder;
    builder.reserve(rows);
    auto error = errors.begin();
    for (std::int64_t i = 0; i < rows; ++i) {
      if (error != errors.end() && error->first == i) {
        builder.add_error((error++)->second);
        continue;
      }
      structures.clear();
      Element::Leaves leaves;
      for (const Block& part : parts) {
        Element element = part.element(i);
        structures.push_back(element.structure());
        for (Tensor& t : element.mutable_leaves()) {
          leaves.push_back(std::move(t));
        }
      }
      builder.add(
          Element(nesting.of(structure, structures), std::move(leaves)));
    }
    PS_ASSIGN_OR_RETURN(out, builder.finish());
    out.set_origins(std::move(origins));
    return out;
  }
  out.errors() = std::move(errors);
  return out;
}

class Zip final : public SequencerOp, public IndexedOp {
 public:
  explicit Zip(const Structure* structure)
      : structure_(structure),
        inputs_(static_cast<int>(structure->num_leaves())) {}

  std::string_view op() const override { return "zip"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return absl::StrCat("zip", structure_->kind() == Structure::Kind::kTuple
                                   ? structure_->to_string()
                                   : "(" + structure_->to_string() + ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    std::vector<const Structure*> structures;
    std::vector<LeafSpec> leaves;
    for (const Spec& spec : in) {
      if (!spec.known()) return Spec();
      structures.push_back(spec.structure());
      leaves.insert(leaves.end(), spec.leaves().begin(), spec.leaves().end());
    }
    std::size_t at = 0;
    return Spec(substitute(structure_, structures, at), std::move(leaves));
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    Cardinality shortest = Cardinality::infinite();
    bool unknown = false;
    for (Cardinality c : in) {
      if (c == Cardinality(0)) return c;
      unknown |= c.is_unknown();
      if (c.finite()) shortest = shortest.capped(c.value());
    }
    return unknown ? Cardinality::unknown() : shortest;
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(structure_->to_string());
  }

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.num_inputs = inputs_;
    traits.side_by_side = true;
    traits.needs_payload = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext& context) const override {
    auto state = std::make_unique<Place>();
    state->path = context.path;
    return state;
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& state = s.as<Place>();
    std::int64_t rows = out.room();
    int waits = -1;
    for (int i = 0; i < inputs_; ++i) {
      if (in.available(i) > 0) {
        rows = std::min(rows, in.peek(i, rows).size());
        continue;
      }
      if (in.ended(i)) return Step::end();
      if (waits < 0) waits = i;
    }
    if (waits >= 0) return Step::need_each(waits, out.room(), 1);
    std::vector<Block> parts;
    for (int i = 0; i < inputs_; ++i) {
      PS_ASSIGN_OR_RETURN(Block part, in.take(i, rows).materialize());
      parts.push_back(std::move(part));
    }
    PS_ASSIGN_OR_RETURN(Block zipped,
                        zip_blocks(parts, structure_, state.nesting,
                                   Origins(state.path, state.elements)));
    state.elements += rows;
    out.emit_block(std::move(zipped));
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    writer.own.i64(s.as<Place>().elements);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    s.as<Place>().elements = own.i64();
    return absl::OkStatus();
  }

  const IndexedOp* indexed() const override { return this; }
  Status read(const IndexRun& run, IndexInputs& in, CallContext& /*context*/,
              std::vector<Block>& out) const override {
    std::vector<Block> parts;
    for (int i = 0; i < inputs_; ++i) {
      std::vector<Block> blocks;
      PS_RETURN_IF_ERROR(in.read(i, run, blocks));
      PS_ASSIGN_OR_RETURN(Block part, join_blocks(blocks));
      parts.push_back(std::move(part));
    }
    Nesting nesting;
    PS_ASSIGN_OR_RETURN(
        Block zipped,
        zip_blocks(parts, structure_, nesting,
                   run.list ? Origins(run.path, *run.list)
                            : Origins(run.path, run.begin, run.step)));
    out.push_back(std::move(zipped));
    return absl::OkStatus();
  }

 private:
  struct Place : SequencerState {
    PathRef path;
    std::int64_t elements = 0;
    Nesting nesting;
  };

  const Structure* structure_;
  int inputs_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_zip(const Structure* structure) {
  if (structure == nullptr || structure->num_leaves() == 0) {
    return invalid_argument(
        "zip: datasets must hold at least one dataset, "
        "got ",
        structure ? structure->to_string() : "nothing");
  }
  if (structure->has_ragged()) {
    return invalid_argument(
        "zip: datasets must be a structure of tuples and "
        "dicts, got ",
        structure->to_string());
  }
  return std::make_shared<Zip>(structure);
}

}  // namespace penstock::ops

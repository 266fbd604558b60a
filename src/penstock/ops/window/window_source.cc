#include "penstock/ops/window/window_source.h"

#include <algorithm>
#include <functional>

namespace penstock::ops {
namespace {

class WindowSource final : public IndexedSourceOp {
 public:
  WindowSource(WindowRows rows, std::size_t leaf, const Structure* unit,
               Spec spec)
      : rows_(std::move(rows)),
        leaf_(leaf),
        unit_(unit),
        spec_(std::move(spec)) {
    for (const Block& block : *rows_) {
      ends_.push_back(size() + block.size());
    }
  }

  std::string_view op() const override { return "window"; }
  Memory memory() const override { return Memory::kKept; }
  std::string describe() const override {
    return absl::StrCat("window(", size(), " elements)");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return spec_;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return size();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(size()));
    fp.add(leaf_);
    // What it holds is told apart by where it came from.
    for (const Block& block : *rows_) {
      for (std::int64_t i = 0; i < block.size(); ++i) {
        fp.add(block.origins().key_at(i));
      }
    }
  }

  std::int64_t size() const override {
    return ends_.empty() ? 0 : ends_.back();
  }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    std::vector<Block> parts;
    for (std::int64_t i = 0; i < run.count;) {
      const auto piece = static_cast<std::size_t>(
          std::upper_bound(ends_.begin(), ends_.end(), run.at(i)) -
          ends_.begin());
      const Block& block = (*rows_)[piece];
      const std::int64_t begin = ends_[piece] - block.size();
      std::vector<std::int64_t> list;
      for (; i < run.count && run.at(i) >= begin && run.at(i) < ends_[piece];
           ++i) {
        list.push_back(run.at(i) - begin);
      }
      PS_ASSIGN_OR_RETURN(Block part, unit_of(block, list));
      parts.push_back(std::move(part));
    }
    if (!parts.empty()) {
      PS_ASSIGN_OR_RETURN(out, join_blocks(parts));
    }
    out.set_origins(run.list ? Origins(run.path, *run.list)
                             : Origins(run.path, run.begin, run.step));
    return absl::OkStatus();
  }

 private:
  StatusOr<Block> unit_of(const Block& block,
                          std::span<const std::int64_t> list) const {
    const auto first = static_cast<std::ptrdiff_t>(leaf_);
    const auto last = static_cast<std::ptrdiff_t>(leaf_ + unit_->num_leaves());
    if (block.mixed()) {
      BlockBuilder builder;
      for (std::int64_t row : list) {
        const Element element = block.element(row);
        const auto leaves = element.leaves().begin();
        builder.add(
            Element(unit_, Element::Leaves(leaves + first, leaves + last)));
      }
      return builder.finish();
    }
    Block part(unit_,
               Block::Columns(block.columns().begin() + first,
                              block.columns().begin() + last),
               block.size(), Origins());
    // In the order of a shuffle, maybe.
    const bool rising =
        std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) ==
        list.end();
    if (!rising) return part.gather(list);
    PS_RETURN_IF_ERROR(part.keep(list));
    return part;
  }

  WindowRows rows_;
  std::vector<std::int64_t> ends_;  // of the pieces
  std::size_t leaf_;
  const Structure* unit_;
  Spec spec_;
};

}  // namespace

const Structure* unit_structure(const Structure* s) {
  if (s->kind() == Structure::Kind::kTuple) {
    std::vector<const Structure*> children;
    for (const Structure* child : s->children()) {
      children.push_back(unit_structure(child));
    }
    return Structure::tuple(std::move(children), s->tag());
  }
  if (s->kind() == Structure::Kind::kDict) {
    std::vector<std::pair<std::string, const Structure*>> items;
    for (std::size_t i = 0; i < s->children().size(); ++i) {
      items.emplace_back(s->keys()[i], unit_structure(s->children()[i]));
    }
    return Structure::dict(std::move(items), s->tag());
  }
  return s->kind() == Structure::Kind::kAbsent ? s : Structure::leaf();
}

StatusOr<NodeRef> make_window_source(WindowRows rows, std::size_t leaf,
                                     const Structure* unit, Spec spec) {
  return Node::make(std::make_shared<WindowSource>(std::move(rows), leaf, unit,
                                                   std::move(spec)),
                    {});
}

}  // namespace penstock::ops

// enumerate: every element x with its position, as (start + position, x).
//
// Two parts: a sequencer counts rows and passes them on, a transform behind it
// adds the column of numbers, in parallel. By index the position is the index.
// An error keeps its place and uses up a number. State: rows counted.
#include "penstock/ops/enumerate/enumerate.h"

#include "penstock/ops/batch/batch.h"
#include "penstock/ops/columns.h"

namespace penstock::ops {
namespace {

class Enumerate final : public Operator, public Transform, public IndexedOp {
 public:
  explicit Enumerate(std::int64_t start) : start_(start) {}

  std::string_view op() const override { return "enumerate"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return start_ == 0 ? "enumerate()"
                       : absl::StrCat("enumerate(", start_, ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return Spec::tuple({Spec::scalar<std::int64_t>(), in[0]});
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0];
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(start_));
  }
  std::vector<Part> lower() const override {
    // Groups of one: all that is left of a batch is the counting.
    return {{.sequencer = make_regroup(1, false)},
            {.transform = part_of<Transform>(this)}};
  }

  TransformTraits traits() const override {
    TransformTraits traits;
    traits.one_to_one = true;
    return traits;
  }
  Status apply(Block& block, CallContext& context) const override {
    return number(block, [&](std::int64_t i) { return context.tag + i; });
  }

  const IndexedOp* indexed() const override { return this; }
  Status read(const IndexRun& run, IndexInputs& in, CallContext& /*context*/,
              std::vector<Block>& out) const override {
    std::vector<Block> blocks;
    PS_RETURN_IF_ERROR(in.read(0, run, blocks));
    std::int64_t first = 0;
    for (Block& block : blocks) {
      PS_RETURN_IF_ERROR(
          number(block, [&](std::int64_t i) { return run.at(first + i); }));
      first += block.size();
      out.push_back(std::move(block));
    }
    return absl::OkStatus();
  }

 private:
  template <class Position>
  Status number(Block& block, Position position) const {
    PS_ASSIGN_OR_RETURN(Tensor numbers,
                        Tensor::allocate<std::int64_t>(Shape{block.size()}));
    const auto values = numbers.mutable_as<std::int64_t>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      // Wraps around behind the largest number.
      values[i] = static_cast<std::int64_t>(
          static_cast<std::uint64_t>(start_) +
          static_cast<std::uint64_t>(position(static_cast<std::int64_t>(i))));
    }
    return widen(block, numbers, Side::kFront);
  }

  std::int64_t start_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_enumerate(std::int64_t start) {
  return std::make_shared<Enumerate>(start);
}

}  // namespace penstock::ops

// shard: every num_shards-th element, beginning with element `index`.
//
// Over an indexed chain it maps indices; elsewhere it is a sequencer that
// lists rows of blocks. num_shards and index are not part of the fingerprint:
// the state of an indexed chain moves to another number of shards: to the same
// place in the unsharded stream, in the same repetition. Where it cannot, the
// state as a whole is refused under other shards (Node::fixed_shards), and the
// sequencer's own (how many elements came in) carries both numbers and checks
// them.
#include "penstock/ops/shard/shard.h"

#include <limits>

#include "penstock/ops/slicing.h"

namespace penstock::ops {
namespace {

class Shard final : public CountingOp {
 public:
  Shard(std::int64_t num_shards, std::int64_t index)
      : num_shards_(num_shards), index_(index) {}

  std::string_view op() const override { return "shard"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return absl::StrCat("shard(", num_shards_, ", ", index_, ")");
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    if (!in[0].finite()) return in[0];
    const std::int64_t n = in[0].value();
    return n <= index_ ? 0 : (n - index_ - 1) / num_shards_ + 1;
  }
  void add_to(Fingerprint&) const override {}

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    std::int64_t& seen = s.as<Count>().elements;
    if (in.available(0) == 0) {
      if (in.ended(0)) return Step::end();
      return Step::need(0, saturated(out.room(), num_shards_));
    }
    const Rows rows = in.take(0, saturated(out.room(), num_shards_));
    std::vector<std::int64_t> kept;
    const std::int64_t phase = seen % num_shards_;
    for (std::int64_t i = (index_ - phase + num_shards_) % num_shards_;
         i < rows.size(); i += num_shards_) {
      kept.push_back(rows.at(i));
    }
    seen += rows.size();
    if (!kept.empty()) {
      out.emit(Rows::listed(rows.block_ref(), std::move(kept)));
    }
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    CountingOp::save(s, writer);
    writer.own.i64(num_shards_);
    writer.own.i64(index_);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    PS_RETURN_IF_ERROR(CountingOp::restore(s, own));
    const std::int64_t num_shards = own.i64();
    const std::int64_t index = own.i64();
    if (s.as<Count>().elements < 0) own.fail();
    if (!own.ok() || (num_shards == num_shards_ && index == index_)) {
      return absl::OkStatus();
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "shard: the state was saved by shard(", num_shards, ", ", index,
        "), this is ", describe(),
        "; only a chain with random access moves to other shards"));
  }

  std::int64_t num_shards() const override { return num_shards_; }
  std::int64_t shard_index() const override { return index_; }
  void map_run(const IndexRun& run, std::int64_t, const CallContext&,
               std::vector<IndexRun>& out) const override {
    IndexRun mapped = run;
    if (run.list) {
      std::vector<std::int64_t> list;
      list.reserve(run.list->size());
      for (std::int64_t i : *run.list) list.push_back(map_index(i));
      mapped.list =
          std::make_shared<const std::vector<std::int64_t>>(std::move(list));
    } else {
      mapped.begin = map_index(run.begin);
      mapped.step = run.step * num_shards_;
    }
    out.push_back(std::move(mapped));
  }

 private:
  /// a * b, or the largest number.
  static std::int64_t saturated(std::int64_t a, std::int64_t b) {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product)
               ? std::numeric_limits<std::int64_t>::max()
               : product;
  }
  std::int64_t map_index(std::int64_t i) const {
    std::int64_t at = saturated(i, num_shards_);
    return __builtin_add_overflow(at, index_, &at)
               ? std::numeric_limits<std::int64_t>::max()
               : at;
  }

  std::int64_t num_shards_;
  std::int64_t index_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_shard(std::int64_t num_shards,
                                                     std::int64_t index) {
  if (num_shards < 1) {
    return invalid_argument("shard: num_shards must be >= 1, got ", num_shards);
  }
  if (index < 0 || index >= num_shards) {
    return invalid_argument("shard: index must be in [0, ", num_shards,
                            "), got ", index);
  }
  return std::make_shared<Shard>(num_shards, index);
}

}  // namespace penstock::ops

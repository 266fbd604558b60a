// unique: every element once, where it is seen first.
//
// A sequencer that keeps a 128-bit hash per element it has seen; structure,
// dtypes, shapes and bytes must be equal for two elements to be equal (so 0.0
// and -0.0 differ, and a NaN equals itself). Errors pass. The set grows with
// the number of different elements and counts as memory held.
//
// State: how many elements came in. The set is not saved: a restored iterator
// reads its input again from the start.
#include "penstock/ops/unique/unique.h"

#include "absl/container/flat_hash_set.h"

namespace penstock::ops {
namespace {

using Key = std::pair<std::uint64_t, std::uint64_t>;

Key hash_of(const Element& element) {
  Fingerprint fp;
  // Interned for the life of the process, as long as the set lives.
  fp.add(reinterpret_cast<std::uintptr_t>(element.structure()));
  for (const Tensor& t : element.leaves()) {
    fp.add(static_cast<std::uint64_t>(t.dtype()));
    fp.add(t.rank());
    for (std::int64_t d : t.shape().dims()) {
      fp.add(static_cast<std::uint64_t>(d));
    }
    if (t.dtype() == DType::kString) {
      const std::int64_t n = t.num_elements();
      for (std::int64_t i = 0; i < n; ++i) fp.add(t.str(i));
    } else {
      fp.add(std::string_view(reinterpret_cast<const char*>(t.data()),
                              static_cast<std::size_t>(t.byte_size())));
    }
  }
  return {fp.low(), fp.high()};
}

bool holds_object(const Element& element) {
  for (const Tensor& t : element.leaves()) {
    if (t.dtype() == DType::kObject) return true;
  }
  return false;
}

struct Seen final : SequencerState {
  std::int64_t elements = 0;
  std::int64_t replay = 0;  // after a restore: elements still to be seen again
  absl::flat_hash_set<Key> keys;
};

class Unique final : public SequencerOp {
 public:
  std::string_view op() const override { return "unique"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return "unique() (its state replays the input from the start)";
  }
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    for (const LeafSpec& leaf : in[0].leaves()) {
      if (leaf.dtype == DType::kObject) {
        return invalid_argument("nested datasets cannot be compared");
      }
    }
    return in[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0] == Cardinality(0) || in[0] == Cardinality(1)
               ? in[0]
               : Cardinality::unknown();
  }
  void add_to(Fingerprint&) const override {}

  SequencerTraits traits() const override {
    SequencerTraits traits;
    traits.needs_payload = true;
    return traits;
  }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext&) const override {
    return std::make_unique<Seen>();
  }
  std::int64_t held_bytes(const SequencerState& s) const override {
    // A slot and its control byte.
    return static_cast<std::int64_t>(s.as<Seen>().keys.capacity() *
                                     (sizeof(Key) + 1));
  }
  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    auto& seen = s.as<Seen>();
    if (in.available(0) == 0) {
      if (!in.ended(0)) return Step::need(0, std::max(seen.replay, out.room()));
      if (seen.replay == 0) return Step::end();
      return absl::DataLossError(
          "the input is shorter than when the state was saved");
    }
    const bool replaying = seen.replay > 0;
    const Rows rows = in.take(0, replaying ? seen.replay : out.room());
    if (replaying) {
      seen.replay -= rows.size();
    } else {
      seen.elements += rows.size();
    }
    std::vector<std::int64_t> fresh;
    const Block& block = rows.block();
    for (std::int64_t i = 0; i < rows.size(); ++i) {
      const std::int64_t row = rows.at(i);
      if (block.error_at(row) != nullptr) {
        if (replaying) PS_RETURN_IF_ERROR(in.check_again(rows, i));
        fresh.push_back(row);
        continue;
      }
      const Element element = block.element(row);
      if (holds_object(element)) {
        if (replaying) continue;
        // One item per step, in order: what is fresh so far goes first.
        if (!fresh.empty()) {
          out.emit(Rows::listed(rows.block_ref(), std::exchange(fresh, {})));
        }
        out.emit_error(invalid_argument("nested datasets cannot be compared"),
                       block.origins().at(row));
      } else if (seen.keys.insert(hash_of(element)).second) {
        fresh.push_back(row);
      }
    }
    if (replaying || fresh.empty()) return Step::more();
    if (static_cast<std::int64_t>(fresh.size()) == rows.size()) {
      out.emit(rows);
    } else {
      out.emit(Rows::listed(rows.block_ref(), std::move(fresh)));
    }
    return Step::more();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    writer.own.i64(s.as<Seen>().elements);
    writer.set_input(0, Mark());  // the start
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    auto& seen = s.as<Seen>();
    seen.elements = seen.replay = own.i64();
    if (seen.elements < 0) own.fail();
    return absl::OkStatus();
  }
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_unique_op() {
  return std::make_shared<Unique>();
}

}  // namespace penstock::ops

// What take, skip, shard and their like share: a sequencer over whole rows
// with one counter, that also maps indices.
#pragma once

#include <optional>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// The error behind which no more rows come, if `rows` end with it: what
/// passes over rows must let it out, or data would be missing silently.
inline std::optional<Rows> last_error(const Rows& rows) {
  if (rows.is_lazy() || rows.block().errors().empty()) return std::nullopt;
  const std::int64_t last = rows.size() - 1;
  const ElementError* error = rows.block().error_at(rows.at(last));
  if (error == nullptr || !error->loses_rows()) return std::nullopt;
  return rows.slice(last, last + 1);
}

class CountingOp : public SequencerOp, public IndexedOp {
 public:
  StatusOr<Spec> output_spec(std::span<const Spec> inputs) const override {
    return inputs[0];
  }
  SequencerTraits traits() const override { return {}; }
  StatusOr<std::unique_ptr<SequencerState>> make_state(
      const SequencerContext&) const override {
    return std::make_unique<Count>();
  }
  void save(const SequencerState& s, SnapshotWriter& writer) const override {
    writer.own.i64(s.as<Count>().elements);
  }
  Status restore(SequencerState& s, Decoder& own) const override {
    s.as<Count>().elements = own.i64();
    return absl::OkStatus();
  }
  const IndexedOp* indexed() const override { return this; }
  bool is_map() const override { return true; }

 protected:
  struct Count : SequencerState {
    std::int64_t elements = 0;
  };
};

}  // namespace penstock::ops

// take: the first `count` elements.
//
// A sequencer: it passes slices of blocks on and never touches payload. State:
// how many elements have gone through.
#include "penstock/ops/take/take.h"

#include <limits>

#include "penstock/ops/slicing.h"

namespace penstock::ops {
namespace {

class Take final : public CountingOp {
 public:
  explicit Take(std::int64_t count)
      : count_(count),
        limit_(count < 0 ? std::numeric_limits<std::int64_t>::max() : count) {}

  std::string_view op() const override { return "take"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return absl::StrCat("take(", count_, ")");
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return count_ < 0 ? in[0] : in[0].capped(count_);
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(count_));
  }

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    std::int64_t& taken = s.as<Count>().elements;
    if (taken >= limit_) return Step::end();
    if (in.available(0) == 0) {
      if (in.ended(0)) return Step::end();
      const std::int64_t left = limit_ - taken;
      return left <= out.room() ? Step::need(0, left)
                                : Step::need_each(0, out.room(), 1);
    }
    Rows rows = in.take(0, std::min(limit_ - taken, out.room()));
    taken += rows.size();
    out.emit(std::move(rows));
    return taken == limit_ ? Step::end() : Step::more();
  }
  void map_run(const IndexRun& run, std::int64_t, const CallContext&,
               std::vector<IndexRun>& out) const override {
    out.push_back(run);
  }

 private:
  std::int64_t count_;
  std::int64_t limit_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_take(std::int64_t count) {
  if (count < -1) {
    return invalid_argument("take: count must be >= 0, got ", count,
                            " (-1 means all)");
  }
  return std::make_shared<Take>(count);
}

}  // namespace penstock::ops

// skip: all but the first `count` elements.
//
// A sequencer; state: how many elements have been dropped.
#include "penstock/ops/skip/skip.h"

#include <limits>

#include "penstock/ops/slicing.h"

namespace penstock::ops {
namespace {

class Skip final : public CountingOp {
 public:
  explicit Skip(std::int64_t count)
      : count_(count),
        limit_(count < 0 ? std::numeric_limits<std::int64_t>::max() : count) {}

  std::string_view op() const override { return "skip"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return absl::StrCat("skip(", count_, ")");
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    if (count_ < 0) return 0;
    if (!in[0].finite()) return in[0];
    return std::max<std::int64_t>(0, in[0].value() - count_);
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(count_));
  }

  StatusOr<Step> step(SequencerState& s, Inputs& in,
                      Outputs& out) const override {
    if (count_ < 0) return Step::end();
    std::int64_t& dropped = s.as<Count>().elements;
    if (in.available(0) == 0) {
      if (in.ended(0)) return Step::end();
      return Step::need(0, limit_ - dropped + out.room());
    }
    if (dropped < limit_) {
      const Rows rows = in.take(0, limit_ - dropped);
      dropped += rows.size();
      if (auto error = last_error(rows)) out.emit(*std::move(error));
      return Step::more();
    }
    out.emit(in.take(0, out.room()));
    return Step::more();
  }
  void map_run(const IndexRun& run, std::int64_t, const CallContext&,
               std::vector<IndexRun>& out) const override {
    IndexRun mapped = run;
    if (run.list) {
      std::vector<std::int64_t> list;
      list.reserve(run.list->size());
      for (std::int64_t i : *run.list) list.push_back(i + limit_);
      mapped.list =
          std::make_shared<const std::vector<std::int64_t>>(std::move(list));
    } else {
      mapped.begin += limit_;
    }
    out.push_back(std::move(mapped));
  }

 private:
  std::int64_t count_;
  std::int64_t limit_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_skip(std::int64_t count) {
  if (count < -1) {
    return invalid_argument("skip: count must be >= 0, got ", count,
                            " (-1 means all)");
  }
  return std::make_shared<Skip>(count);
}

}  // namespace penstock::ops

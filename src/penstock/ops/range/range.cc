// range: consecutive integers.
//
// An indexed source in memory: element i is start + i * step.
#include "penstock/ops/range/range.h"

#include <limits>

namespace penstock::ops {
namespace {

class Range final : public IndexedSourceOp {
 public:
  Range(std::int64_t start, std::int64_t stop, std::int64_t step,
        std::int64_t size)
      : start_(start), stop_(stop), step_(step), size_(size) {}

  std::string_view op() const override { return "range"; }
  std::string describe() const override {
    return absl::StrCat("range(", start_, ", ", stop_, ", ", step_, ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return Spec::scalar<std::int64_t>();
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return size_;
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(start_));
    fp.add(static_cast<std::uint64_t>(stop_));
    fp.add(static_cast<std::uint64_t>(step_));
  }

  std::int64_t size() const override { return size_; }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    PS_ASSIGN_OR_RETURN(Tensor values,
                        Tensor::allocate<std::int64_t>(Shape{run.count}));
    auto* v = values.mutable_as<std::int64_t>().data();
    Block::Columns columns;
    if (run.list) {
      const std::vector<std::int64_t>& list = *run.list;
      for (std::int64_t i = 0; i < run.count; ++i) {
        v[i] = start_ + list[static_cast<std::size_t>(i)] * step_;
      }
      columns.emplace_back(std::move(values));
      out = Block(Structure::leaf(), std::move(columns), run.count,
                  Origins(run.path, list));
    } else {
      const std::int64_t first = start_ + run.begin * step_;
      const std::int64_t stride = run.step * step_;
      for (std::int64_t i = 0; i < run.count; ++i) v[i] = first + i * stride;
      columns.emplace_back(std::move(values));
      out = Block(Structure::leaf(), std::move(columns), run.count,
                  Origins(run.path, run.begin, run.step));
    }
    return absl::OkStatus();
  }

 private:
  std::int64_t start_;
  std::int64_t stop_;
  std::int64_t step_;
  std::int64_t size_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_range(std::int64_t start,
                                                     std::int64_t stop,
                                                     std::int64_t step) {
  if (step == 0) return invalid_argument("range: step must not be 0, got 0");
  // In 128 bits, because stop - start may not fit.
  const auto span = static_cast<__int128>(stop) - start;
  __int128 size = 0;
  if ((step > 0) == (span > 0) && span != 0) {
    const __int128 s = step;
    size = step > 0 ? (span + s - 1) / s : (span + s + 1) / s;
  }
  if (size > std::numeric_limits<std::int64_t>::max()) {
    return invalid_argument(
        "range: stop must be less than 2^63 steps from start, got range(",
        start, ", ", stop, ", ", step, ")");
  }
  return std::make_shared<Range>(start, stop, step,
                                 static_cast<std::int64_t>(size));
}

}  // namespace penstock::ops

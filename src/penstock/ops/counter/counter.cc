// counter: integers without end.
//
// An indexed source in memory: element i is start + i * step, modulo 2^64.
#include "penstock/ops/counter/counter.h"

#include <limits>

namespace penstock::ops {
namespace {

class Counter final : public IndexedSourceOp {
 public:
  Counter(std::int64_t start, std::int64_t step)
      : start_(static_cast<std::uint64_t>(start)),
        step_(static_cast<std::uint64_t>(step)) {}

  std::string_view op() const override { return "counter"; }
  std::string describe() const override {
    return absl::StrCat("counter(", static_cast<std::int64_t>(start_), ", ",
                        static_cast<std::int64_t>(step_), ")");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return Spec::scalar<std::int64_t>();
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return Cardinality::infinite();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(start_);
    fp.add(step_);
  }

  std::int64_t size() const override {
    return std::numeric_limits<std::int64_t>::max();
  }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext&, Block& out) const override {
    PS_ASSIGN_OR_RETURN(Tensor values,
                        Tensor::allocate<std::int64_t>(Shape{run.count}));
    auto* const v = values.mutable_as<std::int64_t>().data();
    Origins origins;
    if (run.list) {
      const std::int64_t* const list = run.list->data();
      for (std::int64_t k = 0; k < run.count; ++k) {
        v[k] = static_cast<std::int64_t>(
            start_ + static_cast<std::uint64_t>(list[k]) * step_);
      }
      origins = Origins(run.path, *run.list);
    } else {
      // Unsigned: it wraps instead of overflowing.
      const std::uint64_t first =
          start_ + static_cast<std::uint64_t>(run.begin) * step_;
      const std::uint64_t stride = static_cast<std::uint64_t>(run.step) * step_;
      for (std::int64_t k = 0; k < run.count; ++k) {
        v[k] = static_cast<std::int64_t>(first + static_cast<std::uint64_t>(k) *
                                                     stride);
      }
      origins = Origins(run.path, run.begin, run.step);
    }
    Block::Columns columns;
    columns.emplace_back(std::move(values));
    out = Block(Structure::leaf(), std::move(columns), run.count,
                std::move(origins));
    return absl::OkStatus();
  }

 private:
  std::uint64_t start_;
  std::uint64_t step_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_counter(std::int64_t start,
                                                       std::int64_t step) {
  return std::make_shared<Counter>(start, step);
}

}  // namespace penstock::ops

// random: uniform random integers without end.
//
// An indexed source in memory: element i is a word of the counter-based stream
// under a key, so random access and resuming need no state. The key is the seed
// (or the pipeline's, with the stage and the enclosing dataset); with
// rerandomize_each_iteration also the iteration.
#include "penstock/ops/random/random.h"

#include <limits>

#include "penstock/base/random.h"

namespace penstock::ops {
namespace {

class Random final : public IndexedSourceOp {
 public:
  Random(std::optional<std::uint64_t> seed, bool rerandomize)
      : seed_(seed), rerandomize_(rerandomize) {}

  std::string_view op() const override { return "random"; }
  std::string describe() const override {
    std::string text = "random(";
    if (seed_) absl::StrAppend(&text, "seed=", *seed_);
    if (rerandomize_) {
      absl::StrAppend(&text, seed_ ? ", " : "",
                      "rerandomize_each_iteration=true");
    }
    return text + ")";
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return Spec::scalar<std::int64_t>();
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return Cardinality::infinite();
  }
  void add_to(Fingerprint& fp) const override {
    fp.add(static_cast<std::uint64_t>(seed_.has_value()));
    fp.add(seed_.value_or(0));
    fp.add(static_cast<std::uint64_t>(rerandomize_));
  }

  std::int64_t size() const override {
    return std::numeric_limits<std::int64_t>::max();
  }
  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext& context,
              Block& out) const override {
    PS_ASSIGN_OR_RETURN(Tensor values,
                        Tensor::allocate<std::int64_t>(Shape{run.count}));
    auto* const v = values.mutable_as<std::int64_t>().data();
    const std::uint64_t key = key_of(context, run.path);
    // Four values share a Philox block; a run mostly stays inside one.
    std::uint64_t block = std::numeric_limits<std::uint64_t>::max();
    std::array<std::uint32_t, 4> words{};
    for (std::int64_t k = 0; k < run.count; ++k) {
      const auto i = static_cast<std::uint64_t>(run.at(k));
      if (i / 4 != block) {
        block = i / 4;
        words = philox(key, 0, block);
      }
      v[k] = words[i % 4];
    }
    Block::Columns columns;
    columns.emplace_back(std::move(values));
    out = Block(Structure::leaf(), std::move(columns), run.count,
                run.list ? Origins(run.path, *run.list)
                         : Origins(run.path, run.begin, run.step));
    return absl::OkStatus();
  }

 private:
  std::uint64_t key_of(const CallContext& context, const PathRef& path) const {
    const std::uint64_t base =
        seed_ ? mix64(0x72616e64u, *seed_)
              : mix64(mix64(context.epoch.seed, context.stage_salt),
                      path_hash(path));
    if (!rerandomize_) return base;
    return mix64(base,
                 mix64(static_cast<std::uint64_t>(context.epoch.iteration),
                       path_hash(path)));
  }

  std::optional<std::uint64_t> seed_;
  bool rerandomize_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_random(
    std::optional<std::uint64_t> seed, bool rerandomize_each_iteration) {
  return std::make_shared<Random>(seed, rerandomize_each_iteration);
}

}  // namespace penstock::ops

// prefetch and with_options: stages that say how to run and change no element.
#include "penstock/ops/prefetch/prefetch.h"

#include "penstock/ops/ignore_errors/ignore_errors.h"

namespace penstock::ops {
namespace {

class PassThrough : public Operator, public IndexedOp {
 public:
  StatusOr<Spec> output_spec(std::span<const Spec> in) const override {
    return in[0];
  }
  Cardinality cardinality(std::span<const Cardinality> in) const override {
    return in[0];
  }
  void add_to(Fingerprint&) const override {}
  const IndexedOp* indexed() const override { return this; }
  bool is_map() const override { return true; }
  void map_run(const IndexRun& run, std::int64_t, const CallContext&,
               std::vector<IndexRun>& out) const override {
    out.push_back(run);
  }
};

class Prefetch final : public PassThrough {
 public:
  explicit Prefetch(std::int64_t n) : n_(n) {}
  std::string_view op() const override { return "prefetch"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override {
    return n_ == kAutotune ? "prefetch(AUTOTUNE)"
                           : absl::StrCat("prefetch(", n_, ")");
  }
  std::vector<Part> lower() const override { return {{.limit = n_}}; }
  // Random access passes through, but running needs the limit.
  bool is_map() const override { return n_ == kAutotune; }
  Status read(const IndexRun& run, IndexInputs& in, CallContext&,
              std::vector<Block>& out) const override {
    return in.read(0, run, out);
  }

 private:
  std::int64_t n_;
};

class WithOptions final : public PassThrough {
 public:
  explicit WithOptions(Options options) : options_(std::move(options)) {}
  std::string_view op() const override { return "with_options"; }
  Memory memory() const override { return Memory::kInputs; }
  std::string describe() const override { return "with_options(...)"; }
  std::vector<Part> lower() const override { return {}; }
  const Options* options() const override { return &options_; }
  void add_to(Fingerprint& fp) const override {
    // The only option that shows in what a state holds.
    fp.add(static_cast<std::uint64_t>(options_.deterministic.value_or(true)));
  }

 private:
  Options options_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_prefetch(std::int64_t n) {
  if (n < 0 && n != kAutotune) {
    return invalid_argument("prefetch: n must be >= 0 or AUTOTUNE, got ", n);
  }
  return std::make_shared<Prefetch>(n);
}

StatusOr<std::shared_ptr<const Operator>> make_with_options(Options options) {
  if (options.cpu_budget && *options.cpu_budget < 1) {
    return invalid_argument("with_options: cpu_budget must be >= 1, got ",
                            *options.cpu_budget);
  }
  if (options.memory_budget && *options.memory_budget < 1) {
    return invalid_argument("with_options: memory_budget must be >= 1, got ",
                            *options.memory_budget);
  }
  PS_RETURN_IF_ERROR(check_policy("with_options", options.on_error));
  return std::make_shared<WithOptions>(std::move(options));
}

}  // namespace penstock::ops

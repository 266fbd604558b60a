// Sources of the user that are read by index: from_indexable, from_source.
//
// An indexed source of user code: any worker reads any index. A call that fails
// turns its element into an error. State: none, the chain's index is enough.
#include "penstock/ops/from_source/random_access.h"

#include <limits>
#include <typeinfo>

#include "penstock/graph/element_key.h"
#include "penstock/ops/function.h"

namespace penstock::ops {
namespace {

class RandomAccess final : public IndexedSourceOp {
 public:
  RandomAccess(std::shared_ptr<const RandomAccessSource> source, std::string op,
               Cardinality cardinality, Spec spec)
      : source_(std::move(source)),
        op_(std::move(op)),
        cardinality_(cardinality),
        spec_(std::move(spec)) {}

  std::string_view op() const override { return op_; }
  std::string describe() const override {
    return absl::StrCat(op_, "(", cardinality_.to_string(), ", fn)");
  }
  StatusOr<Spec> output_spec(std::span<const Spec>) const override {
    return spec_;
  }
  Cardinality cardinality(std::span<const Cardinality>) const override {
    return cardinality_;
  }
  void add_to(Fingerprint& fp) const override {
    const RandomAccessSource& source = *source_;
    fp.add(std::string_view(typeid(source).name()));
    fp.add(source.identity());
    fp.add(spec_.to_string());
    fp.add(static_cast<std::uint64_t>(cardinality_.value()));
  }

  std::int64_t size() const override {
    return cardinality_.is_infinite() ? std::numeric_limits<std::int64_t>::max()
                                      : cardinality_.value();
  }
  bool in_memory() const override { return source_->in_memory(); }
  bool user_code() const override { return true; }

  using IndexedSourceOp::read;
  Status read(const IndexRun& run, CallContext& context,
              Block& out) const override {
    BlockBuilder builder;
    builder.reserve(run.count);
    Origins origins = run.list ? Origins(run.path, *run.list)
                               : Origins(run.path, run.begin, run.step);
    for (std::int64_t k = 0; k < run.count; ++k) {
      const std::int64_t i = run.at(k);
      const ElementKey key(context.random_key(origins, k));
      Status status;
      std::exception_ptr cause;
      if (context.cancelled()) {
        status = absl::CancelledError("cancelled");
      } else {
        try {
          auto element = source_->read(i);
          status = element.status();
          if (status.ok()) status = check(*element);
          if (status.ok()) builder.add(*std::move(element));
        } catch (...) {
          status = status_of_current_exception();
          cause = std::current_exception();
        }
      }
      if (!status.ok()) {
        builder.add_error(context.error(std::move(status), Origin{run.path, i},
                                        std::move(cause)));
      }
    }
    PS_ASSIGN_OR_RETURN(out, builder.finish());
    out.set_origins(std::move(origins));
    return absl::OkStatus();
  }

 private:
  Status check(const Element& element) const {
    return check_source_element(spec_, element);
  }

  std::shared_ptr<const RandomAccessSource> source_;
  std::string op_;
  Cardinality cardinality_;
  Spec spec_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_random_access(
    std::shared_ptr<const RandomAccessSource> source, std::string op) {
  if (!source) {
    return invalid_argument(op, ": source must not be null, got null");
  }
  const std::int64_t size = source->size();
  if (size < 0 && size != Cardinality::kInfinite) {
    return invalid_argument(
        op, ": size must be >= 0, or Cardinality::kInfinite, got ", size);
  }
  Spec spec = source->element_spec();
  return std::make_shared<RandomAccess>(std::move(source), std::move(op),
                                        Cardinality(size), std::move(spec));
}

}  // namespace penstock::ops

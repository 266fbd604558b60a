// from_indexable: a function of the index, for every index below a size.
//
// An indexed source of user code (ops/from_source/random_access.cc): many
// workers call the function at once. No state. A shuffle window over it holds
// positions: a call costs the same in any order.
#include "penstock/ops/from_indexable/from_indexable.h"

#include "penstock/ops/from_source/random_access.h"

namespace penstock::ops {
namespace {

class Indexable final : public RandomAccessSource {
 public:
  Indexable(std::int64_t size, IndexFunction fn, std::string identity,
            Spec spec)
      : size_(size),
        fn_(std::move(fn)),
        identity_(std::move(identity)),
        spec_(std::move(spec)) {}

  std::int64_t size() const override { return size_; }
  StatusOr<Element> read(std::int64_t i) const override { return fn_(i); }
  Spec element_spec() const override { return spec_; }
  std::string identity() const override { return identity_; }

 private:
  std::int64_t size_;
  IndexFunction fn_;
  std::string identity_;
  Spec spec_;
};

}  // namespace

StatusOr<std::shared_ptr<const Operator>> make_from_indexable(
    std::int64_t size, IndexFunction fn, std::string identity, Spec spec) {
  if (!fn) {
    return invalid_argument("from_indexable: fn must be callable, got none");
  }
  return make_random_access(
      std::make_shared<Indexable>(size, std::move(fn), std::move(identity),
                                  std::move(spec)),
      "from_indexable");
}

}  // namespace penstock::ops

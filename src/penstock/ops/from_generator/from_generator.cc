// from_generator: what a function gives, call after call, until nothing.
//
// A sequential source (ops/from_source/sequential.cc). State: the number of
// elements; a restore makes a new generator and reads forward. A generator that
// fails or throws has not moved on: its error is delivered once, then the
// dataset ends.
#include "penstock/ops/from_generator/from_generator.h"

namespace penstock::ops {

StatusOr<std::shared_ptr<const Operator>> make_from_generator(
    SequentialFactory open, std::string identity, Spec spec,
    Cardinality cardinality) {
  return make_sequential(
      std::move(open),
      {"from_generator", std::move(identity), std::move(spec), cardinality});
}

}  // namespace penstock::ops

// A transform that computes a whole number for each element and carries it
// in front: what group_by_window and rejection_resample decide by.
#pragma once

#include "penstock/graph/operator.h"
#include "penstock/ops/function.h"

namespace penstock::ops {

/// (number, element) for each element. `what` names the function in messages.
std::shared_ptr<const Transform> make_attach(FunctionRef fn, std::string what);

/// InvalidArgument unless `fn` may give a whole number; gives its spec.
StatusOr<Spec> check_number(const Function& fn, const Spec& input,
                            std::string_view what);

/// The number in front of the element in `row`, which is not an error.
std::int64_t attached_number(const Block& block, std::int64_t row);

/// The elements without their numbers.
StatusOr<Block> detach(Block block);

}  // namespace penstock::ops

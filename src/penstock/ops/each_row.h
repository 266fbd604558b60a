// A block whose rows are made anew one by one: errors keep their places, and a
// row that cannot be made becomes one.
#pragma once

#include <utility>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// `make(row)` gives a StatusOr<Element>; it is not called for error rows.
template <class Make>
Status replace_each_row(Block& block, CallContext& context, const Make& make) {
  BlockBuilder builder;
  builder.reserve(block.size());
  for (std::int64_t row = 0; row < block.size(); ++row) {
    if (ErrorRef error = block.error_ref(row)) {
      builder.add_error(std::move(error));
      continue;
    }
    auto element = make(row);
    if (element.ok()) {
      builder.add(*std::move(element));
    } else {
      builder.add_error(
          context.error(element.status(), block.origins().at(row)));
    }
  }
  PS_ASSIGN_OR_RETURN(Block out, builder.finish());
  out.set_origins(block.origins());
  block = std::move(out);
  return absl::OkStatus();
}

}  // namespace penstock::ops

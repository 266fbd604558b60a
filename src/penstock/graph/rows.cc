#include "penstock/graph/rows.h"

namespace penstock {

StatusOr<Block> Rows::materialize() const {
  if (contiguous()) {
    if (begin_ == 0 && count_ == block().size()) return block();
    return block().slice(begin_, begin_ + count_);
  }
  const std::span<const std::int64_t> list(*list_);
  return block().gather(list.subspan(static_cast<std::size_t>(begin_),
                                     static_cast<std::size_t>(count_)));
}

}  // namespace penstock

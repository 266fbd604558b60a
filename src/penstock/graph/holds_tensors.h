// For sources that keep tensors of the user.
#pragma once

#include <cstdint>

#include "penstock/memory/element.h"

namespace penstock {

/// A dataset that a function made for one element holds its tensors as long as
/// it is open, and nobody else pays for them.
class HoldsTensors {
 public:
  virtual ~HoldsTensors() = default;
  /// Bytes of the tensors that nobody else refers to.
  virtual std::int64_t own_bytes() const = 0;

 protected:
  static std::int64_t own_bytes_of(const Element& element) {
    std::int64_t bytes = 0;
    for (const Tensor& leaf : element.leaves()) {
      if (leaf.exclusive()) bytes += leaf.byte_size();
    }
    return bytes;
  }
};

}  // namespace penstock

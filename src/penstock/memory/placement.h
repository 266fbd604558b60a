// Where the next tensor of a matching shape should be written.
//
// A segment in front of a batch knows which memory the batch will lie in. It
// offers the slot of the element being computed to this thread; a function
// that allocates its result then writes straight into the batch. An offer is
// taken at most once; a result that lies elsewhere is copied as usual.
#pragma once

#include <cstddef>

#include "penstock/base/ref.h"
#include "penstock/memory/buffer.h"
#include "penstock/memory/dtype.h"
#include "penstock/memory/shape.h"

namespace penstock {

struct Placement {
  DType dtype = DType::kInvalid;
  Shape shape;
  Ref<Buffer> buffer;
  std::byte* data = nullptr;
  bool taken = false;
};

/// The offer to this thread, or null. Set with PlacementScope.
Placement* current_placement();

class PlacementScope {
 public:
  explicit PlacementScope(Placement* placement);
  ~PlacementScope();
  PlacementScope(const PlacementScope&) = delete;
  PlacementScope& operator=(const PlacementScope&) = delete;

 private:
  Placement* previous_;
};

}  // namespace penstock

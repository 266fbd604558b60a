// Memory besides the pool's that goes back when no pipeline runs any more.
#pragma once

namespace penstock {

/// BufferPool::trim() calls `other`, too.
void trim_too(void (*other)());

}  // namespace penstock

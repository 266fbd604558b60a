// A file as memory, read-only. The file must not shrink while it is mapped:
// reading what is gone ends the process, as with any mapping.
#pragma once

#include <string>

#include "penstock/base/status.h"
#include "penstock/memory/buffer.h"

namespace penstock {

/// The whole file; unmapped when the last user is gone.
StatusOr<Ref<Buffer>> map_file(const std::string& path);

}  // namespace penstock

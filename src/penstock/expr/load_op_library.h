// Loading users' libraries of native operations (op_library.h).
#pragma once

#include <string>
#include <vector>

#include "penstock/base/status.h"

namespace penstock::expr {

/// Registers the operations of a shared library and gives their names. It stays
/// loaded. Loading it again changes nothing.
StatusOr<std::vector<std::string>> load_op_library(const std::string& path);

}  // namespace penstock::expr

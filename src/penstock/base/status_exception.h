// An exception that knows its status, for code of the user that is not C++.
#pragma once

#include <exception>

#include "penstock/base/status.h"

namespace penstock {

/// What a function throws to be reported with status(), not as
/// InvalidArgument: no policy skips a cancellation, for one.
class StatusException : public std::exception {
 public:
  virtual Status status() const = 0;
};

}  // namespace penstock

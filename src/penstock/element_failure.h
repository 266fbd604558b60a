// What Iterator::next() and Dataset::at() throw for an element that failed.
#pragma once

#include "penstock/error.h"
#include "penstock/memory/error.h"

namespace penstock {

/// An Error that knows the stage and the element.
class ElementFailure final : public Error {
 public:
  explicit ElementFailure(ErrorRef error)
      : Error(error->to_status(), error->cause), error_(std::move(error)) {}

  const ElementError& error() const { return *error_; }

 private:
  ErrorRef error_;
};

}  // namespace penstock

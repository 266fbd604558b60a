// What the public C++ API throws.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

#include "penstock/base/status.h"

namespace penstock {

/// Thrown by Dataset methods for wrong arguments and by Iterator::next() for
/// an element that failed. The engine itself never throws.
/// Thrown by a function of the user it keeps its status.
class Error : public std::runtime_error {
 public:
  explicit Error(Status status, std::exception_ptr cause = nullptr)
      : std::runtime_error(std::string(to_std(status.message()))),
        status_(std::move(status)),
        cause_(std::move(cause)) {}

  const Status& status() const { return status_; }
  StatusCode code() const { return status_.code(); }
  /// What the user's own function threw, or null.
  const std::exception_ptr& cause() const { return cause_; }

 private:
  Status status_;
  std::exception_ptr cause_;
};

namespace detail {
template <class T>
T value_or_throw(StatusOr<T> result) {
  if (!result.ok()) throw Error(result.status());
  return *std::move(result);
}
}  // namespace detail

}  // namespace penstock

// Status helpers: how every layer of the engine reports a failure.
//
// The engine never throws, prints or aborts because of input; a failure is an
// absl::Status that is returned or carried at its element's place. Debian's
// abseil has its own string_view, hence to_absl() at the border.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace penstock {

using Status = absl::Status;
using StatusCode = absl::StatusCode;
template <class T>
using StatusOr = absl::StatusOr<T>;

inline absl::string_view to_absl(std::string_view s) {
  return {s.data(), s.size()};
}
inline std::string_view to_std(absl::string_view s) {
  return {s.data(), s.size()};
}

/// A status with `code` and the concatenation of `parts` as its message.
template <class... Parts>
Status make_error(StatusCode code, const Parts&... parts) {
  return Status(code, absl::StrCat(parts...));
}
template <class... Parts>
Status invalid_argument(const Parts&... parts) {
  return make_error(StatusCode::kInvalidArgument, parts...);
}
template <class... Parts>
Status internal_error(const Parts&... parts) {
  return make_error(StatusCode::kInternal, parts...);
}

/// The same status with `context` in front of its message.
inline Status annotate(const Status& status, std::string_view context) {
  return Status(status.code(),
                absl::StrCat(to_absl(context), status.message()));
}

}  // namespace penstock

#define PS_CONCAT_INNER(a, b) a##b
#define PS_CONCAT(a, b) PS_CONCAT_INNER(a, b)

#define PS_RETURN_IF_ERROR(expr)                                  \
  do {                                                            \
    if (::penstock::Status ps_status_ = (expr); !ps_status_.ok()) \
      return ps_status_;                                          \
  } while (0)

#define PS_ASSIGN_OR_RETURN(lhs, expr) \
  PS_ASSIGN_OR_RETURN_IMPL(PS_CONCAT(ps_or_, __LINE__), lhs, expr)
#define PS_ASSIGN_OR_RETURN_IMPL(tmp, lhs, expr) \
  auto tmp = (expr);                             \
  if (!tmp.ok()) return tmp.status();            \
  lhs = std::move(tmp).value()

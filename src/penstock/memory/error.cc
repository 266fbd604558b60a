#include "penstock/memory/error.h"

namespace penstock {

Status ElementError::to_status() const {
  std::string message;
  if (!stage.empty()) absl::StrAppend(&message, stage, ": ");
  if (!element.empty()) absl::StrAppend(&message, "element ", element, ": ");
  absl::StrAppend(&message, status.message());
  if (others > 0) {
    absl::StrAppend(&message, " (and ", others, " more error",
                    others > 1 ? "s" : "", " in this batch)");
  }
  if (!not_skipped.empty()) {
    absl::StrAppend(&message, " (not skipped: ", not_skipped, ")");
  }
  return Status(status.code(), message);
}

}  // namespace penstock

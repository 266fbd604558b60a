// An error that travels at its element's place.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <string>

#include "penstock/base/status.h"

namespace penstock {

struct ElementError {
  /// Code and what happened, without stage and element.
  Status status;
  /// "map#2:decode"; empty until a stage claims it.
  std::string stage;
  /// Origin of the element, as text.
  std::string element;
  /// How many further errors a batch with several of them stands for.
  std::int64_t others = 0;
  /// A stage could not be restored. Shown even where elements are dropped
  /// because they were seen before the state was saved.
  bool restore_failed = false;
  /// Its source gives nothing more after it: what would have followed is
  /// missing, but a policy may skip it.
  bool ends_source = false;
  /// The stage itself failed and ended here. No policy skips it: what would
  /// have followed is lost.
  bool ends_stage = false;
  /// Rows that should follow do not.
  bool loses_rows() const { return ends_source || ends_stage; }

  /// Why it is shown although errors are skipped; empty otherwise.
  std::string not_skipped;
  /// What the user's function threw, if it threw.
  std::exception_ptr cause;

  /// "map#2: element 17: <message>", with the status' code.
  Status to_status() const;
};
using ErrorRef = std::shared_ptr<const ElementError>;

}  // namespace penstock

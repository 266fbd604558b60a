// Memory besides the pool's that goes back when nobody needs it any more.
#pragma once

namespace penstock {

/// `other` is called every second or two while pipelines run, and with `idle`
/// when none has run for a second.
void trim_too(void (*other)(bool idle));
void trim_others(bool idle);

}  // namespace penstock

// How many cores this process may use.
#pragma once

namespace penstock {

/// Affinity mask and cgroup v1/v2 quota, whichever is less; at least 1.
int detect_cpu_budget();

}  // namespace penstock

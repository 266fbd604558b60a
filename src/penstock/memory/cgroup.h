// What the control groups of this process allow it: its own and those around
// it, versions 1 and 2, in a container of their own or not. Reads a few small
// files of the kernel's at each call.
#pragma once

#include <cstdint>
#include <string>

namespace penstock {

/// The least CPU quota, in cores; 0 if there is none. `root` is put in front of
/// every path (for tests).
double cgroup_cores(const std::string& root = "");
/// Bytes that may still be used, by the tightest limit; below zero if there is
/// none.
std::int64_t cgroup_memory(const std::string& root = "");

}  // namespace penstock

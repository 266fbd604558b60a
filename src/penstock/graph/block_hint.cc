#include "penstock/graph/block_hint.h"

#include <algorithm>
#include <utility>

namespace penstock {
namespace {

thread_local double t_asked = 0;

}  // namespace

void ask_for_block_ns(double ns) { t_asked = std::max(t_asked, ns); }
double take_asked_block_ns() { return std::exchange(t_asked, 0); }

}  // namespace penstock

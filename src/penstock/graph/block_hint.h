// How long a block should take, said by the code that works on it.
//
// A segment sizes its blocks so that an ordinary hand-over does not count. A
// function whose calls cross to another process asks for larger ones, while it
// runs, because it may start or stop doing so.
#pragma once

namespace penstock {

/// From within a transform: blocks of this stage should take `ns`.
void ask_for_block_ns(double ns);
/// What was asked on this thread since the last call, or 0.
double take_asked_block_ns();

}  // namespace penstock

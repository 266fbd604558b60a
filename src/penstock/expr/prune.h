// Programs without the work that nobody needs.
//
// When a native map is followed by another, the first need not compute what
// the second does not read. Only work that cannot fail is left out: an error is
// a result too.
#pragma once

#include <vector>

#include "penstock/expr/program.h"

namespace penstock::expr {

/// For each leaf of the input: an operation or a result uses it.
std::vector<bool> leaves_read(const Program& program);

/// Of the leaves of the result that are not `read`, those that can be left out
/// count as unread in what this gives; all others as read.
std::vector<bool> leaves_needed(const Program& program,
                                const std::vector<bool>& read);

/// The program that gives the leaves of the result that are `kept`, as a tuple.
StatusOr<Program> give_only(const Program& program,
                            const std::vector<bool>& kept);

/// The program that takes the leaves of the input that are `kept`, as a tuple;
/// it reads no others.
StatusOr<Program> take_only(const Program& program,
                            const std::vector<bool>& kept);

/// The nodes of `from` that are `wanted` and not inputs, appended to `to`.
/// `place` says where each node is there: of inputs before, of the others then.
Status append_nodes(const Program& from, const std::vector<bool>& wanted,
                    std::vector<std::int32_t>& place, Program& to);

}  // namespace penstock::expr

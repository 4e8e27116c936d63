// The paths from pins to nodes, in words.
#pragma once

#include "../Reduce/Domains.h"

namespace apc {

constexpr uint32_t nobody = ~0u;

/// Notes about the places where strategies that follow from different pins meet and the meeting takes seconds: one note
/// for each two pins, the slowest first, with both pins, the path from each, and the seconds. A node follows the pin
/// from which it is reached with the least seconds of redistribution; ties: over the fewest edges.
std::vector<std::string> disagreements(const Problem &problem, const Assignment &assignment, const Domains &edges);

/// Why `node` has no strategy left: the two nearest pins and the path from each. Empty when fewer than two pins reach
/// it.
std::string contradiction(const Problem &problem, const Domains &domains, uint32_t node);

} // namespace apc

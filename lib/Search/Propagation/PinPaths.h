// How pins reached what they reached, in words.
#pragma once

#include "../Reduce/Domains.h"

namespace apc {

constexpr uint32_t nobody = ~0u;

/// Notes about the places where strategies that follow from different pins meet at a price, one for each two pins, the
/// dearest first: both pins, the way from each, and the seconds. A node follows the pin from which it is reached with
/// the least seconds of redistribution; ties: over the fewest edges.
std::vector<std::string> disagreements(const Problem &problem, const Assignment &assignment, const Domains &edges);

/// Why `node` is left without a strategy: the two nearest pins and the way from each. Empty when fewer than two reach
/// it.
std::string contradiction(const Problem &problem, const Domains &domains, uint32_t node);

} // namespace apc

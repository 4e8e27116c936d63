// Where the space of all shardings is too large: the part of it that one pair needs, and a path that needs no search.
#pragma once

#include "RedistributionSearch.h"

namespace apc {

/// The space of one pair: axes that neither uses are left out, axes that stand one behind the other in both move as
/// one, and of the dims that neither cuts the two largest are kept for as long as the space fits a graph. Empty when
/// it does not fit even so.
std::optional<SearchSpace> restrictSpace(const Sharding &from, const Sharding &to, const TensorShape &shape,
                                         const Mesh &mesh);

/// Settles, gathers what differs and slices: at most 1 + 2 * dims collectives, no search, not the cheapest.
Redistribution directPath(const Sharding &from, const Sharding &to, const TensorShape &shape, const Mesh &mesh,
                          const SecondsOfCollective &cost);

} // namespace apc

// Strategies and shardings as rows of a problem's tables.
#pragma once

#include "apc/Sharding/Strategy.h"

#include <optional>
#include <vector>

namespace apc {

/// The axes of a strategy's factors and groups of linear operands, as `NodeTable::axes` has them: factors first.
std::vector<uint32_t> axisDigits(const Strategy &strategy, size_t numAxes);
/// The same of a sharding: its dims first, then partial axes, then dims that are cut inside parts.
std::vector<uint32_t> axisDigits(const Sharding &sharding, size_t numAxes);

/// The strategy of an op that follows another: its factors are cut like those of the same name; none where that is
/// illegal.
std::optional<Strategy> followed(const FactorRule &leader, const Strategy &strategy, const FactorRule &follower,
                                 const Mesh &mesh);

} // namespace apc

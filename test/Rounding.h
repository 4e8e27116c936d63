// How far sums may lie from what they are compared with.
#pragma once

namespace apc {

/// The relative error of sums that are made in another order.
inline constexpr double rounding = 1e-9;

} // namespace apc

// Distinct index types: an AxisId cannot be passed where a FactorId is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

namespace apc {

/// An index into one kind of list. `using AxisId = Id<struct AxisTag>; AxisId a{2}; axes[a.index()]`.
template <typename Tag>
struct Id {
  uint32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(size_t index) : value(static_cast<uint32_t>(index)) {}

  constexpr size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

} // namespace apc

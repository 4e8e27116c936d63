// Reasons against strategies, found without making text: enumeration asks for them thousands of times.
#pragma once

#include "apc/Sharding/Strategy.h"

#include <string>

namespace apc {

/// The first reason against a strategy. `factor`, `other` and `axis` say which, where the kind has them.
struct Violation {
  enum class Kind : uint8_t {
    None,
    WrongLists,       ///< not one list for each factor and linear group
    UnknownAxis,      ///< `axis`
    AxisTwice,        ///< `axis`
    Whole,            ///< `factor` must stay whole
    TooSmall,         ///< `factor` is smaller than the product of its axes
    MinorBeforeMajor, ///< `factor` is cut while the more major `other` of the same dim is not fully cut
    UnevenCompound,   ///< `factor`, one of several in a dim, is cut unevenly
    TwiceInTensor,    ///< `factor` is in two dims of one tensor
    TwoCombiners,     ///< the results would be partial with the combiners of `factor` and `other`
    SmallParts,       ///< a part of `factor` is smaller than the product of its axes
    PassingCombiner,  ///< partial sums pass through, and `factor` combines otherwise
  };
  Kind kind = Kind::None;
  FactorId factor, other;
  AxisId axis;
};

/// Judges strategies of one rule on one mesh. Compound dims and reductions are looked up once.
class StrategyChecker {
public:
  StrategyChecker(const FactorRule &rule, const Mesh &mesh);

  Violation find(const Strategy &strategy) const;
  /// Text for users, with names and numbers.
  std::string explain(const Violation &violation, const Strategy &strategy) const;

private:
  Violation findInAxes(const Strategy &strategy) const;
  Violation findInDims(const Strategy &strategy) const;
  Violation findInCombiners(const Strategy &strategy) const;

  const FactorRule &rule;
  const Mesh &mesh;
  std::vector<DimFactors> compounds; ///< dims with several factors of size > 1, those of size 1 left out
  std::vector<FactorId> repeated;    ///< factors in two dims of one tensor
  std::vector<FactorId> reductions;
  std::vector<std::pair<FactorId, PartedDim>> parted; ///< the only factors of dims that are cut inside parts
};

} // namespace apc

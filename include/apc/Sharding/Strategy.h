// A strategy is what one op does: factor -> axes, and for each linear group the axes over which its inputs are partial.
#pragma once

#include "apc/Sharding/FactorRule.h"

namespace apc {

/// For MatMul `b0 m k, k n -> b0 m n` on `[node=8 | gpu=8]`, `{b0: node, k: gpu}` is Megatron's row split: X is `[node,
/// -, gpu]`, W `[gpu, -]`, and the result `[node, -, -] sum{gpu}`.
struct Strategy {
  /// One list for each factor of the rule; ascending axis order in enumerated strategies.
  llvm::SmallVector<AxisList, 6> axes;
  /// One list for each group in `FactorRule::linear`: axes over which that group's operands are partial on entry.
  llvm::SmallVector<AxisList, 2> partialInputs;

  /// `b0:node k:gpu`, `passing0:gpu` for the first list of `partialInputs`, or `replicated` when no axis is used.
  std::string str(const FactorRule &rule, const Mesh &mesh) const;
  static llvm::Expected<Strategy> parse(llvm::StringRef text, const FactorRule &rule, const Mesh &mesh);

  friend bool operator==(const Strategy &, const Strategy &) = default;
};

/// The sharding that operand / result `index` has under a strategy. Operands are partial only by `partialInputs`;
/// results are partial over the axes of every reduction factor (with its combiner) and of every list of
/// `partialInputs`. Legal strategies only.
Sharding operandSharding(const FactorRule &rule, const Strategy &strategy, unsigned index);
Sharding resultSharding(const FactorRule &rule, const Strategy &strategy, unsigned index);

/// The padded size of each factor on one device.
llvm::SmallVector<int64_t, 6> localFactorSizes(const FactorRule &rule, const Strategy &strategy, const Mesh &mesh);

/// True when pieces of a tensor are padded along dim `dim` because of its factor `factor`: axes cut it unevenly, or one
/// of the parts inside which it is cut. 10 over 4; 12 inside {6 6} over 4.
bool isPadded(const FactorRule &rule, const RuleTensor &tensor, unsigned dim, FactorId factor, const Strategy &strategy,
              const Mesh &mesh);

/// Why a strategy cannot be: an axis used twice, a whole factor cut, a factor smaller than its axes, a minor factor of
/// a compound dim cut while a major one is not fully cut, an uneven cut inside a compound dim, a reduction with a
/// second combiner beside it, an uneven reduction that padding would poison. Success when legal. The text is shown to
/// users by `explain`.
llvm::Error check(const FactorRule &rule, const Strategy &strategy, const Mesh &mesh);

/// A strategy that was not offered, and why.
struct RejectedStrategy {
  Strategy strategy;
  std::string reason;
};

/// All legal strategies: each axis goes to one factor, to one linear group, or to none: at most (factors + groups +
/// 1)^axes. Lexicographic by axis, so the order is reproducible; the replicated strategy is always there. Rejected
/// strategies are collected when `rejected` is given.
std::vector<Strategy> enumerateStrategies(const FactorRule &rule, const Mesh &mesh,
                                          std::vector<RejectedStrategy> *rejected = nullptr);

} // namespace apc

// Axes by their use, and strategies that follow.
#include "Choices.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Error.h"

namespace apc {

std::vector<uint32_t> axisDigits(const Strategy &strategy, size_t numAxes) {
  std::vector<uint32_t> digits(numAxes, 0);
  uint32_t digit = 0;
  for (const auto &lists : {llvm::ArrayRef<AxisList>(strategy.axes), llvm::ArrayRef<AxisList>(strategy.partialInputs)})
    for (const AxisList &list : lists) {
      ++digit;
      for (AxisId axis : list)
        digits[axis.index()] = digit;
    }
  return digits;
}

std::vector<uint32_t> axisDigits(const Sharding &sharding, size_t numAxes) {
  std::vector<uint32_t> digits(numAxes, 0);
  for (auto [dim, list] : llvm::enumerate(sharding.dims))
    for (AxisId axis : list)
      digits[axis.index()] = static_cast<uint32_t>(dim) +
                             (sharding.partsOf(static_cast<unsigned>(dim)).empty() ? 1 : sharding.numDims() + 2);
  for (AxisId axis : sharding.partial)
    digits[axis.index()] = sharding.numDims() + 1;
  return digits;
}

std::optional<Strategy> followed(const FactorRule &leader, const Strategy &strategy, const FactorRule &follower,
                                 const Mesh &mesh) {
  Strategy own;
  own.partialInputs.resize(follower.linear.size());
  for (const Factor &factor : follower.factors) {
    const auto *found = llvm::find_if(leader.factors, [&](const Factor &known) { return known.name == factor.name; });
    own.axes.push_back(found == leader.factors.end() ? AxisList() : strategy.axes[found - leader.factors.begin()]);
  }
  if (llvm::Error illegal = check(follower, own, mesh)) {
    llvm::consumeError(std::move(illegal));
    return std::nullopt;
  }
  return own;
}

} // namespace apc

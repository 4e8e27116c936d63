// The table of optimizers.
#include "apc/Autodiff/Optimizer.h"

#include "llvm/ADT/STLExtras.h"

#include <cassert>

namespace apc {

namespace {

constexpr llvm::StringLiteral momentumStates[] = {"momentum"};
constexpr llvm::StringLiteral amsgradStates[] = {"first", "second", "greatest"};
constexpr llvm::ArrayRef<llvm::StringLiteral> adamStates(amsgradStates, 2);
const OptimizerTraits optimizers[] = {
    {OptimizerKind::Sgd, "sgd", {}},
    {OptimizerKind::Momentum, "momentum", momentumStates},
    {OptimizerKind::Adam, "adam", adamStates},
    {OptimizerKind::AdamW, "adamw", adamStates},
};

} // namespace

const OptimizerTraits &traitsOf(OptimizerKind kind) {
  const OptimizerTraits &traits = optimizers[static_cast<size_t>(kind)];
  assert(traits.kind == kind && "the table of optimizers is in the order of the enumeration");
  return traits;
}

std::optional<OptimizerKind> parseOptimizer(llvm::StringRef name) {
  const auto *found = llvm::find_if(optimizers, [&](const OptimizerTraits &traits) { return traits.name == name; });
  return found == std::end(optimizers) ? std::nullopt : std::optional(found->kind);
}

llvm::ArrayRef<OptimizerTraits> allOptimizers() { return optimizers; }

llvm::ArrayRef<llvm::StringLiteral> statesOf(const Optimizer &optimizer) {
  assert((!optimizer.amsgrad || traitsOf(optimizer.kind).states.data() == amsgradStates) && "amsgrad belongs to Adam");
  return optimizer.amsgrad ? llvm::ArrayRef(amsgradStates) : traitsOf(optimizer.kind).states;
}

} // namespace apc

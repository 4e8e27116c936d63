// Policies and their names.
#include "RecomputePolicies.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace apc {

static constexpr Recomputable policies[] = {
    {"none"},
    {"norms", /*cheapOps=*/true},
    {"attention", /*cheapOps=*/false, /*attentions=*/true},
    {"mlp", /*cheapOps=*/false, /*attentions=*/false, LayerPart::BehindAttention},
    {"branches", /*cheapOps=*/true, /*attentions=*/false, LayerPart::Branches},
    {"full", /*cheapOps=*/true, /*attentions=*/false, LayerPart::Whole},
};

const Recomputable &recomputableBy(RecomputePolicy policy) { return policies[static_cast<size_t>(policy)]; }

llvm::StringRef recomputeName(RecomputePolicy policy) { return recomputableBy(policy).name; }

std::optional<RecomputePolicy> parseRecompute(llvm::StringRef name) {
  const auto *found = llvm::find_if(policies, [&](const Recomputable &policy) { return policy.name == name; });
  return found == std::end(policies) ? std::nullopt
                                     : std::optional(static_cast<RecomputePolicy>(found - std::begin(policies)));
}

std::vector<llvm::StringRef> recomputeNames() {
  std::vector<llvm::StringRef> names;
  for (const Recomputable &policy : policies)
    names.push_back(policy.name);
  return names;
}

} // namespace apc

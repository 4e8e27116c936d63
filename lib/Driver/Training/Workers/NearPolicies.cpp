// Policies that keep more or less than another, or than a mix of two.
#include "NearPolicies.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>

namespace apc {

std::vector<RecomputeSetting> keepingLess(llvm::ArrayRef<RecomputeSetting> policies, const RecomputeSetting &own) {
  const auto *at = llvm::find(policies, own.layers ? RecomputeSetting(own.policy) : own);
  const size_t first = at - policies.begin() + (own.layers ? 0 : 1);
  return policies.drop_front(std::min(first, policies.size())).vec();
}

std::vector<RecomputeSetting> keepingMore(llvm::ArrayRef<RecomputeSetting> policies, const RecomputeSetting &own) {
  const auto *at = llvm::find(policies, own.layers ? RecomputeSetting(own.rest) : own);
  const size_t count = at == policies.end() ? 0 : at - policies.begin() + (own.layers ? 1 : 0);
  std::vector<RecomputeSetting> more = policies.take_front(count).vec();
  std::reverse(more.begin(), more.end());
  return more;
}

} // namespace apc

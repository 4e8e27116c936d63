// Policies of recomputation around one of them.
#pragma once

#include "apc/Plan/RecomputeChoice.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace apc {

/// Those of \p policies, which keep most first, that keep less than \p own, and those that keep more, the nearest
/// first. A mix of two lies between them.
std::vector<RecomputeSetting> keepingLess(llvm::ArrayRef<RecomputeSetting> policies, const RecomputeSetting &own);
std::vector<RecomputeSetting> keepingMore(llvm::ArrayRef<RecomputeSetting> policies, const RecomputeSetting &own);

} // namespace apc

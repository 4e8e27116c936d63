// Parameters that rest in smaller pieces than their users read.
#pragma once

#include "apc/Plan/Plan.h"

#include "llvm/ADT/StringMap.h"

namespace apc {

/// By parameter of a stage: how many gathers lead from its storage to its users; 0 where it rests as it is used, more
/// than 1 where ways of their own lead to the users of the forward and of the backward pass.
llvm::StringMap<unsigned> gathersOf(const StagePlan &stage);

/// How a parameter that is gathered so often is stored: "as used", "gathered" (ZeRO 3) or "gathered for each pass".
llvm::StringRef storageName(unsigned gathers);

} // namespace apc

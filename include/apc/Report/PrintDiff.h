// The difference of two plans, for people and for scripts.
#pragma once

#include "apc/Plan/Diff.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// For people; "the plans are the same" when nothing differs.
void printDiff(const PlanDiff &diff, llvm::raw_ostream &os);

/// Keys `same`, `settings` [{name, before, after}], `seconds` and `bytes` {name: {before, after, change}}, `strategies`
/// [{ops, operator, count, before, after, before_seconds, after_seconds}], `ops`. `change` is relative, null for none
/// before.
std::string printDiffJson(const PlanDiff &diff);

} // namespace apc

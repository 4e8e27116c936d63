// The verdict of `apc check`, for people and for scripts.
#pragma once

#include "apc/Plan/Record.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// A plan held to a record.
struct CheckedPlan {
  std::string modelPath;
  PlanRecord now;
  RecordComparison comparison;
  double tolerance = 0; ///< share by which step time and memory may be worse
};

/// The verdict first, then the differences.
void printCheck(const CheckedPlan &checked, llvm::raw_ostream &os);
/// Keys `passed`, `tolerance`, `failures`, `improvements`, `step_seconds`, `memory_bytes`.
std::string printCheckJson(const CheckedPlan &checked);

} // namespace apc

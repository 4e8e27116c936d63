// Where a value lies and who reads it.
#pragma once

#include "apc/Plan/Plan.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// "[device, -] partial over node, [8, 32] -> [2, 32] on each device" and the end of the line.
void printSharding(const PlanSharding &sharding, llvm::raw_ostream &os);

/// The value called `name`: its pieces, its bytes on one device and its readers, each with the collectives that bring
/// it there. False when the plan has no such value.
bool explainValue(const Plan &plan, llvm::StringRef name, llvm::raw_ostream &os);

} // namespace apc

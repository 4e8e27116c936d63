// A list put in an order in which everything stands behind what it waits for.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <vector>

namespace apc {

/// The items 0, 1, ... of a list in their order, but for those that wait for a later one: each of these follows as soon
/// as the last that it waits for has been taken, in the order of the list. `waitsFor[i]` are the items that item i
/// waits for; the order of a list in which nobody waits for a later item is the list. Item 1 of {{}, {3}, {1}, {}, {}}
/// waits for item 3, and item 2 for item 1: 0, 3, 1, 2, 4. Items that wait for one another in a circle are left out.
std::vector<size_t> orderWithWaits(llvm::ArrayRef<llvm::SmallVector<size_t, 4>> waitsFor);

} // namespace apc

// Remarks on pins that do nothing here.
#pragma once

#include "apc/Cluster/Cluster.h"
#include "apc/Plan/Pins.h"

namespace apc {

/// A note for each cut over a level of which the devices fill but one: `n=node` on the 8 devices of one node.
std::vector<std::string> pinNotes(llvm::ArrayRef<Pin> pins, const Pool &pool);

} // namespace apc

// Collectives as a reader who does not know their notation reads them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace apc {

/// "AllGather{node.a} 1" -> "AllGather of dim 1 over node.a"; "AllToAll{device} 0->1" -> "AllToAll from dim 0 to dim 1
/// over device". A text of another form stays as it is.
std::string collectiveText(llvm::StringRef notation);

/// Those of a move, in order, with commas between them.
std::string collectivesText(llvm::ArrayRef<std::string> notations);

} // namespace apc

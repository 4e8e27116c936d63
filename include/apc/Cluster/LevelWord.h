// The name of a level where it is one word among others.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace apc {

/// A level as one word of names, strategies and meshes: "ring x" -> "ring-x". Only letters, digits, `_` and `-` stay.
std::string levelWord(llvm::StringRef level);

} // namespace apc

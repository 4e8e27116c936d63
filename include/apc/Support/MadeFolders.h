// Folders on the way to an output.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>
#include <system_error>
#include <vector>

namespace apc {

/// Folders that are made on the way to a file or folder. They go again with this, unless `keep` was called or something
/// was put into them.
class MadeFolders {
public:
  MadeFolders() = default;
  ~MadeFolders();
  MadeFolders(MadeFolders &&) = default;

  /// Makes \p folder and those above it that are missing.
  std::error_code make(llvm::StringRef folder);
  void keep() { made.clear(); }

private:
  std::vector<std::string> made; ///< innermost first
};

} // namespace apc

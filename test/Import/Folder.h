// A folder of files for tests.
#pragma once

#include "apc/Support/File.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <catch2/catch.hpp>

#include <string>

namespace apc::test {

/// A folder that is removed when the test ends.
struct Folder {
  llvm::SmallString<128> path;
  Folder() { REQUIRE_FALSE(llvm::sys::fs::createUniqueDirectory("apc-import", path)); }
  ~Folder() { llvm::sys::fs::remove_directories(path); }
  /// Writes a file and gives its path.
  std::string add(const std::string &name, const std::string &content) const {
    std::string file = (path + "/" + name).str();
    REQUIRE_FALSE(static_cast<bool>(writeFileAtomically(file, content)));
    return file;
  }
};

} // namespace apc::test

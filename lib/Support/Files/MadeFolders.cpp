// Remembers which folders were missing.
#include "apc/Support/MadeFolders.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace apc {

std::error_code MadeFolders::make(llvm::StringRef folder) {
  for (llvm::StringRef path = folder; !path.empty() && !llvm::sys::fs::exists(path);
       path = llvm::sys::path::parent_path(path))
    made.push_back(path.str());
  return llvm::sys::fs::create_directories(folder, /*IgnoreExisting=*/true,
                                           llvm::sys::fs::perms::all_all); // less umask
}

MadeFolders::~MadeFolders() {
  for (const std::string &folder : made) // a folder that holds something stays
    (void)llvm::sys::fs::remove(folder);
}

} // namespace apc

// Reading whole files and replacing files without ever leaving half of one.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace apc {

/// The bytes of `path`; an input error that names the path otherwise (absent, a folder, unreadable, or a device such as
/// /dev/zero, which may never end).
llvm::Expected<std::string> readFile(llvm::StringRef path);

/// Writes `content` beside `path` and renames it into place, so that `path` is either the old or the new file; a device
/// is written to. Makes the parent folders; where the file cannot be written, the folders that it made are removed.
llvm::Error writeFileAtomically(llvm::StringRef path, llvm::StringRef content);

/// An input error where no file can be made in `folder`, which need not exist yet. Changes nothing: what can be told
/// before an hour's work is told, and the writing itself may still fail.
llvm::Error checkWritable(llvm::StringRef folder);

/// The SHA-256 of `content` in lower-case hexadecimal.
std::string sha256Hex(llvm::StringRef content);

} // namespace apc

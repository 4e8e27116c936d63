// Text that a terminal shows as it is and obeys in nothing.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace apc {

bool isUtf8(llvm::StringRef text);

/// `text` with escapes for all that a terminal would act upon or hide: control and format characters and bytes that are
/// no UTF-8. "\x1b[31mRED" -> "\\x1b[31mRED"; U+202E -> "\\u{202e}"; the byte 0xff -> "\\xff". With \p keepsLines line
/// ends stay.
std::string visibleText(llvm::StringRef text, bool keepsLines = false);

/// A message of several lines: line ends stay but for those inside of '...', where names of others stand.
std::string visibleMessage(llvm::StringRef message);

} // namespace apc

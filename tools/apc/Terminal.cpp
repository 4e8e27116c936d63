// A stream that escapes.
#include "Terminal.h"

#include "apc/Support/VisibleText.h"

namespace apc {

void Terminal::write_impl(const char *text, size_t size) {
  llvm::outs() << visibleText(llvm::StringRef(text, size), /*keepsLines=*/true);
}

} // namespace apc

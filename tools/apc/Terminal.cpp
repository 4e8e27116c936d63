// A stream that escapes.
#include "Terminal.h"

#include "apc/Support/VisibleText.h"

namespace apc {

namespace {

/// Without a buffer: what is written here and what is written to `llvm::outs()` keep their order.
class EscapedStream : public llvm::raw_ostream {
public:
  EscapedStream() : raw_ostream(/*unbuffered=*/true) {}

private:
  void write_impl(const char *text, size_t size) override {
    llvm::outs() << visibleText(llvm::StringRef(text, size), /*keepsLines=*/true);
  }
  uint64_t current_pos() const override { return llvm::outs().tell(); }
};

} // namespace

llvm::raw_ostream &terminal() {
  static EscapedStream stream;
  return stream;
}

} // namespace apc

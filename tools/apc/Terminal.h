// The stream of what people read.
#pragma once

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// Writes to `llvm::outs()`, with escapes for what a terminal would obey (`visibleText`): names come from files of
/// others. Line ends stay. Documents go to `llvm::outs()`: JSON has escapes of its own.
///
///   Terminal terminal;
///   printSummary(plan, terminal);
class Terminal : public llvm::raw_ostream {
public:
  /// Without a buffer: what is written here and what is written to `llvm::outs()` keep their order.
  Terminal() : raw_ostream(/*unbuffered=*/true) {}

private:
  void write_impl(const char *text, size_t size) override;
  uint64_t current_pos() const override { return llvm::outs().tell(); }
};

} // namespace apc

// A hash that is the same on every machine and in every run: 64-bit FNV-1a with a final mix.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace apc {

/// Collects values into one hash; the order of the calls matters.
/// `StableHash h; h.add(3); h.add("x"); h.value()`.
class StableHash {
public:
  void add(uint64_t value) {
    for (unsigned byte = 0; byte < 8; ++byte)
      addByte(static_cast<uint8_t>(value >> (8 * byte)));
  }
  void add(llvm::StringRef text) {
    add(static_cast<uint64_t>(text.size()));
    for (char c : text)
      addByte(static_cast<uint8_t>(c));
  }
  void addDouble(double value);

  uint64_t value() const {
    uint64_t mixed = state ^ (state >> 33);
    mixed *= 0xff51afd7ed558ccdULL;
    return mixed ^ (mixed >> 33);
  }

private:
  void addByte(uint8_t byte) { state = (state ^ byte) * 0x100000001b3ULL; }

  uint64_t state = 0xcbf29ce484222325ULL;
};

} // namespace apc

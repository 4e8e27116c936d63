// Doubles in a stable hash.
#include "apc/Support/StableHash.h"

#include <bit>

namespace apc {

void StableHash::addDouble(double value) {
  // -0.0 == 0.0, so both hash alike.
  add(std::bit_cast<uint64_t>(value == 0.0 ? 0.0 : value));
}

} // namespace apc

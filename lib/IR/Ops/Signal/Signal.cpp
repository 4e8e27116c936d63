// Generated code and registration of the Signal family.
#include "Signal.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Signal/Signal.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Signal>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Signal/Signal.cpp.inc"
      >();
}

} // namespace apc

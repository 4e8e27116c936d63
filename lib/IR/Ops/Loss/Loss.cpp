// Generated code and registration of the Loss family.
#include "apc/IR/Ops/Loss/Loss.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Loss/Loss.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Loss>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Loss/Loss.cpp.inc"
      >();
}

} // namespace apc

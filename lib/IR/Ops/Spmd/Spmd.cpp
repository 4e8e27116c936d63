// Generated code and registration of the Spmd family.
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "apc/IR/Ops/Spmd/SpmdInterfaces.cpp.inc"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Spmd/Spmd.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Spmd>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Spmd/Spmd.cpp.inc"
      >();
}

} // namespace apc

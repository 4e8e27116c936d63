// Generated code and registration of the Movement family.
#include "apc/IR/Ops/Movement/Movement.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Movement/Movement.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Movement>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Movement/Movement.cpp.inc"
      >();
}

} // namespace apc

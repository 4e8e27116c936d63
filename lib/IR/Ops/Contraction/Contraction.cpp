// Generated code and registration of the Contraction family.
#include "apc/IR/Ops/Contraction/Contraction.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Contraction/Contraction.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Contraction>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Contraction/Contraction.cpp.inc"
      >();
}

} // namespace apc

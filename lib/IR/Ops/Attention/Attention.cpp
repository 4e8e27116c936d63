// Generated code and registration of the Attention family.
#include "apc/IR/Ops/Attention/Attention.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Attention/Attention.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Attention>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Attention/Attention.cpp.inc"
      >();
}

} // namespace apc

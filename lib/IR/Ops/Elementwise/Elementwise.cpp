// Generated code and registration of the Elementwise family.
#include "apc/IR/Ops/Elementwise/Elementwise.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Elementwise/Elementwise.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Elementwise>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Elementwise/Elementwise.cpp.inc"
      >();
}

} // namespace apc

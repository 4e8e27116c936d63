// Generated code and registration of the Reduction family.
#include "apc/IR/Ops/Reduction/Reduction.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Reduction/Reduction.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Reduction>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Reduction/Reduction.cpp.inc"
      >();
}

} // namespace apc

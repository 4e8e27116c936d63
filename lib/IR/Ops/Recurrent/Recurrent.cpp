// Generated code and registration of the Recurrent family.
#include "Recurrent.h"

#include "apc/IR/Gradient.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Recurrent/Recurrent.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Recurrent>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Recurrent/Recurrent.cpp.inc"
      >();
}

} // namespace apc

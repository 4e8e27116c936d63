// Generated code and registration of the Creation family.
#include "Creation.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Creation/Creation.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Creation>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Creation/Creation.cpp.inc"
      >();
}

} // namespace apc

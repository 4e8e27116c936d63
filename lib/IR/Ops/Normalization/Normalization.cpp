// Generated code and registration of the Normalization family.
#include "apc/IR/Ops/Normalization/Normalization.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Normalization/Normalization.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Normalization>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Normalization/Normalization.cpp.inc"
      >();
}

} // namespace apc

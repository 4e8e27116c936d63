// Generated code and registration of the Indexing family.
#include "apc/IR/Ops/Indexing/Indexing.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Indexing/Indexing.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Indexing>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Indexing/Indexing.cpp.inc"
      >();
}

} // namespace apc

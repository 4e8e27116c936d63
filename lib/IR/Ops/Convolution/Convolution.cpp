// Generated code and registration of the Convolution family.
#include "Convolution.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Convolution/Convolution.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Convolution>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Convolution/Convolution.cpp.inc"
      >();
}

} // namespace apc

// Generated code and registration of the Quantization family.
#include "Quantization.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Quantization/Quantization.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Quantization>() {
  addOperations<
#define GET_OP_LIST
#include "apc/IR/Ops/Quantization/Quantization.cpp.inc"
      >();
}

} // namespace apc

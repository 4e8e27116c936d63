// The dialect itself: registers the families.
#include "apc/IR/Apc.h"

#include "apc/IR/Dialect.cpp.inc"
#include "apc/IR/Interfaces.cpp.inc"

namespace apc {

#define APC_FAMILY(name)                                                                                               \
  template <>                                                                                                          \
  void ApcDialect::registerFamily<families::name>();
#include "apc/IR/Families.inc"

void ApcDialect::initialize() {
  registerAttributes();
#define APC_FAMILY(name) registerFamily<families::name>();
#include "apc/IR/Families.inc"
}

} // namespace apc

// The dialect itself: registers the families.
#include "apc/IR/Apc.h"

#include "apc/IR/Dialect.cpp.inc"
#include "apc/IR/Interfaces.cpp.inc"

namespace apc {

template <>
void ApcDialect::registerFamily<families::Structural>();
template <>
void ApcDialect::registerFamily<families::Elementwise>();
template <>
void ApcDialect::registerFamily<families::Contraction>();

void ApcDialect::initialize() {
  registerFamily<families::Structural>();
  registerFamily<families::Elementwise>();
  registerFamily<families::Contraction>();
}

} // namespace apc

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
template <>
void ApcDialect::registerFamily<families::Reduction>();
template <>
void ApcDialect::registerFamily<families::Normalization>();
template <>
void ApcDialect::registerFamily<families::Loss>();
template <>
void ApcDialect::registerFamily<families::Movement>();
template <>
void ApcDialect::registerFamily<families::Creation>();
template <>
void ApcDialect::registerFamily<families::Indexing>();
template <>
void ApcDialect::registerFamily<families::Convolution>();
template <>
void ApcDialect::registerFamily<families::Quantization>();
template <>
void ApcDialect::registerFamily<families::Attention>();
template <>
void ApcDialect::registerFamily<families::Signal>();
template <>
void ApcDialect::registerFamily<families::Spmd>();

void ApcDialect::initialize() {
  registerAttributes();
  registerFamily<families::Structural>();
  registerFamily<families::Elementwise>();
  registerFamily<families::Contraction>();
  registerFamily<families::Reduction>();
  registerFamily<families::Normalization>();
  registerFamily<families::Loss>();
  registerFamily<families::Movement>();
  registerFamily<families::Creation>();
  registerFamily<families::Indexing>();
  registerFamily<families::Convolution>();
  registerFamily<families::Quantization>();
  registerFamily<families::Attention>();
  registerFamily<families::Signal>();
  registerFamily<families::Spmd>();
}

} // namespace apc

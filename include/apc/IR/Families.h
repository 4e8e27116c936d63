// The families of operators: one tag for each folder below Ops/. CMake writes their list from the .td files.
#pragma once

namespace apc::families {

#define APC_FAMILY(name) struct name;
#include "apc/IR/Families.inc"

} // namespace apc::families

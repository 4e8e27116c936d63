// The apc dialect: everything that rooms above IR include.
#pragma once

#include "apc/IR/Families.h"
#include "apc/IR/Gradient.h"
#include "apc/IR/Localize.h"
#include "apc/IR/Operator.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "apc/IR/Interfaces.h.inc"

#include "apc/IR/Dialect.h.inc"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#define GET_OP_CLASSES
#include "apc/IR/Ops/Structural/Structural.h.inc"

// Operators that nobody knows: the class of their ops.
#pragma once

#include "apc/IR/Apc.h"
#include "apc/IR/Opaque.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Opaque/Opaque.h.inc"

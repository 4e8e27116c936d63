// The Elementwise family of operators, for the files that say in C++ what its definitions do not.
#pragma once

#include "apc/IR/Apc.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Elementwise.h.inc"

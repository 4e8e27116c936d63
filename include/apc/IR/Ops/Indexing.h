// The Indexing family of operators, for the files that say in C++ what its definitions do not.
#pragma once

#include "apc/IR/Layout.h"

#define GET_OP_CLASSES
#include "apc/IR/Ops/Indexing.h.inc"

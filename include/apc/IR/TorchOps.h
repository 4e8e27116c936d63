// The operators in PyTorch.
#pragma once

#include "apc/Support/EmbeddedText.h"

namespace apc {

/// Python functions that compute the operators with PyTorch on the piece of one device, by family of operators: the
/// files lib/IR/Ops/<Family>/torch_*.py. The function of an operator has its mnemonic as name, with "_" behind
/// it where Python has that name itself. Its parameters are called as operands and attributes are in the definition, or
///
///     dims     the dims of the first result, a tuple
///     dtype    the element type of the first result, `torch.float32`
///     is_float whether the first result holds floats
///     rank     where the program runs: `rank.device`, `rank.step`
///     count    the number of operands that a variadic operand is
///     wanted   for each result whether it is asked for, a list of bools
///     offsets  the operands behind the declared ones, a list of ints
///
/// An operand annotated `ints` is a constant that is given as a list of ints, one annotated `number` a constant that
/// may be given as a number. Absent operands and attributes are None, variadic operands a list. A function of several
/// results returns a tuple; one of an operator that overwrites operands writes them in place and returns nothing.
///
/// A function whose body is one `return`, or cases of them under conditions on arguments that are literals, stands for
/// its expression: programs hold the expression itself. Other functions are called by name. They may call one another,
/// by name and brackets; a file is not a module of its own.
llvm::ArrayRef<EmbeddedText> torchOps();

} // namespace apc

// Which values of an imported graph are weights although the file does not say so.
#pragma once

#include "ImportState.h"

namespace apc::onnx {

/// Turns arguments of @main that hold weights into parameters (`source` "input"). With ImportOptions::parameters those
/// whose whole name matches. Otherwise those that are floats (or integers of 8 bits and less), have no symbolic dim,
/// and
/// - have a name that only weights have (`isWeightName`), or
/// - are not the first input and are used as weights are: as a later operand of a contraction without sharing the
/// leading dim of
///   its first operand, or as a table of which a part is looked up; Transpose, Reshape, casts and the like on the way
///   do not matter; or
/// - are vectors that enter an op beside a larger first operand, when another input is a weight by the rules above.
/// `symbolic[i]` tells whether argument i has a symbolic dim. Errors: a regular expression that does not parse.
llvm::Error findInputWeights(ImportState &state, llvm::ArrayRef<bool> symbolic);

/// The same by use for tensors that stand for weights whose data was left out or written out: float tensors made from
/// their shape alone (`source` "fill") and float constants of more than one element (`source` "initializer").
void findConstantWeights(ImportState &state);

/// Notes parameters that may be copies of tied weights: exporters that fold a Transpose of an embedding table store it
/// a second time under a name of their own ("onnx::MatMul_1146"). Nothing but the data could tell.
void noteTiedCopies(ImportState &state);

} // namespace apc::onnx

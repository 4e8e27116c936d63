// Finds the values of an imported graph that are weights although the file does not mark them.
#pragma once

#include "ImportState.h"

namespace apc::onnx {

/// Turns arguments of @main that hold weights into parameters (`source` "input"). With ImportOptions::parameters, an
/// argument is a weight when its whole name matches. Otherwise it is a weight when it is of floats (or integers of 8
/// bits and less), has no symbolic dim, and
/// - has a name that only weights have (`isWeightName`), or
/// - is not the first input and is used as a weight: as a later operand of a contraction that does not share the
/// leading
///   dim of the first operand, or as a table of which a part is looked up; Transpose, Reshape, casts and the like on
///   the way do not matter; or
/// - is a vector that enters an op beside a larger first operand, when another input is a weight by the rules above.
/// `symbolic[i]` tells whether argument i has a symbolic dim. Errors: a regular expression that does not parse.
llvm::Error findInputWeights(ImportState &state, llvm::ArrayRef<bool> symbolic);

/// Turns other tensors that are used as weights into parameters, and notes them: float constants of more than one
/// element that are stored (`source` "initializer"), and float tensors made from a shape that is stored (`source`
/// "fill"), as files have them that leave data out. Results of importing are no weights: zeros of the shape of
/// another tensor, such as the first state of an LSTM, or a bias that is not there.
void findConstantWeights(ImportState &state);

/// Does `op`, whose operands are constants, rearrange stored floats, each of them at most once: transpose, slice,
/// concatenate, cast, dequantize? Its results are then as good as stored.
bool rearrangesStored(const ImportState &state, mlir::Operation *op);

/// Notes parameters that may be copies of tied weights: exporters that fold a Transpose of an embedding table store it
/// a second time under a name of their own ("onnx::MatMul_1146"). Only the data, which is not read, could tell.
void noteTiedCopies(ImportState &state);

} // namespace apc::onnx

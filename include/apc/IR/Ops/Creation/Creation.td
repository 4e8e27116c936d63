// Operators that make elements from nothing but shapes and scalars.
include "apc/IR/Base.td"

// Shapes, rules and evaluation are written in C++ (lib/IR/Ops/CreationRules.cpp).
class Apc_Creation<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let evaluates = 1;
  let gradient = noGradient;
}

def Apc_LiteralOp : Apc_Creation<"literal", ["Constant"]> {
  let summary = "A constant in the forms that models write it; evaluates to `apc.constant`";
  let arguments = (ins OptionalAttr<ElementsAttr>:$value, OptionalAttr<I64Attr>:$value_int,
                       OptionalAttr<DenseI64ArrayAttr>:$value_ints, OptionalAttr<F32Attr>:$value_float,
                       OptionalAttr<DenseF32ArrayAttr>:$value_floats);
  let results = (outs Apc_Tensor:$output);
}

def Apc_ConstantOfShapeOp : Apc_Creation<"constant_of_shape", ["ConstantOfShape"]> {
  let arguments = (ins Apc_Tensor:$input, OptionalAttr<ElementsAttr>:$value);
  let types = "i64";
  let results = (outs Apc_Tensor:$output);
  let local = "local.setConstant(0, local.resultDims(0));";
}

def Apc_RangeOp : Apc_Creation<"range", ["Range"]> {
  let summary = "start, start + delta, ... below limit";
  let arguments = (ins Apc_Tensor:$start, Apc_Tensor:$limit, Apc_Tensor:$delta);
  let types = "T: float|i16|index, T, T";
  let results = (outs Apc_Tensor:$output);
}

def Apc_EyeLikeOp : Apc_Creation<"eye_like", ["EyeLike"]> {
  let summary = "A matrix of the operand's shape with ones on diagonal k; follows from the operand's type alone";
  let arguments = (ins Apc_Tensor:$input, OptionalAttr<I64Attr>:$dtype, DefaultValuedAttr<I64Attr, "0">:$k);
  let types = "number|bool";
  let results = (outs Apc_Tensor:$output);
}

// A window of the constant size.
// A window of the constant size: `a - b cos(2 pi n / N) + c cos(4 pi n / N)`, N the size, or the size - 1 where the window is symmetric.
class Apc_Window<string mnemonic, list<string> onnx, string coefficients> : Apc_Creation<mnemonic, onnx> {
  let arguments = (ins Apc_Tensor:$size, DefaultValuedAttr<I64Attr, "1">:$output_datatype,
                       DefaultValuedAttr<I64Attr, "1">:$periodic);
  let types = "index";
  let results = (outs Apc_Tensor:$output);
  let evaluates = 0;
  let evaluation = "::apc::evaluateWindow(op, {" # coefficients # "}, getPeriodic())";
}

def Apc_HannWindowOp : Apc_Window<"hann_window", ["HannWindow"], "0.5, 0.5, 0">;
def Apc_HammingWindowOp : Apc_Window<"hamming_window", ["HammingWindow"], "25.0 / 46, 21.0 / 46, 0">;
def Apc_BlackmanWindowOp : Apc_Window<"blackman_window", ["BlackmanWindow"], "0.42, 0.5, 0.08">;

def Apc_MelWeightMatrixOp : Apc_Creation<"mel_weight_matrix", ["MelWeightMatrix"]> {
  let summary = "The matrix that turns a spectrum of dft_length / 2 + 1 bins into num_mel_bins";
  let arguments = (ins Apc_Tensor:$num_mel_bins, Apc_Tensor:$dft_length, Apc_Tensor:$sample_rate,
                       Apc_Tensor:$lower_edge_hertz, Apc_Tensor:$upper_edge_hertz,
                       DefaultValuedAttr<I64Attr, "1">:$output_datatype);
  let types = "index, index, index, float, float";
  let results = (outs Apc_Tensor:$output);
}

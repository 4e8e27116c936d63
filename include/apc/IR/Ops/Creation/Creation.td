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
  let summary = "start, start + delta, ... below limit; `bound` numbers where the operands are not constants";
  let arguments = (ins Apc_Tensor:$start, Apc_Tensor:$limit, Apc_Tensor:$delta, OptionalAttr<I64Attr>:$bound);
  let types = "T: float|i16|index, T, T";
  let results = (outs Apc_Tensor:$output);
}

def Apc_EyeLikeOp : Apc_Creation<"eye_like", ["EyeLike"]> {
  let summary = "A matrix of the operand's shape with ones on diagonal k; follows from the operand's type alone";
  let arguments = (ins Apc_Tensor:$input, OptionalAttr<I64Attr>:$dtype, DefaultValuedAttr<I64Attr, "0">:$k);
  let types = "number|bool";
  let results = (outs Apc_Tensor:$output);
}

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

// Random numbers. Each is drawn by the place of its element in the whole tensor and by a seed, `seed` or one for each name of an op: any cut
// of it draws the same. `draw` is the number of the draw, for which ONNX has no input: each number draws others. On a piece `offsets` say where
// the dims of the result begin, `whole` is the shape of the whole, and `stream` the seed.
class Apc_Random<string mnemonic, string onnx, dag operands, dag attributes> : Apc_Creation<mnemonic, [onnx]> {
  let arguments = !con(operands, (ins Apc_Optional:$draw), attributes,
                       (ins OptionalAttr<F32Attr>:$seed, Apc_Offsets:$offsets, OptionalAttr<I64Attr>:$stream,
                            OptionalAttr<DenseI64ArrayAttr>:$whole));
  let results = (outs Apc_Tensor:$output);
  let localizes = 1;
}

// Of the shape that an attribute gives.
class Apc_RandomOfShape<string mnemonic, string onnx, dag attributes> : Apc_Random<mnemonic, onnx, (ins),
      !con((ins DenseI64ArrayAttr:$shape, DefaultValuedAttr<I64Attr, "1">:$dtype), attributes)> {
  let types = "i64";
}

// Of the shape of the first operand.
class Apc_RandomLike<string mnemonic, string onnx, dag attributes> : Apc_Random<mnemonic, onnx, (ins Apc_Tensor:$input),
      !con((ins OptionalAttr<I64Attr>:$dtype), attributes)> {
  let types = "any, i64";
  let rule = "..., _ -> ...";
  let flops = "8";
}

defvar normalAttributes = (ins DefaultValuedAttr<F32Attr, "0.0">:$mean, DefaultValuedAttr<F32Attr, "1.0">:$scale);
defvar uniformAttributes = (ins DefaultValuedAttr<F32Attr, "1.0">:$high, DefaultValuedAttr<F32Attr, "0.0">:$low);

def Apc_RandomNormalOp : Apc_RandomOfShape<"random_normal", "RandomNormal", normalAttributes>;
def Apc_RandomUniformOp : Apc_RandomOfShape<"random_uniform", "RandomUniform", uniformAttributes>;
def Apc_RandomNormalLikeOp : Apc_RandomLike<"random_normal_like", "RandomNormalLike", normalAttributes> {
  let element = "::apc::randomElement(op, true)";
}
def Apc_RandomUniformLikeOp : Apc_RandomLike<"random_uniform_like", "RandomUniformLike", uniformAttributes> {
  let element = "::apc::randomElement(op, true)";
}
def Apc_BernoulliOp : Apc_RandomLike<"bernoulli", "Bernoulli", (ins)> {
  let summary = "1 with the probability that the operand gives, else 0";
  let types = "float, i64";
  let element = "::apc::randomElement(op, false)";
}
def Apc_MultinomialOp : Apc_Random<"multinomial", "Multinomial", (ins Apc_Tensor:$input),
      (ins DefaultValuedAttr<I64Attr, "6">:$dtype, DefaultValuedAttr<I64Attr, "1">:$sample_size)> {
  let summary = "Classes drawn by their unnormalised log probabilities: [rows, classes] -> [rows, sample_size]";
  let types = "float, i64";
}

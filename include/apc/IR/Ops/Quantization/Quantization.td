// Quantisation: between floats and small integers or small floats with scales, and arithmetic on quantised tensors.
include "apc/IR/Base.td"

class Apc_Quantized<string mnemonic, list<string> onnx, string function> : Apc_Op<mnemonic, onnx> {
  let evaluation = "::apc::evaluate" # function # "(op, operands)";
  let local = "::apc::localizeBlocks(local);";
  let tables = "1";
  let inferBody = "{ return ::apc::infer" # function # "(getOperation(), types); }";
  let ruleBody = "{ return ::apc::ruleScaled(getOperation()); }";
}

def Apc_QuantizeLinearOp
    : Apc_Quantized<"quantize_linear", ["QuantizeLinear", "com.microsoft.QuantizeLinear"], "QuantizeLinear"> {
  let summary = "round(x / scale) + zero point, with one scale, one for each index of a dim, or one for each block of it";
  let arguments = (ins Apc_Tensor:$x, Apc_Tensor:$y_scale, Apc_Optional:$y_zero_point,
                       DefaultValuedAttr<I64Attr, "1">:$axis, DefaultValuedAttr<I64Attr, "0">:$block_size,
                       DefaultValuedAttr<I64Attr, "0">:$output_dtype, DefaultValuedAttr<I64Attr, "0">:$precision,
                       DefaultValuedAttr<I64Attr, "1">:$saturate);
  let types = "float|i32, float|float8, integer|int4|float8";
  let results = (outs Apc_Tensor:$y);
  let gradient = "::apc::differentiateQuantized(g);";
}

def Apc_DequantizeLinearOp
    : Apc_Quantized<"dequantize_linear", ["DequantizeLinear", "com.microsoft.DequantizeLinear"], "DequantizeLinear"> {
  let summary = "(x - zero point) * scale, with one scale, one for each index of a dim, or one for each block of it";
  let arguments = (ins Apc_Tensor:$x, Apc_Tensor:$x_scale, Apc_Optional:$x_zero_point,
                       DefaultValuedAttr<I64Attr, "1">:$axis, DefaultValuedAttr<I64Attr, "0">:$block_size,
                       DefaultValuedAttr<I64Attr, "0">:$output_dtype);
  let types = "T: integer|int4|float8, float|float8, T";
  let results = (outs Apc_Tensor:$y);
  let gradient = "::apc::differentiateDequantized(g);";
}

// Gradients of the two are those of x / scale and (code - zero point) * scale, so that a pair of them hands on what arrives: straight through.
// Scales and zero points have none. Between the two, the gradient of the codes is of floats.
class Apc_QuantizedGrad<string mnemonic, string function> : Apc_Quantized<mnemonic, [], function> {
  let tables = "";
  let inferBody = "{ return ::apc::inferScaledGradient(getOperation(), types); }";
  let results = (outs Apc_Tensor:$dX);
}
def Apc_QuantizeLinearGradOp : Apc_QuantizedGrad<"quantize_linear_grad", "QuantizeLinearGrad"> {
  let summary = "dY / scale where round(x / scale) + zero point lies from least to most, the range of the codes; 0 where they saturate";
  let arguments = (ins Apc_Tensor:$x, Apc_Tensor:$y_scale, Apc_Optional:$y_zero_point, Apc_Tensor:$dY,
                       DefaultValuedAttr<I64Attr, "1">:$axis, DefaultValuedAttr<I64Attr, "0">:$block_size,
                       DefaultValuedAttr<I64Attr, "0">:$precision, F64Attr:$least, F64Attr:$most);
  let types = "float, float|float8, integer|int4|float8, float";
}
def Apc_DequantizeLinearGradOp : Apc_QuantizedGrad<"dequantize_linear_grad", "DequantizeLinearGrad"> {
  let summary = "dY * scale; the zero point is absent";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$x_scale, Apc_Optional:$zero_point,
                       DefaultValuedAttr<I64Attr, "1">:$axis, DefaultValuedAttr<I64Attr, "0">:$block_size);
  let types = "float, float|float8, any";
}

def Apc_DynamicQuantizeLinearOp : Apc_Op<"dynamic_quantize_linear", ["DynamicQuantizeLinear"]> {
  let summary = "Quantises to 8 bits by the least and greatest of all elements, so every device needs them all";
  let arguments = (ins Apc_Tensor:$x);
  let types = "float";
  let results = (outs Apc_Tensor:$y, Apc_Tensor:$y_scale, Apc_Tensor:$y_zero_point);
  let evaluates = 1;
  let gradient = noGradient;
}

// Elementwise on quantised operands; scales and zero points are scalars and whole.
class Apc_QLinearUnary<string mnemonic, list<string> onnx, string function> : Apc_Op<mnemonic, onnx> {
  let evaluation = "::apc::evaluateQuantized(op, operands, " # function # ")";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$X_scale, Apc_Optional:$X_zero_point, Apc_Tensor:$Y_scale,
                       Apc_Optional:$Y_zero_point);
  let types = "T: byte, f32, T, f32, T";
  let results = (outs Apc_Tensor:$Y);
  let rule = "..., _, _, _, _ -> ...";
  let flops = "4";
  let tables = "1, 3";
}
class Apc_QLinearBinary<string mnemonic, list<string> onnx, string expression> : Apc_Op<mnemonic, onnx> {
  let evaluation = "::apc::evaluateQuantized(op, operands, [](double a, double b) { return " # expression # "; })";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$A_scale, Apc_Optional:$A_zero_point, Apc_Tensor:$B, Apc_Tensor:$B_scale,
                       Apc_Optional:$B_zero_point, Apc_Tensor:$C_scale, Apc_Optional:$C_zero_point);
  let types = "T: byte, f32, T, T, f32, T, f32, T";
  let results = (outs Apc_Tensor:$C);
  let rule = "..., _, _, ..., _, _, _, _ -> ...";
  let flops = "6";
  let tables = "1, 4, 6";
}

def Apc_QLinearAddOp : Apc_QLinearBinary<"qlinear_add", ["com.microsoft.QLinearAdd"], "a + b">;
def Apc_QLinearMulOp : Apc_QLinearBinary<"qlinear_mul", ["com.microsoft.QLinearMul"], "a * b">;
def Apc_QLinearSigmoidOp : Apc_QLinearUnary<"qlinear_sigmoid", ["com.microsoft.QLinearSigmoid"], "::apc::sigmoid">;
def Apc_QLinearLeakyReluOp
    : Apc_QLinearUnary<"qlinear_leaky_relu", ["com.microsoft.QLinearLeakyRelu"],
                       "[a = getAlpha().convertToDouble()](double x) { return x < 0 ? a * x : x; }"> {
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$X_scale, Apc_Optional:$X_zero_point, Apc_Tensor:$Y_scale,
                       Apc_Optional:$Y_zero_point, DefaultValuedAttr<F32Attr, "0.01f">:$alpha);
}
def Apc_QLinearWhereOp : Apc_Op<"qlinear_where", ["com.microsoft.QLinearWhere"]> {
  let arguments = (ins Apc_Tensor:$condition, Apc_Tensor:$X, Apc_Tensor:$x_scale, Apc_Tensor:$x_zero_point, Apc_Tensor:$Y,
                       Apc_Tensor:$y_scale, Apc_Tensor:$y_zero_point, Apc_Tensor:$z_scale, Apc_Tensor:$z_zero_point);
  let types = "bool, T: byte, f32, T, T, f32, T, f32, T";
  let results = (outs Apc_Tensor:$Z);
  let rule = "..., ..., _, _, ..., _, _, _, _ -> ...";
  let element = "::apc::operandElement(op, 1)";
  let flops = "4";
  let tables = "2, 5, 7";
  let evaluates = 1;
}
def Apc_QLinearGlobalAveragePoolOp
    : Apc_Op<"qlinear_global_average_pool", ["com.microsoft.QLinearGlobalAveragePool"]> {
  let summary = "The mean over all spatial dims, rounded, so they are whole";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$x_scale, Apc_Tensor:$x_zero_point, Apc_Tensor:$y_scale,
                       Apc_Tensor:$y_zero_point, DefaultValuedAttr<I64Attr, "0">:$channels_last);
  let types = "T: byte, f32, T, f32, T";
  let results = (outs Apc_Tensor:$Y);
  let tables = "1, 3";
  let evaluates = 1;
  let inferBody = "{ return ::apc::inferQLinearGlobalAveragePool(getOperation(), types); }";
  let ruleBody = "{ return ::apc::ruleQLinearGlobalAveragePool(getOperation()); }";
}
def Apc_QLinearAveragePoolOp : Apc_Op<"qlinear_average_pool", ["com.microsoft.QLinearAveragePool"]> {
  let summary = "The mean of each window, rounded, so spatial dims are whole";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$x_scale, Apc_Optional:$x_zero_point, Apc_Tensor:$y_scale, Apc_Optional:$y_zero_point,
                       DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad, DefaultValuedAttr<I64Attr, "0">:$ceil_mode,
                       DefaultValuedAttr<I64Attr, "0">:$channels_last, DefaultValuedAttr<I64Attr, "0">:$count_include_pad,
                       DenseI64ArrayAttr:$kernel_shape, OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let types = "T: byte, f32, T, f32, T";
  let results = (outs Apc_Tensor:$Y);
  let tables = "1, 3";
  let evaluates = 1;
}
def Apc_QLinearSoftmaxOp : Apc_Op<"qlinear_softmax", ["com.microsoft.QLinearSoftmax"]> {
  let summary = "Softmax of quantised rows; before opset 13 a row is all from axis on";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$X_scale, Apc_Optional:$x_zero_point, Apc_Tensor:$y_scale, Apc_Tensor:$y_zero_point,
                       DefaultValuedAttr<I64Attr, "-1">:$axis, I64Attr:$opset);
  let types = "T: byte, f32, T, f32, T";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::qlinearSoftmaxRule(op, getAxis(), getOpset())";
  let flops = "8";
  let tables = "1, 3";
  let evaluates = 1;
}
// Data, scale and zero point of each part stand one behind the other.
def Apc_QLinearConcatOp : Apc_Op<"qlinear_concat", ["com.microsoft.QLinearConcat"]> {
  let summary = "Quantised tensors one behind the other along axis, each brought to the result's scale and zero point";
  let arguments = (ins Apc_Tensor:$Y_scale, Apc_Tensor:$Y_zero_point, Variadic<Apc_Tensor>:$inputs, I64Attr:$axis);
  let types = "f32, byte, byte|f32";
  let results = (outs Apc_Tensor:$Y);
  let element = "";
  let variadic = 1;
  let evaluates = 1;
}
def Apc_QGemmOp : Apc_Op<"qgemm", ["com.microsoft.QGemm"]> {
  let summary = "alpha A B + C over quantised matrices, C in units of the product's scale; floats where there is no scale of the result";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$a_scale, Apc_Tensor:$a_zero_point, Apc_Tensor:$B, Apc_Tensor:$b_scale, Apc_Tensor:$b_zero_point,
                       Apc_Optional:$C, Apc_Optional:$y_scale, Apc_Optional:$y_zero_point, DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
                       DefaultValuedAttr<I64Attr, "0">:$transA, DefaultValuedAttr<I64Attr, "0">:$transB);
  let types = "TA: byte, f32, TA, TB: byte, f32, TB, i32, f32, byte";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::qgemmRule(op, getTransA(), getTransB())";
  let element = "::apc::isAbsent(getYScale()) ? ::apc::operandElement(op, 1) : ::apc::isAbsent(getYZeroPoint()) ? ::apc::operandElement(op, 0) : ::apc::operandElement(op, 8)";
  let work = "Contraction";
  let flops = "2";
  let tables = "1, 4, 7";
  let evaluates = 1;
}

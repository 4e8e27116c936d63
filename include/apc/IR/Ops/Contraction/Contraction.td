// Contractions: the ops that keep the matrix units busy. FLOPs: 2 for each point of the loop nest (multiply and add).
include "apc/IR/Base.td"

class Apc_Contraction<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let work = "Contraction";
  let flops = "2";
}

def Apc_MatMulOp : Apc_Contraction<"matmul", ["MatMul"]> {
  let summary = "Matrix product with NumPy broadcasting of the leading dims";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B);
  let types = "T: wide, T";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::matMulRule(op)";
  let evaluation = "::apc::evaluateProduct(op, operands)";
  let gradient = "return ::apc::differentiateProduct(g);";
}

def Apc_GemmOp : Apc_Contraction<"gemm", ["Gemm"]> {
  let summary = "alpha A B + beta C, with A and B transposed as asked";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, Apc_Optional:$C, DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
                       DefaultValuedAttr<F32Attr, "1.0f">:$beta, DefaultValuedAttr<I64Attr, "0">:$transA,
                       DefaultValuedAttr<I64Attr, "0">:$transB, DefaultValuedAttr<I64Attr, "0">:$broadcast);
  let types = "T: wide, T, T";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::gemmRule(op, getTransA(), getTransB(), /*wholeK=*/false)";
  let addends = "2";
  let evaluation = "::apc::evaluateGemm(op, operands, getAlpha().convertToDouble(), getBeta().convertToDouble())";
  let gradient = "return ::apc::differentiateGemm(g, g.incoming(), getAlpha().convertToDouble(), getBeta().convertToDouble());";
}

def Apc_FusedGemmOp : Apc_Contraction<"fused_gemm", ["com.microsoft.FusedGemm"]> {
  let summary = "Gemm followed by an activation";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, Apc_Optional:$C, DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
                       DefaultValuedAttr<F32Attr, "1.0f">:$beta, DefaultValuedAttr<I64Attr, "0">:$transA,
                       DefaultValuedAttr<I64Attr, "0">:$transB, DefaultValuedAttr<StrAttr, "\"\"">:$activation,
                       OptionalAttr<F32Attr>:$activation_alpha, OptionalAttr<F32Attr>:$activation_beta,
                       OptionalAttr<F32Attr>:$activation_gamma);
  let types = "T: float, T, T";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::gemmRule(op, getTransA(), getTransB(), /*wholeK=*/!getActivation().empty())";
  let addends = "2";
  let evaluates = 1;
  let differentiates = 1;
}

def Apc_FusedMatMulOp : Apc_Contraction<"fused_matmul", ["com.microsoft.FusedMatMul", "com.microsoft.TransposeMatMul"]> {
  let summary = "alpha A B, with A and B transposed as asked; transBatch: dim 0 stands before the last dim once transposed";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, DefaultValuedAttr<F32Attr, "1.0f">:$alpha,
                       DefaultValuedAttr<I64Attr, "0">:$transA, DefaultValuedAttr<I64Attr, "0">:$transB,
                       DefaultValuedAttr<I64Attr, "0">:$transBatchA, DefaultValuedAttr<I64Attr, "0">:$transBatchB);
  let types = "T: float, T";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::fusedMatMulRule(op, {getTransA() != 0, getTransBatchA() != 0}, {getTransB() != 0, getTransBatchB() != 0})";
  let evaluation = "::apc::evaluateProduct(op, operands, getAlpha().convertToDouble())";
  let gradient = "return ::apc::differentiateProduct(g, getAlpha().convertToDouble());";
}

def Apc_EinsumOp : Apc_Contraction<"einsum", ["Einsum"]> {
  let summary = "Sums of products as the equation says";
  let arguments = (ins Variadic<Apc_Tensor>:$Inputs, StrAttr:$equation);
  let types = "T: number";
  let results = (outs Apc_Tensor:$Output);
  let variadic = 1;
  let evaluation = "::apc::evaluateProduct(op, operands)";
  let gradient = "return ::apc::differentiateProduct(g);";
}

// Padding along k is 0, not the zero points, so that both subtracted it would count: on a piece that may have padding, `offsets` is where
// the piece begins in the `k_size` elements of the whole.
def Apc_MatMulIntegerOp : Apc_Contraction<"matmul_integer", ["MatMulInteger"]> {
  let summary = "Matrix product of 8-bit integers into 32 bits";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, Apc_Optional:$a_zero_point, Apc_Optional:$b_zero_point,
                       Apc_Offsets:$offsets, OptionalAttr<I64Attr>:$k_size);
  let types = "T1: byte, T2: byte, T1, T2";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::matMulIntegerRule(op)";
  let element = "::mlir::IntegerType::get(op->getContext(), 32)";
  let evaluation = "::apc::evaluateIntegerProduct(op, operands)";
  let local = "::apc::localizeIntegerProduct(local);";
}

def Apc_MatMulIntegerToFloatOp : Apc_Contraction<"matmul_integer_to_float", ["com.microsoft.MatMulIntegerToFloat"]> {
  let summary = "Matrix product of 8-bit integers, scaled to floats";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, Apc_Tensor:$a_scale, Apc_Tensor:$b_scale, Apc_Optional:$a_zero_point,
                       Apc_Optional:$b_zero_point, Apc_Optional:$bias, Apc_Offsets:$offsets,
                       OptionalAttr<I64Attr>:$k_size);
  let types = "T1: byte, T2: byte, T3: float, T3, T1, T2, T3";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::matMulIntegerToFloatRule(op)";
  let element = "::apc::operandElement(op, 2)";
  let addends = "6";
  let evaluation = "::apc::evaluateScaledIntegerProduct(op, operands)";
  let local = "::apc::localizeIntegerProduct(local);";
}

def Apc_DynamicQuantizeMatMulOp : Apc_Contraction<"dynamic_quantize_matmul", ["com.microsoft.DynamicQuantizeMatMul"]> {
  let summary = "Matrix product of floats, quantised over the whole of A on the way, and 8-bit integers";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, Apc_Tensor:$b_scale, Apc_Optional:$b_zero_point, Apc_Optional:$bias);
  let types = "T: float, T2: byte, T, T2, T";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::dynamicQuantizeMatMulRule(op)";
  let evaluates = 1;
}

def Apc_QLinearMatMulOp : Apc_Contraction<"qlinear_matmul", ["QLinearMatMul"]> {
  let summary = "Matrix product of 8-bit integers, requantised";
  let arguments = (ins Apc_Tensor:$a, Apc_Tensor:$a_scale, Apc_Tensor:$a_zero_point, Apc_Tensor:$b, Apc_Tensor:$b_scale,
                       Apc_Tensor:$b_zero_point, Apc_Tensor:$y_scale, Apc_Tensor:$y_zero_point);
  let types = "T1: byte|float8, float, T1, T2: byte|float8, float, T2, float, byte|float8";
  let results = (outs Apc_Tensor:$y);
  let ruleExpression = "::apc::qlinearMatMulRule(op)";
  let element = "::apc::operandElement(op, 7)";
  let evaluates = 1;
}

def Apc_MatMulNBitsOp : Apc_Contraction<"matmul_nbits", ["com.microsoft.MatMulNBits"]> {
  let summary = "A times the transpose of B [N, blocks of K, bytes], whose blocks have a scale (and zero point) each";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, Apc_Tensor:$scales, Apc_Optional:$zero_points, Apc_Optional:$g_idx,
                       Apc_Optional:$bias, I64Attr:$K, I64Attr:$N, DefaultValuedAttr<I64Attr, "4">:$bits,
                       I64Attr:$block_size, DefaultValuedAttr<I64Attr, "0">:$accuracy_level,
                       DefaultValuedAttr<I64Attr, "0">:$weight_prepacked);
  let types = "T: float, ui8|i32, T, ui8|i32|float, i32, T";
  let results = (outs Apc_Tensor:$Y);
  let addends = "5";
  let tables = "2, 3";
  let evaluates = 1;
  let differentiates = 1;
  let local = "local.setInt(\"N\", local.resultDims(0).back()); local.setInt(\"K\", local.operandDims(0).back());";
}

// Packed weights as the reals that they stand for: gradients of products with them are products with these. A row of scales has one for each
// block of columns (block_size 0: one for all); zero points are like the scales, or packed like the weights.
def Apc_UnpackWeightsOp : Apc_Op<"unpack_weights", []> {
  let summary = "(value - zero point) scale [..., rows, columns] of weights [..., rows, bytes], lowest bits first, by block or as g_idx says";
  let arguments = (ins Apc_Tensor:$packed, Apc_Tensor:$scales, Apc_Optional:$zero_points, Apc_Optional:$g_idx, I64Attr:$bits,
                       I64Attr:$block_size, I64Attr:$columns);
  let types = "byte|i32, T: float, byte|i32|float, i32";
  let results = (outs Apc_Tensor:$Y);
  let tables = "1, 2";
  let evaluates = 1;
  let local = "local.setInt(\"columns\", local.resultDims(0).back());";
}

// B is one run of nibbles, the high one first; blocks of it may begin inside a row. So every device holds all of it.
def Apc_MatMulBnb4Op : Apc_Contraction<"matmul_bnb4", ["com.microsoft.MatMulBnb4"]> {
  let summary = "A times the transpose of [N, K] in 4 bits: places in a table (quant_type 0: floats, 1: quantiles) times a scale for each block; with transB 0 times the matrix itself, as the gradient of A is made";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, Apc_Tensor:$absmax, I64Attr:$K, I64Attr:$N, I64Attr:$block_size,
                       Apc_OneOfInts<[0, 1]>:$quant_type, DefaultValuedAttr<I64Attr, "0">:$training_mode,
                       DefaultValuedAttr<I64Attr, "1">:$transB);
  let types = "T: float, ui8, T";
  let results = (outs Apc_Tensor:$Y);
  let tables = "2";
  let evaluates = 1;
  let differentiates = 1;
}

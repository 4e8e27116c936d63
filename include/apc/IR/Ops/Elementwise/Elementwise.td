// Elementwise operators: one point of the result from one point of each operand, with NumPy broadcasting.
//
// FLOPs for each point: 1 for arithmetic, comparison and logic; 4 for exponentials, logarithms, trigonometry, roots of sums and the
// activations made of one of them; 8 for GELU and the like; 0 for casts.
include "apc/IR/Base.td"

class Apc_Unary<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let arguments = (ins Apc_Tensor:$X);
  let results = (outs Apc_Tensor:$Y);
  let rule = "... -> ...";
}

// A real function: `function` is a C++ function of one double.
class Apc_RealFunction<string mnemonic, string onnx, string function, string cost = "4"> : Apc_Unary<mnemonic, [onnx]> {
  let types = "float";
  let flops = cost;
  let differentiates = 1;
  let evaluation = "::apc::evaluateReal(op, operands, " # function # ")";
}

// Rounding to integers.
class Apc_Rounding<string mnemonic, string onnx, string function> : Apc_RealFunction<mnemonic, onnx, function, "1"> {
  let differentiates = 0;
  let gradient = zeroGradient;
}

// An activation with coefficients: `formula` over x, with the coefficients that `captures` reads from attributes once.
class Apc_Activation<string mnemonic, list<string> onnx, dag attributes, string captures, string formula, string cost = "4">
    : Apc_Unary<mnemonic, onnx> {
  let arguments = !con((ins Apc_Tensor:$X), attributes);
  let types = "float";
  let flops = cost;
  let differentiates = 1;
  let evaluation = "::apc::evaluateFormula(op, operands, [" # captures # "](double x) { return " # formula # "; })";
}

// `axis` and `broadcast` belong to opsets before 7, where B's dims stand at A's from `axis` on.
class Apc_Binary<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, OptionalAttr<I64Attr>:$axis, DefaultValuedAttr<I64Attr, "0">:$broadcast);
  let types = "T: number, T";
  let results = (outs Apc_Tensor:$C);
  let ruleExpression = "::apc::binaryRule(op)";
}

class Apc_Arithmetic<string mnemonic, string onnx, string onIntegers, string onReals> : Apc_Binary<mnemonic, [onnx]> {
  let differentiates = 1;
  let evaluation = "::apc::evaluateFold(op, ::apc::AlignedOperands(op, operands), " # onIntegers # ", [](double a, double b) { return " # onReals # "; })";
}

class Apc_Comparison<string mnemonic, string onnx, string operator> : Apc_Binary<mnemonic, [onnx]> {
  let element = "::apc::boolElement(op)";
  let gradient = noGradient;
  let evaluation = "::apc::evaluateComparison(op, ::apc::AlignedOperands(op, operands), [](int64_t a, int64_t b) { return a " # operator #
                   " b; }, [](double a, double b) { return a " # operator # " b; })";
}

class Apc_IntegerBinary<string mnemonic, string onnx, string expression> : Apc_Binary<mnemonic, [onnx]> {
  let types = "T: integer, T";
  let gradient = noGradient;
  let evaluation = "::apc::evaluateFold(op, ::apc::AlignedOperands(op, operands), [](int64_t a, int64_t b) { return std::optional<int64_t>(" # expression #
                   "); }, [](double a, double) { return a; })";
}

class Apc_Logical<string mnemonic, string onnx, string expression> : Apc_IntegerBinary<mnemonic, onnx, expression> {
  let types = "bool, bool";
  let element = "::apc::boolElement(op)";
}

// Any number of operands, combined from the left.
class Apc_Variadic<string mnemonic, string onnx, string onIntegers, string onReals> : Apc_Op<mnemonic, [onnx]> {
  let arguments = (ins Variadic<Apc_Tensor>:$data_0);
  let types = "T: number";
  let results = (outs Apc_Tensor:$result);
  let rule = "... -> ...";
  let flops = "static_cast<double>(op->getNumOperands())";
  let variadic = 1;
  let differentiates = 1;
  let evaluation = "::apc::evaluateFold(op, operands, " # onIntegers # ", [](double a, double b) { return " # onReals # "; })";
}

// Arithmetic of one operand.
def Apc_AbsOp : Apc_Unary<"abs", ["Abs"]> {
  let types = "number";
  let differentiates = 1;
  let evaluation = "::apc::evaluateUnary(op, operands, [](int64_t x) { return x < 0 ? *::apc::wrappingSubtract(0, x) : x; }, std::fabs)";
}
def Apc_NegOp : Apc_Unary<"neg", ["Neg"]> {
  let types = "float|signed";
  let linear = "{{0}}";
  let gradient = "g.give(0, g.neg(g.incoming()));";
  let evaluation = "::apc::evaluateUnary(op, operands, [](int64_t x) { return *::apc::wrappingSubtract(0, x); }, [](double x) { return -x; })";
}
def Apc_SignOp : Apc_Unary<"sign", ["Sign"]> {
  let types = "number";
  let gradient = zeroGradient;
  let evaluation = "::apc::evaluateUnary(op, operands, [](int64_t x) -> int64_t { return (x > 0) - (x < 0); }, "
                   "[](double x) -> double { return std::isnan(x) ? x : (x > 0) - (x < 0); })";
}
def Apc_CeilOp : Apc_Rounding<"ceil", "Ceil", "std::ceil">;
def Apc_FloorOp : Apc_Rounding<"floor", "Floor", "std::floor">;
def Apc_RoundOp : Apc_Rounding<"round", "Round", "::apc::roundTiesToEven">;
def Apc_ReciprocalOp : Apc_RealFunction<"reciprocal", "Reciprocal", "[](double x) { return 1 / x; }", "1">;
def Apc_SqrtOp : Apc_RealFunction<"sqrt", "Sqrt", "std::sqrt", "1">;
def Apc_ExpOp : Apc_RealFunction<"exp", "Exp", "std::exp">;
def Apc_LogOp : Apc_RealFunction<"log", "Log", "std::log">;
def Apc_ErfOp : Apc_RealFunction<"erf", "Erf", "std::erf"> { let types = "number"; }
def Apc_SinOp : Apc_RealFunction<"sin", "Sin", "std::sin">;
def Apc_CosOp : Apc_RealFunction<"cos", "Cos", "std::cos">;
def Apc_TanOp : Apc_RealFunction<"tan", "Tan", "std::tan">;
def Apc_AsinOp : Apc_RealFunction<"asin", "Asin", "std::asin">;
def Apc_AcosOp : Apc_RealFunction<"acos", "Acos", "std::acos">;
def Apc_AtanOp : Apc_RealFunction<"atan", "Atan", "std::atan">;
def Apc_SinhOp : Apc_RealFunction<"sinh", "Sinh", "std::sinh">;
def Apc_CoshOp : Apc_RealFunction<"cosh", "Cosh", "std::cosh">;
def Apc_TanhOp : Apc_RealFunction<"tanh", "Tanh", "std::tanh">;
def Apc_AsinhOp : Apc_RealFunction<"asinh", "Asinh", "std::asinh">;
def Apc_AcoshOp : Apc_RealFunction<"acosh", "Acosh", "std::acosh">;
def Apc_AtanhOp : Apc_RealFunction<"atanh", "Atanh", "std::atanh">;
def Apc_SigmoidOp : Apc_RealFunction<"sigmoid", "Sigmoid", "::apc::sigmoid">;
def Apc_SoftplusOp : Apc_RealFunction<"softplus", "Softplus", "::apc::softplus", "8">;
def Apc_SoftsignOp : Apc_RealFunction<"softsign", "Softsign", "[](double x) { return x / (1 + std::fabs(x)); }", "2">;
def Apc_MishOp : Apc_RealFunction<"mish", "Mish", "[](double x) { return x * std::tanh(::apc::softplus(x)); }", "8">;
def Apc_HardSwishOp : Apc_RealFunction<"hard_swish", "HardSwish", "[](double x) { return x * std::fmax(0, std::fmin(1, x / 6 + 0.5)); }">;
def Apc_ProbitOp : Apc_Unary<"probit", []> {
  let summary = "How many deviations a normal variable is above its mean with probability X of being below: the post_transform PROBIT";
  let types = "float";
  let flops = "16";
  let differentiates = 1;
  let evaluation = "::apc::evaluateReal(op, operands, ::apc::probit)";
}
def Apc_ReluOp : Apc_Unary<"relu", ["Relu"]> {
  let types = "float|signed";
  let differentiates = 1;
  let evaluation = "::apc::evaluateUnary(op, operands, [](int64_t x) { return x < 0 ? 0 : x; }, [](double x) { return x < 0 ? 0 : x; })";
}

// Activations with coefficients.
def Apc_EluOp : Apc_Activation<"elu", ["Elu"], (ins DefaultValuedAttr<F32Attr, "1.0f">:$alpha), "a = ::apc::real(getAlpha())",
                               "x < 0 ? a * std::expm1(x) : x">;
def Apc_CeluOp : Apc_Activation<"celu", ["Celu"], (ins DefaultValuedAttr<F32Attr, "1.0f">:$alpha), "a = ::apc::real(getAlpha())",
                                "std::fmax(0, x) + std::fmin(0, a * std::expm1(x / a))">;
def Apc_SeluOp : Apc_Activation<"selu", ["Selu"], (ins DefaultValuedAttr<F32Attr, "1.67326319217681884765625f">:$alpha,
                                                   DefaultValuedAttr<F32Attr, "1.05070102214813232421875f">:$gamma),
                                "a = ::apc::real(getAlpha()), c = ::apc::real(getGamma())", "c * (x <= 0 ? a * std::expm1(x) : x)">;
def Apc_LeakyReluOp : Apc_Activation<"leaky_relu", ["LeakyRelu"], (ins DefaultValuedAttr<F32Attr, "0.01f">:$alpha),
                                     "a = ::apc::real(getAlpha())", "x < 0 ? a * x : x", "1">;
def Apc_BinarizerOp : Apc_Activation<"binarizer", ["ai.onnx.ml.Binarizer"], (ins DefaultValuedAttr<F32Attr, "0.0f">:$threshold),
                                     "t = ::apc::real(getThreshold())", "x > t ? 1.0 : 0.0", "1"> {
  let summary = "1 above threshold, 0 up to it";
  let types = "number";
  let differentiates = 0;
  let gradient = noGradient;
}
def Apc_ThresholdedReluOp : Apc_Activation<"thresholded_relu", ["ThresholdedRelu"], (ins DefaultValuedAttr<F32Attr, "1.0f">:$alpha),
                                           "a = ::apc::real(getAlpha())", "x > a ? x : 0", "1">;
def Apc_HardSigmoidOp : Apc_Activation<"hard_sigmoid", ["HardSigmoid"], (ins DefaultValuedAttr<F32Attr, "0.2f">:$alpha,
                                                                         DefaultValuedAttr<F32Attr, "0.5f">:$beta),
                                       "a = ::apc::real(getAlpha()), b = ::apc::real(getBeta())", "std::clamp(a * x + b, 0.0, 1.0)">;
def Apc_ShrinkOp : Apc_Activation<"shrink", ["Shrink"], (ins DefaultValuedAttr<F32Attr, "0.0f">:$bias,
                                                         DefaultValuedAttr<F32Attr, "0.5f">:$lambd),
                                  "bias = ::apc::real(getBias()), bound = ::apc::real(getLambd())",
                                  "x < -bound ? x + bias : x > bound ? x - bias : 0", "1"> { let types = "number"; }
def Apc_GeluOp : Apc_Activation<"gelu", ["Gelu", "com.microsoft.Gelu"], (ins DefaultValuedAttr<Apc_OneOf<["none", "tanh"]>, "\"none\"">:$approximate),
                                "tanh = getApproximate() == \"tanh\"", "tanh ? ::apc::geluByTanh(x) : ::apc::gelu(x)", "8">;
def Apc_SwishOp : Apc_Activation<"swish", ["Swish"], (ins DefaultValuedAttr<F32Attr, "1.0f">:$alpha), "a = ::apc::real(getAlpha())",
                                 "x * ::apc::sigmoid(a * x)">;
def Apc_QuickGeluOp : Apc_Activation<"quick_gelu", ["com.microsoft.QuickGelu"], (ins DefaultValuedAttr<F32Attr, "1.702f">:$alpha),
                                     "a = ::apc::real(getAlpha())", "x * ::apc::sigmoid(a * x)", "8">;
def Apc_FastGeluOp : Apc_Op<"fast_gelu", ["com.microsoft.FastGelu"]> {
  let summary = "GELU by tanh, of X plus a bias along the last dim";
  let arguments = (ins Apc_Tensor:$X, Apc_Optional:$bias);
  let types = "T: float, T";
  let results = (outs Apc_Tensor:$Y);
  let rule = "... k, k -> ... k";
  let flops = "8";
  let evaluation = "::apc::evaluateBiased(op, operands, ::apc::geluByTanh)";
  let differentiates = 1;
}
def Apc_BiasGeluOp : Apc_Op<"bias_gelu", ["com.microsoft.BiasGelu"]> {
  let summary = "GELU of A plus a bias along the last dim";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B);
  let types = "T: float, T";
  let results = (outs Apc_Tensor:$C);
  let rule = "... k, k -> ... k";
  let flops = "9";
  let evaluation = "::apc::evaluateBiased(op, operands, ::apc::gelu)";
  let differentiates = 1;
}

// Tests and logic of one operand.
class Apc_Test<string mnemonic, string onnx, dag attributes, string test> : Apc_Unary<mnemonic, [onnx]> {
  let arguments = !con((ins Apc_Tensor:$X), attributes);
  let types = "float|float8";
  let element = "::apc::boolElement(op)";
  let gradient = noGradient;
  let evaluation = "::apc::evaluateFormula(op, operands, [&](double x) -> double { return " # test # "; })";
}
def Apc_IsNaNOp : Apc_Test<"isnan", "IsNaN", (ins), "std::isnan(x)">;
def Apc_IsInfOp : Apc_Test<"isinf", "IsInf", (ins DefaultValuedAttr<I64Attr, "1">:$detect_negative,
                                              DefaultValuedAttr<I64Attr, "1">:$detect_positive),
                           "std::isinf(x) && (x < 0 ? getDetectNegative() : getDetectPositive())">;
def Apc_NotOp : Apc_Unary<"not", ["Not"]> {
  let types = "bool";
  let evaluation = "::apc::evaluateUnary(op, operands, [](int64_t x) -> int64_t { return x == 0; }, [](double x) { return x; })";
}
def Apc_BitwiseNotOp : Apc_Unary<"bitwise_not", ["BitwiseNot"]> {
  let types = "integer";
  let evaluation = "::apc::evaluateUnary(op, operands, [](int64_t x) { return ~x; }, [](double x) { return x; })";
}

// Arithmetic of two operands.
def Apc_AddOp : Apc_Arithmetic<"add", "Add", "::apc::wrappingAdd", "a + b"> { let linear = "{{0, 1}}"; }
def Apc_SubOp : Apc_Arithmetic<"sub", "Sub", "::apc::wrappingSubtract", "a - b"> { let linear = "{{0, 1}}"; }
def Apc_MulOp : Apc_Arithmetic<"mul", "Mul", "::apc::wrappingMultiply", "a * b"> { let linear = "{{0}, {1}}"; }
def Apc_DivOp : Apc_Arithmetic<"div", "Div", "::apc::truncatingDivide", "a / b"> { let linear = "::apc::linearOverFloats(op)"; }
def Apc_PowOp : Apc_Binary<"pow", ["Pow"]> {
  let types = "wide, number";
  let flops = "4";
  let differentiates = 1;
  let evaluation = "::apc::evaluateFold(op, ::apc::AlignedOperands(op, operands), ::apc::integerPower, [](double a, double b) { return std::pow(a, b); })";
}
def Apc_ModOp : Apc_Binary<"mod", ["Mod"]> {
  let types = "T: number, T";
  let summary = "The remainder: with the sign of B, or of A when fmod is 1";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B, DefaultValuedAttr<I64Attr, "0">:$fmod);
  let rule = "..., ... -> ...";
  let ruleExpression = "\"..., ... -> ...\"";
  let differentiates = 1;
  let evaluation = "::apc::evaluateFold(op, operands, getFmod() ? ::apc::truncatedModulo : ::apc::flooredModulo, "
                   "[](double a, double b) { return std::fmod(a, b); })";
}
def Apc_PReluOp : Apc_Op<"prelu", ["PRelu"]> {
  let summary = "X where positive, slope times X elsewhere; before opset 7 a slope of one dim stands at the channels";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$slope, DefaultValuedAttr<I64Attr, "23">:$opset_version);
  let types = "T: wide, T";
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::preluRule(op, getOpsetVersion())";
  let evaluates = 1;
  let differentiates = 1;
}
def Apc_InPlaceAccumulatorOp : Apc_Op<"in_place_accumulator", ["com.microsoft.InPlaceAccumulatorV2"]> {
  let summary = "The sum of a buffer and a value (or the value alone), with a flag that it is done";
  let arguments = (ins Apc_Tensor:$accumulation_buffer, Apc_Tensor:$new_data, Apc_Optional:$overwrite_flag);
  let types = "float, float, bool";
  let results = (outs Apc_Tensor:$updated_flag, Apc_Optional:$accumulation_buffer_out);
  let rule = "..., ..., _ -> 1, ...";
  let element = "{::apc::boolElement(op), ::apc::operandElement(op, 0)}";
  let evaluates = 1;
}

// Gradients of activations: what arrives times the slope, which follows from what the forward op keeps, its operand X or its result Y.
class Apc_SlopeBase<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X);
  let types = "T: float, T";
  let results = (outs Apc_Tensor:$dX);
  let rule = "..., ... -> ...";
  let linear = "{{0}}";
}

// `slope` over x, with the coefficients that `captures` reads from attributes once.
class Apc_Slope<string mnemonic, dag attributes, string captures, string slope, string cost = "8"> : Apc_SlopeBase<mnemonic, []> {
  let arguments = !con((ins Apc_Tensor:$dY, Apc_Tensor:$X), attributes);
  let flops = cost;
  let evaluation = "::apc::evaluateSlope(op, operands, [" # captures # "](double x) -> double { return " # slope # "; })";
}

def Apc_ReluGradOp : Apc_SlopeBase<"relu_grad", ["com.microsoft.ReluGrad"]> {
  let evaluation = "::apc::evaluateFold(op, operands, ::apc::wrappingMultiply, [](double dy, double x) { return x > 0 ? dy : 0; })";
}
def Apc_SigmoidGradOp : Apc_Slope<"sigmoid_grad", (ins), "", "x * (1 - x)", "3"> { let summary = "From the result of Sigmoid"; }
def Apc_TanhGradOp : Apc_Slope<"tanh_grad", (ins), "", "1 - x * x", "3"> { let summary = "From the result of Tanh"; }
def Apc_ErfGradOp : Apc_Slope<"erf_grad", (ins), "", "::apc::erfSlope(x)", "6">;
def Apc_GeluGradOp : Apc_Slope<"gelu_grad", (ins DefaultValuedAttr<Apc_OneOf<["none", "tanh"]>, "\"none\"">:$approximate),
                               "tanh = getApproximate() == \"tanh\"", "tanh ? ::apc::geluByTanhSlope(x) : ::apc::geluSlope(x)", "16">;
def Apc_SwishGradOp : Apc_Slope<"swish_grad", (ins DefaultValuedAttr<F32Attr, "1.0f">:$alpha), "a = ::apc::real(getAlpha())",
                                "::apc::swishSlope(x, a)">;
def Apc_MishGradOp : Apc_Slope<"mish_grad", (ins), "", "::apc::mishSlope(x)", "16">;
def Apc_EluGradOp : Apc_Slope<"elu_grad", (ins DefaultValuedAttr<F32Attr, "1.0f">:$alpha, DefaultValuedAttr<F32Attr, "1.0f">:$scale),
                              "a = ::apc::real(getAlpha()), c = ::apc::real(getScale())", "c * (x > 0 ? 1 : a * std::exp(x))", "6"> {
  let summary = "Of Elu; with a scale, of Selu";
}
def Apc_LeakyReluGradOp : Apc_Slope<"leaky_relu_grad", (ins DefaultValuedAttr<F32Attr, "0.01f">:$alpha), "a = ::apc::real(getAlpha())",
                                    "x > 0 ? 1 : a", "1">;
def Apc_HardSigmoidGradOp : Apc_Slope<"hard_sigmoid_grad", (ins DefaultValuedAttr<F32Attr, "0.2f">:$alpha, DefaultValuedAttr<F32Attr, "0.5f">:$beta),
                                      "a = ::apc::real(getAlpha()), b = ::apc::real(getBeta())",
                                      "a * x + b > 0 && a * x + b < 1 ? a : 0", "4">;
def Apc_HardSwishGradOp : Apc_Slope<"hard_swish_grad", (ins), "", "::apc::hardSwishSlope(x)", "4">;
def Apc_ClipGradOp : Apc_Op<"clip_grad", []> {
  let summary = "dY where X lies between the bounds of Clip, or on one of them, 0 elsewhere";
  let arguments = (ins Apc_Tensor:$dY, Apc_Tensor:$X, Apc_Optional:$min, Apc_Optional:$max);
  let types = "T: float, T, T, T";
  let results = (outs Apc_Tensor:$dX);
  let rule = "..., ..., _, _ -> ...";
  let linear = "{{0}}";
  let flops = "2";
  let evaluates = 1;
}

// Comparison.
def Apc_EqualOp : Apc_Comparison<"equal", "Equal", "=="> { let types = "T: number|bool, T"; }
def Apc_LessOp : Apc_Comparison<"less", "Less", "<">;
def Apc_LessOrEqualOp : Apc_Comparison<"less_or_equal", "LessOrEqual", "<=">;
def Apc_GreaterOp : Apc_Comparison<"greater", "Greater", ">">;
def Apc_GreaterOrEqualOp : Apc_Comparison<"greater_or_equal", "GreaterOrEqual", ">=">;

// Logic and bits.
def Apc_AndOp : Apc_Logical<"and", "And", "a & b">;
def Apc_OrOp : Apc_Logical<"or", "Or", "a | b">;
def Apc_XorOp : Apc_Logical<"xor", "Xor", "a ^ b">;
def Apc_BitwiseAndOp : Apc_IntegerBinary<"bitwise_and", "BitwiseAnd", "a & b">;
def Apc_BitwiseOrOp : Apc_IntegerBinary<"bitwise_or", "BitwiseOr", "a | b">;
def Apc_BitwiseXorOp : Apc_IntegerBinary<"bitwise_xor", "BitwiseXor", "a ^ b">;
def Apc_BitShiftOp : Apc_Op<"bit_shift", ["BitShift"]> {
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$Y, Apc_OneOf<["LEFT", "RIGHT"]>:$direction);
  let types = "T: integer, T";
  let results = (outs Apc_Tensor:$Z);
  let rule = "..., ... -> ...";
  let evaluates = 1;
}

// Any number of operands.
def Apc_SumOp : Apc_Variadic<"sum", "Sum", "::apc::wrappingAdd", "a + b"> {
  let types = "T: float";
  let linear = "::apc::allOperands(op)";
}
// A sum that goes on from one micro-batch to the next: below `micro_batch_end` it is that over all of them. A run adds its value of each
// micro-batch to those before. In 32 bits at least: sums of many small terms lose them in fewer.
def Apc_AccumulateOp : Apc_Op<"accumulate", [], [Apc_Accumulates]> {
  let summary = "The sum of its operands, and of them over all micro-batches of a step";
  let arguments = (ins Variadic<Apc_Tensor>:$data_0);
  let types = "T: float";
  let results = (outs Apc_Tensor:$sum);
  let rule = "... -> ...";
  let element = "::apc::accumulatedElement(op)";
  let linear = "::apc::allOperands(op)";
  let flops = "static_cast<double>(op->getNumOperands())";
  let variadic = 1;
  let evaluation = "::apc::evaluateFold(op, operands, ::apc::wrappingAdd, [](double a, double b) { return a + b; })";
}
def Apc_MaxOp : Apc_Variadic<"max", "Max", "[](int64_t a, int64_t b) { return std::optional(std::max(a, b)); }", "::apc::greatest(a, b)">;
def Apc_MinOp : Apc_Variadic<"min", "Min", "[](int64_t a, int64_t b) { return std::optional(std::min(a, b)); }", "::apc::least(a, b)">;
def Apc_MeanOp : Apc_Variadic<"mean", "Mean", "::apc::wrappingAdd", "a + b"> {
  let types = "T: float";
  let linear = "::apc::allOperands(op)";
  let evaluation = "";
  let evaluates = 1;
}

// Choice.
def Apc_WhereOp : Apc_Op<"where", ["Where"]> {
  let arguments = (ins Apc_Tensor:$condition, Apc_Tensor:$X, Apc_Tensor:$Y);
  let types = "bool, T: number|bool, T";
  let results = (outs Apc_Tensor:$output);
  let rule = "..., ..., ... -> ...";
  let element = "::apc::operandElement(op, 1)";
  let linear = "{{1, 2}}";
  let differentiates = 1;
  let evaluation = "::apc::evaluatePoints(op, operands, [](::llvm::ArrayRef<::apc::Number> n) { return std::optional(n[0].integer ? n[1] : n[2]); })";
}
def Apc_ClipOp : Apc_Op<"clip", ["Clip"]> {
  let arguments = (ins Apc_Tensor:$input, Apc_Optional:$min, Apc_Optional:$max);
  let types = "T: number, T, T";
  let results = (outs Apc_Tensor:$output);
  let ruleExpression = "::apc::clipRule(op)";
  let flops = "2";
  let evaluates = 1;
  let differentiates = 1;
}
// Which elements are zeroed follows from the seed (without one: from the op's name) and from the place of each in the whole tensor. On a
// piece `offsets` say where its dims begin, `whole` is the shape of the whole. `draw` is the number of the
// draw, for which ONNX has no input: each number draws others.
def Apc_DropoutOp : Apc_Op<"dropout", ["Dropout"]> {
  let summary = "The operand itself, or with random elements zeroed where training_mode is true";
  let arguments = (ins Apc_Tensor:$data, Apc_Optional:$ratio, Apc_Optional:$training_mode, Apc_Optional:$draw, OptionalAttr<I64Attr>:$seed,
                       OptionalAttr<I64Attr>:$is_test, DefaultValuedAttr<I64Attr, "23">:$opset_version, Apc_Offsets:$offsets,
                       OptionalAttr<DenseI64ArrayAttr>:$whole);
  let types = "float|float8, float, bool, i64";
  let results = (outs Apc_Tensor:$output, Apc_Optional:$mask);
  let evaluates = 1;
  let localizes = 1;
  let differentiates = 1;
}

def Apc_BiasAddOp : Apc_Op<"bias_add", ["com.microsoft.BiasAdd"]> {
  let summary = "X + bias + skip, with one number of the bias for each channel, the last dim";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$bias, Apc_Tensor:$skip);
  let types = "T: float, T, T";
  let results = (outs Apc_Tensor:$Y);
  let rule = "... k, k, ... k -> ... k";
  let flops = "2";
  let linear = "{{0, 1, 2}}";
  let gradient = "for (unsigned i : {0U, 1U, 2U}) if (g.wants(i)) g.give(i, g.sumTo(g.incoming(), g.operand(i)));";
  let evaluation = "::apc::evaluatePoints(op, operands, [](::llvm::ArrayRef<::apc::Number> x) { return std::optional(::apc::Number::of(x[0].asReal() + x[1].asReal() + x[2].asReal())); })";
}
def Apc_BiasSplitGeluOp : Apc_Op<"bias_split_gelu", ["com.microsoft.BiasSplitGelu"]> {
  let summary = "The first half of the last dim of X + bias, times the GELU of the second half";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$bias);
  let types = "T: float, T";
  let results = (outs Apc_Tensor:$Y);
  let evaluates = 1;
  let differentiates = 1;
}

// Casts. The last bits are rounded before a sum rather than after it when a partial float is cast.
def Apc_CastOp : Apc_Op<"cast", ["Cast"]> {
  let arguments = (ins Apc_Tensor:$input, I64Attr:$to, DefaultValuedAttr<I64Attr, "1">:$saturate,
                       DefaultValuedAttr<StrAttr, "\"up\"">:$round_mode);
  let types = "any";
  let results = (outs Apc_Tensor:$output);
  let rule = "... -> ...";
  let element = "";
  let flops = "0";
  let linear = "::apc::linearOverFloats(op)";
  let evaluation = "::apc::evaluateCast(op, operands.take_front(), getSaturate(), getRoundMode())";
  let differentiates = 1;
}
def Apc_CastLikeOp : Apc_Op<"cast_like", ["CastLike"]> {
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$target_type, DefaultValuedAttr<I64Attr, "1">:$saturate,
                       DefaultValuedAttr<StrAttr, "\"up\"">:$round_mode);
  let types = "any, any";
  let results = (outs Apc_Tensor:$output);
  let rule = "..., _ -> ...";
  let element = "::apc::operandElement(op, 1)";
  let flops = "0";
  let linear = "::apc::linearOverFloats(op)";
  let evaluation = "::apc::evaluateCast(op, operands.take_front(), getSaturate(), getRoundMode())";
  let differentiates = 1;
}
def Apc_BitCastOp : Apc_Op<"bit_cast", ["BitCast"]> {
  let summary = "The same bits read as another type of the same width";
  let arguments = (ins Apc_Tensor:$input, I64Attr:$to);
  let types = "any";
  let results = (outs Apc_Tensor:$output);
  let rule = "... -> ...";
  let element = "";
  let flops = "0";
  let evaluates = 1;
  let gradient = noGradient;
}

// Reductions and other walks along a dim: arg max, top k, running sums. FLOPs: 1 for each element, more where it is transformed first.
include "apc/IR/Base.td"

// `text` stands before a reduced dim's factor: "" (sum), a combiner ("max:"), or "!" where the sum is transformed afterwards.
class Apc_Reduction<string mnemonic, string onnx, string mark> : Apc_Op<mnemonic, [onnx]> {
  let arguments = (ins Apc_Tensor:$data, Apc_Optional:$axes, DefaultValuedAttr<I64Attr, "1">:$keepdims,
                       DefaultValuedAttr<I64Attr, "0">:$noop_with_empty_axes);
  let types = "number, i64";
  let results = (outs Apc_Tensor:$reduced);
  let differentiates = 1;
  let ruleExpression = "::apc::reductionRule(op, \"" # mark # "\", getKeepdims(), getNoopWithEmptyAxes())";
}

class Apc_Fold<string mnemonic, string onnx, string mark, string kind> : Apc_Reduction<mnemonic, onnx, mark> {
  let evaluation = "::apc::evaluateReduction(op, operands, ::apc::Reduce::" # kind # ")";
}

def Apc_ReduceSumOp : Apc_Fold<"reduce_sum", "ReduceSum", "", "Sum"> { let linear = "{{0}}"; }
// A device adds up its part and divides by the number of all elements reduced, so that partial means sum to the mean.
// Quotients of integers, which are rounded, do not add up.
def Apc_ReduceMeanOp : Apc_Reduction<"reduce_mean", "ReduceMean", ""> {
  let arguments = (ins Apc_Tensor:$data, Apc_Optional:$axes, DefaultValuedAttr<I64Attr, "1">:$keepdims,
                       DefaultValuedAttr<I64Attr, "0">:$noop_with_empty_axes, OptionalAttr<I64Attr>:$count);
  let ruleExpression = "::apc::reductionRule(op, ::apc::meanMark(op), getKeepdims(), getNoopWithEmptyAxes())";
  let linear = "::apc::linearMean(op)";
  let local = "::apc::localizeMean(local);";
  let evaluation = "::apc::evaluateReduction(op, operands, ::apc::Reduce::Mean, getCount())";
}
def Apc_ReduceProdOp : Apc_Fold<"reduce_prod", "ReduceProd", "product:", "Product">;
def Apc_ReduceMaxOp : Apc_Fold<"reduce_max", "ReduceMax", "max:", "Max"> { let types = "number|bool, i64"; }
def Apc_ReduceMinOp : Apc_Fold<"reduce_min", "ReduceMin", "min:", "Min"> { let types = "number|bool, i64"; }
def Apc_ReduceL1Op : Apc_Fold<"reduce_l1", "ReduceL1", "", "L1"> { let flops = "2"; }
def Apc_ReduceSumSquareOp : Apc_Fold<"reduce_sum_square", "ReduceSumSquare", "", "SumSquare"> { let flops = "2"; }
def Apc_ReduceL2Op : Apc_Fold<"reduce_l2", "ReduceL2", "!", "L2"> { let flops = "2"; }
def Apc_ReduceLogSumOp : Apc_Fold<"reduce_log_sum", "ReduceLogSum", "!", "LogSum">;
// Logarithms of sums over pieces combine; those that are rounded to integers do not.
def Apc_ReduceLogSumExpOp : Apc_Fold<"reduce_log_sum_exp", "ReduceLogSumExp", "", "LogSumExp"> {
  let ruleExpression = "::apc::reductionRule(op, ::apc::logSumExpMark(op), getKeepdims(), getNoopWithEmptyAxes())";
  let flops = "5";
}
// The divisor of a softmax, as a logarithm: devices that hold some of the classes each make that of theirs, and combine them by an
// all-reduce of the greatest and one of the sum.
def Apc_LogSumExpOp : Apc_Op<"log_sum_exp", []> {
  let summary = "The logarithm of the sum of exponentials over `axes`, in f32 or f64";
  let arguments = (ins Apc_Tensor:$data, Apc_Optional:$axes, DefaultValuedAttr<I64Attr, "1">:$keepdims,
                       DefaultValuedAttr<I64Attr, "0">:$noop_with_empty_axes);
  let types = "float, i64";
  let results = (outs Apc_Tensor:$reduced);
  let differentiates = 1;
  let ruleExpression = "::apc::reductionRule(op, \"log_sum_exp:\", getKeepdims(), getNoopWithEmptyAxes())";
  let element = "::apc::preciseElement(op)";
  let flops = "5";
  let evaluation = "::apc::evaluateReduction(op, operands, ::apc::Reduce::LogSumExp)";
}

class Apc_ArgReduction<string mnemonic, string onnx, string kind> : Apc_Op<mnemonic, [onnx]> {
  let arguments = (ins Apc_Tensor:$data, DefaultValuedAttr<I64Attr, "0">:$axis, DefaultValuedAttr<I64Attr, "1">:$keepdims,
                       DefaultValuedAttr<I64Attr, "0">:$select_last_index);
  let types = "number";
  let results = (outs Apc_Tensor:$reduced);
  let ruleExpression = "::apc::argReductionRule(op, getAxis(), getKeepdims())";
  let element = "::apc::indexElement(op)";
  let gradient = noGradient;
  let evaluation = "::apc::evaluateArgReduction(op, operands, ::apc::Reduce::" # kind # ", getAxis(), getSelectLastIndex())";
}
def Apc_ArgMaxOp : Apc_ArgReduction<"arg_max", "ArgMax", "Max">;
def Apc_ArgMinOp : Apc_ArgReduction<"arg_min", "ArgMin", "Min">;

def Apc_TopKOp : Apc_Op<"top_k", ["TopK"]> {
  let summary = "The K largest (or smallest) elements along axis, with their positions";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$K, DefaultValuedAttr<I64Attr, "-1">:$axis,
                       DefaultValuedAttr<I64Attr, "1">:$largest, DefaultValuedAttr<I64Attr, "1">:$sorted);
  let types = "number, i64";
  let results = (outs Apc_Tensor:$Values, Apc_Tensor:$Indices);
  let evaluates = 1;
  let differentiates = 1;
}

class Apc_RunningReduction<string mnemonic, string onnx, string kind> : Apc_Op<mnemonic, [onnx]> {
  let arguments = (ins Apc_Tensor:$x, Apc_Tensor:$axis, DefaultValuedAttr<I64Attr, "0">:$exclusive,
                       DefaultValuedAttr<I64Attr, "0">:$reverse);
  let types = "wide, index";
  let results = (outs Apc_Tensor:$y);
  let ruleExpression = "::apc::runningRule(op)";
  let evaluation = "::apc::evaluateRunning(op, operands, ::apc::Reduce::" # kind # ", getExclusive(), getReverse())";
}
def Apc_CumSumOp : Apc_RunningReduction<"cum_sum", "CumSum", "Sum"> {
  let linear = "{{0}}";
  let differentiates = 1;
}
def Apc_CumProdOp : Apc_RunningReduction<"cum_prod", "CumProd", "Product"> {
  let differentiates = 1;
}

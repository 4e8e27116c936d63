// Contractions: the ops that keep the matrix units busy.
include "apc/IR/Base.td"

class Apc_Contraction<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let work = "Contraction";
  let flops = "2";
}

def Apc_MatMulOp : Apc_Contraction<"matmul", ["MatMul"]> {
  let summary = "Matrix product with NumPy broadcasting of the leading dims";
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B);
  let results = (outs Apc_Tensor:$Y);
  let ruleExpression = "::apc::matMulRule(op)";
}

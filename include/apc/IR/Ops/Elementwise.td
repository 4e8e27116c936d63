// Elementwise operators: one point of the result from one point of each operand, with NumPy broadcasting.
include "apc/IR/Base.td"

class Apc_Unary<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let arguments = (ins Apc_Tensor:$X);
  let results = (outs Apc_Tensor:$Y);
  let rule = "... -> ...";
}

class Apc_Binary<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let arguments = (ins Apc_Tensor:$A, Apc_Tensor:$B);
  let results = (outs Apc_Tensor:$C);
  let rule = "..., ... -> ...";
}

class Apc_Comparison<string mnemonic, list<string> onnx> : Apc_Binary<mnemonic, onnx> {
  let element = "::apc::boolElement(op)";
}

def Apc_ReluOp : Apc_Unary<"relu", ["Relu"]>;
def Apc_AddOp : Apc_Binary<"add", ["Add"]> { let linear = "{{0, 1}}"; let evaluates = 1; }
def Apc_LessOp : Apc_Comparison<"less", ["Less"]> { let evaluates = 1; }

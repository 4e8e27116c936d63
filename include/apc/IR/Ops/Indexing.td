// Operators that pick or place elements by index.
include "apc/IR/Base.td"

// Shapes, rules and evaluation are written in C++ (lib/IR/Ops/Indexing*.cpp), since axes decide them.
class Apc_Indexing<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> { let evaluates = 1; }

def Apc_GatherOp : Apc_Indexing<"gather", ["Gather"]> {
  let summary = "Slices of data along axis, one for each index; an embedding when data is a table of floats";
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$indices, DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs Apc_Tensor:$output);
}

// Operators that make elements from nothing but shapes and scalars.
include "apc/IR/Base.td"

// Shapes, rules and evaluation are written in C++ (lib/IR/Ops/CreationRules.cpp).
class Apc_Creation<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> { let evaluates = 1; }

def Apc_LiteralOp : Apc_Creation<"literal", ["Constant"]> {
  let summary = "A constant in the forms that models write it; evaluates to `apc.constant`";
  let arguments = (ins OptionalAttr<ElementsAttr>:$value, OptionalAttr<I64Attr>:$value_int,
                       OptionalAttr<DenseI64ArrayAttr>:$value_ints, OptionalAttr<F32Attr>:$value_float,
                       OptionalAttr<DenseF32ArrayAttr>:$value_floats);
  let results = (outs Apc_Tensor:$output);
}

def Apc_ConstantOfShapeOp : Apc_Creation<"constant_of_shape", ["ConstantOfShape"]> {
  let arguments = (ins Apc_Tensor:$input, OptionalAttr<ElementsAttr>:$value);
  let results = (outs Apc_Tensor:$output);
}

def Apc_RangeOp : Apc_Creation<"range", ["Range"]> {
  let summary = "start, start + delta, ... below limit";
  let arguments = (ins Apc_Tensor:$start, Apc_Tensor:$limit, Apc_Tensor:$delta);
  let results = (outs Apc_Tensor:$output);
}

// Convolutions and pools: windows that slide over any number of spatial dims, and resampling.
include "apc/IR/Base.td"

// The attributes of a sliding window stand in each definition: ONNX gives them no common order.
class Apc_Convolution<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  // A C++ expression of type ConvolutionForm.
  string form = "{}";
  let inferBody = "{ return ::apc::inferConvolution(getOperation(), " # form # ", types); }";
  let ruleBody = "{ return ::apc::convolutionRule(getOperation(), " # form # "); }";
}

def Apc_ConvOp : Apc_Convolution<"conv", ["Conv"]> {
  let summary = "Convolution over any number of spatial dims, in groups";
  let arguments = (ins Apc_Tensor:$X, Apc_Tensor:$W, Apc_Optional:$B, DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations, DefaultValuedAttr<I64Attr, "1">:$group,
                       OptionalAttr<DenseI64ArrayAttr>:$kernel_shape, OptionalAttr<DenseI64ArrayAttr>:$pads,
                       OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Apc_Tensor:$Y);
  let addends = "2";
}

class Apc_Pool<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  // A C++ expression of type PoolForm.
  string form = "{}";
  let inferBody = "{ return ::apc::inferPool(getOperation(), types); }";
  let ruleBody = "{ return ::apc::poolRule(getOperation(), " # form # "); }";
}

def Apc_MaxPoolOp : Apc_Pool<"max_pool", ["MaxPool"]> {
  let summary = "The maximum of each window, and where it stands in the flattened operand";
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       DefaultValuedAttr<I64Attr, "0">:$ceil_mode, OptionalAttr<DenseI64ArrayAttr>:$dilations,
                       DenseI64ArrayAttr:$kernel_shape, OptionalAttr<DenseI64ArrayAttr>:$pads,
                       DefaultValuedAttr<I64Attr, "0">:$storage_order, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Apc_Tensor:$Y, Apc_Optional:$Indices);
  let form = "{::apc::Combiner::Max}";
}

def Apc_AveragePoolOp : Apc_Pool<"average_pool", ["AveragePool"]> {
  let summary = "The mean of each window";
  let arguments = (ins Apc_Tensor:$X, DefaultValuedAttr<StrAttr, "\"NOTSET\"">:$auto_pad,
                       DefaultValuedAttr<I64Attr, "0">:$ceil_mode, DefaultValuedAttr<I64Attr, "0">:$count_include_pad,
                       OptionalAttr<DenseI64ArrayAttr>:$dilations, DenseI64ArrayAttr:$kernel_shape,
                       OptionalAttr<DenseI64ArrayAttr>:$pads, OptionalAttr<DenseI64ArrayAttr>:$strides);
  let results = (outs Apc_Tensor:$Y);
  let form = "{::apc::Combiner::Sum}";
}

// The whole of every spatial dim at once: [n, c, h, w] -> [n, c, 1, 1].
class Apc_GlobalPool<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let arguments = (ins Apc_Tensor:$X);
  let results = (outs Apc_Tensor:$Y);
  // A C++ expression of type PoolForm.
  string form = "{}";
  let inferBody = "{ return ::apc::inferGlobalPool(getOperation(), types); }";
  let ruleBody = "{ return ::apc::globalPoolRule(getOperation(), " # form # "); }";
}

def Apc_GlobalAveragePoolOp : Apc_GlobalPool<"global_average_pool", ["GlobalAveragePool"]> {
  let form = "{::apc::Combiner::Sum}";
}
def Apc_GlobalMaxPoolOp : Apc_GlobalPool<"global_max_pool", ["GlobalMaxPool"]> { let form = "{::apc::Combiner::Max}"; }

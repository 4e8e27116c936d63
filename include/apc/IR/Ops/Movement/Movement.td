// Operators that move elements: the same values under another shape, order or extent.
include "apc/IR/Base.td"

// Shapes, rules and evaluation are written in C++ (lib/IR/Ops/Movement*.cpp), since attributes decide them.
class Apc_Movement<string mnemonic, list<string> onnx> : Apc_Op<mnemonic, onnx> {
  let evaluates = 1;
  let differentiates = 1;
}

// The same elements in the same order.
class Apc_View<string mnemonic, list<string> onnx> : Apc_Movement<mnemonic, onnx> {
  let differentiates = 0;
  let gradient = "g.give(0, g.reshapeTo(g.incoming(), g.operand(0)));";
}

// Results that follow from the operand's type alone.
class Apc_TypeQuery<string mnemonic, list<string> onnx> : Apc_Movement<mnemonic, onnx> {
  let differentiates = 0;
  let gradient = noGradient;
}

def Apc_ReshapeOp : Apc_View<"reshape", ["Reshape"]> {
  let summary = "The same elements under another shape: -1 is what remains, 0 copies a dim unless allowzero";
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$shape, DefaultValuedAttr<I64Attr, "0">:$allowzero);
  let types = "any, i64";
  let results = (outs Apc_Tensor:$reshaped);
  let differentiates = 1;
  let gradient = "";
  let local = "local.setConstant(1, local.resultDims(0)); local.setInt(\"allowzero\", 1);";
}

def Apc_FlattenOp : Apc_View<"flatten", ["Flatten"]> {
  let summary = "Two dims: those before axis, those from axis";
  let arguments = (ins Apc_Tensor:$input, DefaultValuedAttr<I64Attr, "1">:$axis);
  let types = "any";
  let results = (outs Apc_Tensor:$output);
}

def Apc_SqueezeOp : Apc_View<"squeeze", ["Squeeze"]> {
  let summary = "Without the dims of size 1 in axes, or without all of them";
  let arguments = (ins Apc_Tensor:$data, Apc_Optional:$axes);
  let types = "any, i64";
  let results = (outs Apc_Tensor:$squeezed);
  let local = "::apc::localizeSqueeze(local);";
}

def Apc_UnsqueezeOp : Apc_View<"unsqueeze", ["Unsqueeze"]> {
  let summary = "With dims of size 1 where the result counts axes";
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$axes);
  let types = "any, i64";
  let results = (outs Apc_Tensor:$expanded);
}

def Apc_IdentityOp : Apc_View<"identity", ["Identity"]> {
  let arguments = (ins Apc_Tensor:$input);
  let types = "any";
  let results = (outs Apc_Tensor:$output);
  let rule = "... -> ...";
  let work = "View";
  let flops = "0";
  let linear = "{{0}}";
}

def Apc_TransposeOp : Apc_Movement<"transpose", ["Transpose"]> {
  let arguments = (ins Apc_Tensor:$data, OptionalAttr<DenseI64ArrayAttr>:$perm);
  let types = "any";
  let results = (outs Apc_Tensor:$transposed);
}

def Apc_ExpandOp : Apc_Movement<"expand", ["Expand"]> {
  let summary = "Broadcast with shape, in both directions";
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$shape);
  let types = "any, i64";
  let results = (outs Apc_Tensor:$output);
  let local = "local.setConstant(1, local.resultDims(0));";
}

def Apc_TileOp : Apc_Movement<"tile", ["Tile"]> {
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$repeats);
  let types = "any, i64";
  let results = (outs Apc_Tensor:$output);
  let local = "::apc::localizeTile(local);";
}

def Apc_ConcatOp : Apc_Movement<"concat", ["Concat"]> {
  let arguments = (ins Variadic<Apc_Tensor>:$inputs, I64Attr:$axis);
  let types = "T: any";
  let results = (outs Apc_Tensor:$concat_result);
  let variadic = 1;
}

def Apc_SplitOp : Apc_Movement<"split", ["Split"]> {
  let summary = "Parts of one dim: sizes in split, or equal parts whose last may be smaller";
  let arguments = (ins Apc_Tensor:$input, Apc_Optional:$split, DefaultValuedAttr<I64Attr, "0">:$axis,
                       OptionalAttr<I64Attr>:$num_outputs);
  let types = "any, i64";
  let results = (outs Variadic<Apc_Tensor>:$outputs);
  let local = "::apc::localizeSplit(local);";
}

def Apc_SliceOp : Apc_Movement<"slice", ["Slice"]> {
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$starts, Apc_Tensor:$ends, Apc_Optional:$axes, Apc_Optional:$steps);
  let types = "any, T: index, T, T, T";
  let results = (outs Apc_Tensor:$output);
  let local = "::apc::localizeSlice(local);";
}

def Apc_PadOp : Apc_Movement<"pad", ["Pad"]> {
  let summary = "Grown (or, by negative pads, cropped) at both ends of dims";
  let description = [{ `value` is the constant as opsets before 11 give it. }];
  let arguments = (ins Apc_Tensor:$data, Apc_Tensor:$pads, Apc_Optional:$constant_value, Apc_Optional:$axes,
                       DefaultValuedAttr<StrAttr, "\"constant\"">:$mode, OptionalAttr<F32Attr>:$value);
  let types = "T: any, i64, T, index";
  let results = (outs Apc_Tensor:$output);
  let local = "::apc::localizePad(local);";
}

def Apc_CenterCropPadOp : Apc_Movement<"center_crop_pad", ["CenterCropPad"]> {
  let summary = "Cropped or padded with zeros around the centre to shape";
  let arguments = (ins Apc_Tensor:$input_data, Apc_Tensor:$shape, OptionalAttr<DenseI64ArrayAttr>:$axes);
  let types = "any, index";
  let results = (outs Apc_Tensor:$output_data);
  let local = "::apc::localizeCenterCropPad(local);";
}

def Apc_DepthToSpaceOp : Apc_Movement<"depth_to_space", ["DepthToSpace"]> {
  let arguments = (ins Apc_Tensor:$input, I64Attr:$blocksize, DefaultValuedAttr<StrAttr, "\"DCR\"">:$mode);
  let types = "any";
  let results = (outs Apc_Tensor:$output);
}

def Apc_SpaceToDepthOp : Apc_Movement<"space_to_depth", ["SpaceToDepth"]> {
  let arguments = (ins Apc_Tensor:$input, I64Attr:$blocksize, DefaultValuedAttr<Apc_OneOf<["DCR"]>, "\"DCR\"">:$mode);
  let types = "any";
  let results = (outs Apc_Tensor:$output);
}

def Apc_ReverseSequenceOp : Apc_Movement<"reverse_sequence", ["ReverseSequence"]> {
  let arguments = (ins Apc_Tensor:$input, Apc_Tensor:$sequence_lens, DefaultValuedAttr<I64Attr, "0">:$time_axis,
                       DefaultValuedAttr<I64Attr, "1">:$batch_axis);
  let types = "any, i64";
  let results = (outs Apc_Tensor:$Y);
}

def Apc_ShapeOp : Apc_TypeQuery<"shape", ["Shape"]> {
  let summary = "The dims from start to end; follows from the operand's type alone";
  let arguments = (ins Apc_Tensor:$data, DefaultValuedAttr<I64Attr, "0">:$start, OptionalAttr<I64Attr>:$end);
  let types = "any";
  let results = (outs Apc_Tensor:$shape);
}

def Apc_SizeOp : Apc_TypeQuery<"size", ["Size"]> {
  let summary = "The number of elements; follows from the operand's type alone";
  let arguments = (ins Apc_Tensor:$data);
  let types = "any";
  let results = (outs Apc_Tensor:$size);
}

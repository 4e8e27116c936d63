// Sources of values: constants, parameters, absent values; the end of a micro-batch.
include "apc/IR/Base.td"

def Apc_ConstantOp : Apc_Op<"constant", [], [ConstantLike, AllTypesMatch<["value", "output"]>]> {
  let summary = "A small tensor known at compile time";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs Apc_Tensor:$output);
  let element = "";
  let assemblyFormat = "$value attr-dict";
  let hasFolder = 1;
  let builders = [OpBuilder<(ins "::mlir::DenseElementsAttr":$value), [{ build($_builder, $_state, value.getType(), value); }]>];
}

def Apc_ParameterOp : Apc_Op<"parameter", []> {
  let summary = "A tensor of weights, known by name; its data is never read to plan";
  let description = [{
    `source` says where the model keeps the data: `initializer` (inside the model file), `external` (`location`, `offset`, `length`), `input`
    (a graph input that is a weight), `fill` (a constant too large to keep, such as ConstantOfShape) or `empty` (declared without data).
  }];
  let arguments = (ins StrAttr:$name, StrAttr:$source, OptionalAttr<StrAttr>:$location, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<I64Attr>:$length);
  let results = (outs Apc_Tensor:$output);
  let element = "";
  let assemblyFormat = "$name $source attr-dict `:` type($output)";
}

def Apc_NoneOp : Apc_Op<"none", []> {
  let summary = "The absent optional operand";
  let results = (outs NoneType:$output);
  let element = "";
  let assemblyFormat = "attr-dict";
  let builders = [OpBuilder<(ins), [{ $_state.addTypes($_builder.getNoneType()); }]>];
}

// Everything above it runs once for each micro-batch, in order, with the inputs of that micro-batch; everything below once, behind the last of
// them. Ops below read parameters, results of one another, and sums over micro-batches (`accumulate`). With `copies` c, c runs in a row are the
// copies of one micro-batch: whenever one waits for a collective, the next one goes on.
def Apc_MicroBatchEndOp : Op<Apc_Dialect, "micro_batch_end"> {
  let summary = "The end of the part of `main` that runs `count` times, once for each micro-batch or copy of one";
  let arguments = (ins ConfinedAttr<I64Attr, [IntPositive]>:$count, DefaultValuedAttr<ConfinedAttr<I64Attr, [IntPositive]>, "1">:$copies);
  let assemblyFormat = "$count (`copies` $copies^)? attr-dict";
  let hasVerifier = 1;
}

// Replaced by the ops of the reverse pass before anything else is done with a model (apc/Autodiff/ExpandGradients.h).
def Apc_GradientOp : Apc_Op<"gradient", ["ai.onnx.preview.training.Gradient"], [Apc_NamesValues]> {
  let summary = "The gradients of the sum of `y` for `xs`, at given values of `xs` and `zs`";
  let description = [{
    Operands are the values at which the gradients are taken, for xs and then for zs, and behind them what the names stand for: xs, y, zs.
  }];
  let arguments = (ins Variadic<Apc_Tensor>:$inputs, ArrayAttr:$xs, StrAttr:$y, OptionalAttr<ArrayAttr>:$zs);
  let types = "any";
  let results = (outs Variadic<Apc_Tensor>:$gradients);
  let variadic = 1;
  let element = "";
}

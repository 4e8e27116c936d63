// Ops of the program of one device beside the model's operators: collectives, ops that depend on the rank, and the ends of transfers and
// parts where the program is one stage of a pipeline.
include "apc/IR/ShardingAttrs.td"

def Apc_CollectiveInterface : OpInterface<"CollectiveInterface"> {
  let cppNamespace = "::apc";
  let description = [{ A collective of a redistribution, taken by a list of values together. }];
  let methods = [
    StaticInterfaceMethod<[{The kind of collective.}], "::apc::CollectiveKind", "getKind">,
    InterfaceMethod<[{The group, and for each value the shardings before and after.}], "::apc::CollectiveAttr", "getCollective">
  ];
}

def Apc_RankInterface : OpInterface<"RankInterface"> {
  let cppNamespace = "::apc";
  let description = [{ An op whose result depends on the rank that runs it, but not on other ranks. }];
  let methods = [
    InterfaceMethod<[{The results on one rank of the mesh; operands are never null.}], "::apc::Evaluated", "evaluateOnRank",
                    (ins "::apc::Operands":$operands, "const ::apc::Mesh &":$mesh, "int64_t":$rank)>
  ];
}

// Result i is operand i after the collective; tensors are the pieces of one device, padded where a dim is uneven.
class Apc_Collective<string mnemonic, string kind, list<Trait> traits = []>
    : Op<Apc_Dialect, mnemonic, !listconcat([Apc_CollectiveInterface], traits)> {
  let arguments = (ins Variadic<Apc_Tensor>:$inputs, Apc_CollectiveAttr:$collective);
  let results = (outs Variadic<Apc_Tensor>:$outputs);
  let assemblyFormat = "$inputs $collective attr-dict `:` functional-type($inputs, $outputs)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{ static ::apc::CollectiveKind getKind() { return ::apc::CollectiveKind::}] # kind # [{; } }];
  let extraClassDefinition = [{ ::llvm::LogicalResult $cppClass::verify() { return ::apc::verifyCollective(*this); } }];
}

def Apc_AllGatherOp : Apc_Collective<"all_gather", "AllGather"> { let summary = "Joins the pieces of a group along a dim"; }
def Apc_ShardSliceOp : Apc_Collective<"shard_slice", "Slice", [Pure]> { let summary = "Keeps this device's part of a dim; nothing is sent"; }
def Apc_AllToAllOp : Apc_Collective<"all_to_all", "AllToAll"> { let summary = "Moves a cut from one dim to another"; }
def Apc_ReduceScatterOp : Apc_Collective<"reduce_scatter", "ReduceScatter"> { let summary = "Combines partial tensors; each device keeps its part"; }
def Apc_AllReduceOp : Apc_Collective<"all_reduce", "AllReduce"> { let summary = "Combines partial tensors on every device of a group"; }
def Apc_PermuteOp : Apc_Collective<"permute", "Permute"> { let summary = "Sends each piece to the device that holds it afterwards"; }

def Apc_MaskPaddingOp : Op<Apc_Dialect, "mask_padding", [Pure, DeclareOpInterfaceMethods<Apc_RankInterface>, AllTypesMatch<["input", "output"]>]> {
  let summary = "The piece with the padding of one dim replaced by the neutral element of a combiner";
  let description = [{
    The whole dim has `size` elements and is cut over `axes`, inside `parts` where it has some: each part is padded on its own.
    Combiner `sum` fills 0, `product` 1, `max` the lowest and `min` the highest value, `and` true, `or` false, `log_sum_exp` minus
    infinity.
  }];
  let arguments = (ins Apc_Tensor:$input, I64Attr:$dim, I64Attr:$size, Apc_AxesAttr:$axes, Apc_CombinerAttr:$combiner,
                       OptionalAttr<DenseI64ArrayAttr>:$parts);
  let results = (outs Apc_Tensor:$output);
  let assemblyFormat = "$input `dim` $dim `of` $size $axes $combiner attr-dict `:` type($input)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The sizes of the parts; that of the whole dim where it has none.
    ::llvm::SmallVector<int64_t, 4> getPartSizes();
    /// The runs of the dim that `rank` holds.
    ::llvm::SmallVector<::apc::DimRun, 1> getRuns(const ::apc::Mesh &mesh, int64_t rank);
  }];
}

def Apc_KeepOnFirstOp : Op<Apc_Dialect, "keep_on_first", [Pure, DeclareOpInterfaceMethods<Apc_RankInterface>, AllTypesMatch<["input", "output"]>]> {
  let summary = "The tensor on devices that are first along all `axes`, zeros elsewhere: an addend that a sum over devices takes once";
  let arguments = (ins Apc_Tensor:$input, Apc_AxesAttr:$axes);
  let results = (outs Apc_Tensor:$output);
  let assemblyFormat = "$input $axes attr-dict `:` type($input)";
  let hasVerifier = 1;
}

def Apc_ShardOffsetOp : Op<Apc_Dialect, "shard_offset", [Pure, DeclareOpInterfaceMethods<Apc_RankInterface>]> {
  let summary = "The position in a dim of `size` elements, cut over `axes`, of the first that this device holds";
  let description = [{ A result of two elements is that position and the one behind the last: 7 over [2, 3] are 0-1, 2-3, none | 4-5, 6, none. }];
  let arguments = (ins Apc_AxesAttr:$axes, I64Attr:$size);
  let results = (outs Apc_Tensor:$output);
  let assemblyFormat = "$axes `of` $size attr-dict `:` type($output)";
  let hasVerifier = 1;
}

// The stage of a pipeline: `main` has the parts of its work one after the other. The forward part ends at `part_end "forward"`. Behind it
// stands the backward pass, in one part or, with `part_end "input_gradients"` between, in two. Its last part ends at `micro_batch_end`, and
// the update follows, which runs once.
def Apc_PartEndOp : Op<Apc_Dialect, "part_end"> {
  let summary = "The end of a part of a stage's work for one micro-batch, behind which other work may come";
  let arguments = (ins Apc_OneOf<["forward", "input_gradients"]>:$part);
  let assemblyFormat = "$part attr-dict";
}

defvar transferTimes = ["micro_batch", "step"];

def Apc_ReceiveOp : Op<Apc_Dialect, "receive"> {
  let summary = "A value that another stage sends: with every micro-batch, or once a step";
  let description = [{
    `value` is its name in the plan, `role` what it is for this stage: an input, or a parameter or state that this stage holds a copy of.
  }];
  let arguments = (ins StrAttr:$value, Apc_OneOf<transferTimes>:$time, Apc_OneOf<["input", "parameter", "optimizer_state"]>:$role);
  let results = (outs Apc_Tensor:$output);
  let assemblyFormat = "$value $time $role attr-dict `:` type($output)";
  let extraClassDeclaration = [{ bool isOfStep() { return getTime() == "step"; } }];
}

def Apc_SendOp : Op<Apc_Dialect, "send"> {
  let summary = "A value that other stages receive: with every micro-batch, or once a step";
  let description = [{ One that is sent once a step, but stands in a part that runs with every micro-batch, is sent by the first that runs. }];
  let arguments = (ins Apc_Tensor:$input, StrAttr:$value, Apc_OneOf<transferTimes>:$time);
  let assemblyFormat = "$input $value $time attr-dict `:` type($input)";
  let extraClassDeclaration = [{ bool isOfStep() { return getTime() == "step"; } }];
}

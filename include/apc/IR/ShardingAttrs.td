// How tensors lie on the mesh and how they move, as attributes: values of apc/Sharding that MLIR keeps once.
#ifndef APC_IR_SHARDING_ATTRS_TD
#define APC_IR_SHARDING_ATTRS_TD

include "apc/IR/Base.td"
include "mlir/IR/AttrTypeBase.td"

class Apc_Attr<string name, string attrMnemonic> : AttrDef<Apc_Dialect, name> {
  let mnemonic = attrMnemonic;
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

/// A parameter that is held as a C++ value and handed out by reference.
class Apc_Value<string type, string description> : AttrParameter<type, description, "const " # type # " &">;

def Apc_MeshAttr : Apc_Attr<"Mesh", "mesh"> {
  let summary = "The device mesh";
  let description = [{ `#apc.mesh<[data=8 | model=4]>`: axes with their sizes, outermost first, `|` between levels. Printed as the alias `#mesh`. }];
  let parameters = (ins Apc_Value<"::apc::Mesh", "the axes">:$value);
}

def Apc_AxesAttr : Apc_Attr<"Axes", "axes"> {
  let summary = "Axes of a mesh in order, major first";
  let description = [{ `#apc.axes<#mesh, (node gpu)>`. }];
  let parameters = (ins "::apc::MeshAttr":$mesh, Apc_Value<"::apc::AxisList", "the axes">:$value);
  let builders = [AttrBuilderWithInferredContext<(ins "::apc::MeshAttr":$mesh, "const ::apc::AxisList &":$value), [{
    return $_get(mesh.getContext(), mesh, value);
  }]>];
}

def Apc_CombinerAttr : Apc_Attr<"Combiner", "combiner"> {
  let summary = "How the pieces of a partial tensor combine";
  let description = [{ `#apc.combiner<sum>`; also `max`, `min`, `product`, `and`, `or`, `log_sum_exp`. }];
  let parameters = (ins "::apc::Combiner":$value);
  let genVerifyDecl = 0;
}

def Apc_ShardingAttr : Apc_Attr<"Sharding", "sharding"> {
  let summary = "The sharding of one tensor";
  let description = [{ `#apc.sharding<#mesh, [data, -, (node gpu)] sum{model}>`: the axes of each dim, then those over which the tensor is partial. }];
  let parameters = (ins "::apc::MeshAttr":$mesh, Apc_Value<"::apc::Sharding", "the sharding">:$value);
  let builders = [AttrBuilderWithInferredContext<(ins "::apc::MeshAttr":$mesh, "const ::apc::Sharding &":$value), [{
    return $_get(mesh.getContext(), mesh, value);
  }]>];
}

def Apc_StrategyAttr : Apc_Attr<"Strategy", "strategy"> {
  let summary = "The strategy of one op, factors by their names";
  let description = [{
    `#apc.strategy<#mesh, b0:data k:(node gpu) passing0:model>`, or `#apc.strategy<#mesh, replicated>`. A factor that no axis cuts is not listed.
  }];
  let parameters = (ins "::apc::MeshAttr":$mesh, Apc_Value<"::apc::FactorCuts", "factors and groups of linear operands with their axes">:$value);
  let builders = [AttrBuilderWithInferredContext<(ins "::apc::MeshAttr":$mesh, "const ::apc::Strategy &":$strategy,
                                                      "const ::apc::FactorRule &":$rule)>];
  let extraClassDeclaration = [{
    /// The strategy for an op of this rule. Errors: a factor or linear group that the rule does not have; a strategy that is illegal.
    ::llvm::Expected<::apc::Strategy> strategyFor(const ::apc::FactorRule &rule) const;
    /// `b0:data k:(node gpu)`, or `replicated`.
    std::string str() const;
  }];
}

def Apc_CollectiveAttr : Apc_Attr<"Collective", "collective"> {
  let summary = "One collective over the ranks that differ along its axes only, on one value or several";
  let description = [{
    `#apc.collective<#mesh, AllReduce{model}, [data, -] sum{model} -> [data, -] of [8, 512]>`: the kind, the axes of the group, and for each value
    the shardings before and after and the dims of the whole tensor. Values are separated by commas. Each collective is possible.
  }];
  let parameters = (ins "::apc::MeshAttr":$mesh, Apc_Value<"::apc::CoalescedCollective", "kind, axes and values">:$value);
  let builders = [AttrBuilderWithInferredContext<(ins "::apc::MeshAttr":$mesh, "const ::apc::CoalescedCollective &":$value), [{
    return $_get(mesh.getContext(), mesh, value);
  }]>];
}

#endif // APC_IR_SHARDING_ATTRS_TD

// Operators that nobody knows: all that is known of them are the types of their results.
include "apc/IR/Base.td"

def Apc_OpaqueOp : Apc_Op<"opaque", []> {
  let summary = "An operator of a model that nobody knows, with the results that the model's file declares";
  let description = [{
    `operator_name` is its ONNX name, "com.acme.Mix". Without `factor_rule` it is whole on every device, and costs the bytes of its operands and
    results. Its numbers are known to nobody: it can be planned, and not run.
  }];
  let arguments = (ins Variadic<Apc_Optional>:$inputs, StrAttr:$operator_name, OptionalAttr<StrAttr>:$factor_rule,
                       OptionalAttr<F64Attr>:$flops_per_point);
  let types = "any";
  let results = (outs Variadic<Apc_Optional>:$outputs);
  let variadic = 1;
  let element = "";
}

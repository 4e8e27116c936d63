// module -> OpGraph: the model as the planner sees it, without MLIR inside.
#pragma once

#include "apc/Graph/OpGraph.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"

#include "llvm/Support/Error.h"

namespace apc {

/// Reads the function `main` of `module`: its arguments become ops "input", `apc.parameter` ops "parameter", its
/// results "output"; in the module of a stage, `apc.receive` is a source and `apc.send` a sink. Constants and absent
/// operands become operands without a value. Names are made unique (`a`, `a#2`). Errors are emitted at the op at fault.
mlir::FailureOr<OpGraph> buildGraph(mlir::ModuleOp module);

/// The way from an imported module to its graph: composites are recognised in place, then the graph is built. `source`
/// names the model in messages.
///
///   auto model = importOnnx("model.onnx", {}, context);
///   auto graph = graphOfModel(*model->module, "model.onnx");
///
/// Errors (input): no `main`, an op without a rule, a model that computes nothing.
llvm::Expected<OpGraph> graphOfModel(mlir::ModuleOp module, llvm::StringRef source);

} // namespace apc

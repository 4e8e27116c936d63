// Modules whose ops are cut in every legal way, and compared with the whole.
#pragma once

#include "TestPrograms.h"

#include "apc/Graph/OpGraph.h"

#include "mlir/IR/BuiltinOps.h"

#include <map>

namespace apc {

using Parameters = std::map<std::string, Tensor>;

/// A module, and an op of it that is cut while all others stay whole.
struct Sample {
  mlir::ModuleOp module;
  OpGraph graph;
  size_t op; ///< of the graph
  std::vector<Tensor> inputs, expected;
  Parameters parameters = {};

  llvm::Expected<Tensor> operator()(ParameterOp parameter) const { return parameters.at(parameter.getName().str()); }
};

/// Runs the module under every strategy of the op that needs no partial operand, on devices of the mesh, each program
/// proven first; a failed test where a result differs by more than 1e-5. Returns how many strategies there were.
size_t checkStrategies(const Sample &sample, llvm::StringRef meshText);

} // namespace apc

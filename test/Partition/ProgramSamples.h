// Small models under strategies that a test chooses: module -> plan -> program.
#pragma once

#include "apc/Graph/OpGraph.h"
#include "apc/Plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <memory>
#include <string>

namespace apc {

/// A model as text, parsed, and as the planner sees it.
struct Sample {
  explicit Sample(llvm::StringRef text);

  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  OpGraph graph;

  /// The plan on `mesh` ("[2 | 2]") under the strategies given by op ("m:x0 k:x1"); other ops are replicated. Sources
  /// are ops by their own names, outputs are "output NAME".
  Plan plan(llvm::StringRef mesh, const std::map<std::string, std::string> &strategies) const;
  /// The plan under random strategies.
  Plan drawnPlan(llvm::StringRef mesh, uint64_t seed) const;
};

/// `y = relu(x . up) . down` on 6 x 5, 5 x 8, 8 x 7.
extern const char *const mlp; /// Rows of x over x0; the hidden dim over x1: up by columns, down by rows.
extern const std::map<std::string, std::string> megatron;

/// `y = relu(gemm(x, w, bias))^T` on 6 x 5, 5 x 4: an addend, a reduction of 5 that 2 devices cut unevenly, a movement.
extern const char *const gemm;
/// The reduction over x1; what follows is cut along another dim each time.
extern const std::map<std::string, std::string> unevenGemm;

/// Constants in many places: a square transposed, a reshape, a slice, a table that rows are taken from, an addend.
extern const char *const constants;

/// The text of a module.
std::string print(mlir::ModuleOp module);

} // namespace apc

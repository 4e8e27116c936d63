// Modules under test and their reversal.
#pragma once

#include "GradientCheck.h"
#include "apc/IR/Gradient.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace apc {

/// How an argument is drawn, on the argument.
inline constexpr llvm::StringLiteral inputAttribute = "test.input";

/// A context with the dialects of programs.
std::shared_ptr<mlir::MLIRContext> makeContext();

/// `main` of a few ops with its inputs.
struct GradientProgram {
  explicit GradientProgram(const OpCase &test);
  explicit GradientProgram(const std::string &text);

  mlir::func::FuncOp main() const;

  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Tensor> inputs;
};

/// A program that takes the inputs of another one and what arrives at each of its float results, and gives the
/// gradients of the float inputs that have one.
struct ReversedProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< null where an op has no gradient
  std::string refusal = {};                 ///< the reason that op gave
  std::vector<unsigned> inputs;             ///< for each result, the input that it is the gradient of
  std::vector<unsigned> results;            ///< for each further argument, the result at which it arrives
};

/// `arrives` has a flag for each result of `program`; empty means all.
ReversedProgram reverse(const GradientProgram &program, llvm::ArrayRef<bool> arrives = {});

/// Runs a module without parameters; a failed test where it cannot.
std::vector<Tensor> runOn(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs);

/// The text of a module of the op taken apart (`takeApart`); a failed test where that computes something else.
std::string textApart(const OpCase &test);

} // namespace apc

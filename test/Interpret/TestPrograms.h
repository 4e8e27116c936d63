// Programs as text, tensors as lists.
#pragma once

#include "../ErrorOf.h"

#include "apc/Interpret/Grid.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace apc {

struct TestProgram {
  explicit TestProgram(const std::string &text);
  /// In the context of another one: programs of one grid.
  TestProgram(const std::string &text, const TestProgram &other);

  std::shared_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// f32 tensors whose elements are 0, 1, 2, ...; `first` is added to each.
Tensor counted(mlir::MLIRContext &context, llvm::ArrayRef<int64_t> dims, double first = 0);

/// For programs without parameters: an error.
llvm::Expected<Tensor> noParameter(ParameterOp parameter);

Mesh meshFrom(llvm::StringRef text);
Sharding shardingFrom(llvm::StringRef text, const Mesh &mesh);

} // namespace apc

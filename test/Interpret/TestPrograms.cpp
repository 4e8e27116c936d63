// Parsing that must succeed.
#include "TestPrograms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <numeric>

namespace apc {

TestProgram::TestProgram(const std::string &text, const TestProgram &other) : context(other.context) {
  module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  REQUIRE(module);
}

TestProgram::TestProgram(const std::string &text)
    : context(std::make_shared<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED)) {
  context->loadDialect<ApcDialect, mlir::func::FuncDialect>();
  module = mlir::parseSourceString<mlir::ModuleOp>(text, context.get());
  REQUIRE(module);
}

Tensor counted(mlir::MLIRContext &context, llvm::ArrayRef<int64_t> dims, double first) {
  Tensor tensor;
  tensor.dims.assign(dims.begin(), dims.end());
  tensor.element = mlir::Float32Type::get(&context);
  tensor.floats.resize(static_cast<size_t>(tensor.numElements()));
  std::iota(tensor.floats.begin(), tensor.floats.end(), first);
  return tensor;
}

llvm::Expected<Tensor> noParameter(ParameterOp parameter) {
  return inputError("no parameter '{0}'", parameter.getName());
}

Mesh meshFrom(llvm::StringRef text) {
  llvm::Expected<Mesh> mesh = Mesh::parse(text);
  REQUIRE(static_cast<bool>(mesh));
  return *mesh;
}

Sharding shardingFrom(llvm::StringRef text, const Mesh &mesh) {
  llvm::Expected<Sharding> sharding = Sharding::parse(text, mesh);
  REQUIRE(static_cast<bool>(sharding));
  return *sharding;
}

} // namespace apc

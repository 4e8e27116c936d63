// mlir-opt with the apc dialect and passes: prints, parses and verifies modules, and runs single passes.
#include "apc/IR/Apc.h"
#include "apc/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<apc::ApcDialect, mlir::func::FuncDialect>();
  apc::registerTransformsPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "apc module optimizer\n", registry));
}

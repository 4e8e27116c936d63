// --apc-print-rules: every op's bound factor rule, for tests of rules.
#include "apc/IR/Apc.h"
#include "apc/Transforms/Passes.h"

#include "mlir/Pass/Pass.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

namespace {

struct PrintRulesPass : mlir::PassWrapper<PrintRulesPass, mlir::OperationPass<>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(PrintRulesPass)

  llvm::StringRef getArgument() const override { return "apc-print-rules"; }
  llvm::StringRef getDescription() const override { return "Print the factor rule of every op, bound to its shapes"; }

  void runOnOperation() override {
    markAllAnalysesPreserved();
    getOperation()->walk([&](OperatorInterface op) {
      mlir::FailureOr<FactorRule> rule = op.getRule();
      if (mlir::failed(rule))
        return signalPassFailure();
      llvm::outs() << op->getName() << ": " << rule->str() << '\n';
    });
  }
};

} // namespace

std::unique_ptr<mlir::Pass> createPrintRulesPass() { return std::make_unique<PrintRulesPass>(); }

void registerTransformsPasses() { mlir::PassRegistration<PrintRulesPass>(); }

} // namespace apc

// Constants of two imports, at one batch and at twice as many samples.
#include "NumbersOfBatch.h"

#include "apc/Driver/ImportStep.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Gradient.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/FindBatch.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

/// A number that scales another one, as the number of samples may scale a loss.
static bool scalesNumber(ConstantOp constant) {
  auto isOne = [](mlir::Value value) {
    auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
    return type && type.getNumElements() == 1;
  };
  return isFloat(constant.getOutput()) && isOne(constant.getOutput()) &&
         llvm::any_of(constant->getUsers(), [&](mlir::Operation *user) {
           return user->getNumResults() == 1 && isOne(user->getResult(0)) && isFloat(user->getResult(0));
         });
}

void markNumbersOfBatch(mlir::func::FuncOp main, const PlanRequest &request, int64_t batch,
                        mlir::MLIRContext &context) {
  if (llvm::none_of(main.getOps<ConstantOp>(), scalesNumber))
    return;
  ImportOptions options = importOptionsOf(request);
  options.batch = 2 * batch;
  auto twice = importOnnx(request.modelPath, options, context);
  if (!twice) // no number is known to follow
    return llvm::consumeError(twice.takeError());
  auto numberOf = [](ConstantOp constant) {
    return Tensor::read(llvm::cast<mlir::DenseElementsAttr>(constant.getValue())).floats[0];
  };
  std::map<std::string, double> numbers;
  for (ConstantOp constant : mainOf(*twice->module).getOps<ConstantOp>())
    if (auto name = llvm::dyn_cast<mlir::NameLoc>(constant.getLoc()); name && scalesNumber(constant))
      numbers[name.getName().str()] = numberOf(constant);
  for (ConstantOp constant : main.getOps<ConstantOp>()) {
    auto name = llvm::dyn_cast<mlir::NameLoc>(constant.getLoc());
    auto found = name && scalesNumber(constant) ? numbers.find(name.getName().str()) : numbers.end();
    if (found == numbers.end() || found->second == numberOf(constant))
      continue;
    const double own = numberOf(constant);
    const int64_t power = found->second == 2 * own ? 1 : 2 * found->second == own ? -1 : 0;
    constant->setAttr(batchPowerAttribute, mlir::Builder(&context).getI64IntegerAttr(power));
  }
}

} // namespace apc

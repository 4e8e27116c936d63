// One device.
#include "apc/Interpret/Run.h"

#include "RankRun.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Opaque.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

char MissingKernel::ID;

static std::string onnxNameOf(mlir::Operation *op) {
  auto operation = llvm::dyn_cast<OperatorInterface>(op);
  llvm::ArrayRef<llvm::StringRef> names;
  if (operation)
    names = operation.getOnnxNames();
  return names.empty() ? op->getName().stripDialect().str() : names.front().str();
}

/// The inputs of integers that `op` depends on, within its function: "'ids', 'mask'".
static std::string integerInputsOf(mlir::Operation *op) {
  llvm::SmallVector<mlir::Value> pending(op->getOperands());
  llvm::DenseSet<mlir::Value> seen;
  std::vector<std::string> names;
  while (!pending.empty()) {
    mlir::Value value = pending.pop_back_val();
    if (!seen.insert(value).second)
      continue;
    if (mlir::Operation *creator = value.getDefiningOp()) {
      llvm::append_range(pending, creator->getOperands());
      continue;
    }
    auto argument = llvm::cast<mlir::BlockArgument>(value);
    auto function = llvm::dyn_cast<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    auto name = function ? function.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), nameAttribute)
                         : mlir::StringAttr();
    if (name && mlir::getElementTypeOrSelf(value).isInteger())
      names.push_back("'" + name.str() + "'");
  }
  llvm::sort(names);
  return llvm::join(names, ", ");
}

static std::string whyNot(mlir::Operation *op) {
  if (!opaqueName(op).empty())
    return llvm::formatv(" cannot be run: nobody knows what {0} computes", opaqueName(op));
  std::string inputs = integerInputsOf(op);
  return " cannot be evaluated for these values" +
         (inputs.empty() ? "" : "; it depends on integers that were given for " + inputs);
}

MissingKernel::MissingKernel(mlir::Operation *op)
    : ErrorInfo(Fault::Input, describeOp(op) + whyNot(op)), operatorName(onnxNameOf(op)) {}

llvm::Expected<std::vector<Tensor>> run(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs,
                                        const ParameterSource &parameters) {
  ProgramText text(module);
  if (!text.main())
    return inputError("the module has no function 'main' to run");
  if (llvm::Error error = checkNumInputs(text.main(), inputs.size()))
    return error;
  std::vector<TensorRef> shared;
  for (auto [index, input] : llvm::enumerate(inputs)) {
    mlir::BlockArgument argument = text.main().getArgument(index % text.main().getNumArguments());
    if (llvm::Error error = checkType(input, argument.getType(), "input " + llvm::Twine(argument.getArgNumber())))
      return error;
    shared.push_back(std::make_shared<Tensor>(input));
  }
  Mesh single;
  RankRun rank(text, single, 0, [&](mlir::Operation *op) -> llvm::Expected<TensorRef> {
    auto parameter = llvm::cast<ParameterOp>(op);
    auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
    llvm::Expected<Tensor> whole = parameters(parameter);
    if (!whole)
      return whole.takeError();
    if (llvm::Error error = checkType(*whole, type, "parameter '" + parameter.getName() + "'"))
      return error;
    return std::make_shared<Tensor>(std::move(*whole));
  });
  rank.take(shared);
  for (int64_t index = 0; !rank.isDone();) {
    bool isEntered = index < microBatchesOf(text.main()) ? rank.enterPart(index) : rank.enterUpdate();
    assert(isEntered && "every micro-batch has inputs, and the update comes behind them");
    (void)isEntered;
    if (llvm::Error error = rank.advance())
      return error;
    if (rank.waitsAt())
      return inputError("{0}: a collective needs a mesh of ranks", describeOp(rank.waitsAt()));
    index += llvm::isa_and_nonnull<MicroBatchEndOp>(rank.partEnd());
  }
  std::vector<Tensor> results;
  for (const TensorRef &result : rank.getResults())
    results.push_back(*result);
  return results;
}

} // namespace apc

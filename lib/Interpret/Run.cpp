// One device.
#include "apc/Interpret/Run.h"

#include "RankRun.h"

namespace apc {

char MissingKernel::ID;

static std::string onnxNameOf(mlir::Operation *op) {
  auto operation = llvm::dyn_cast<OperatorInterface>(op);
  llvm::ArrayRef<llvm::StringRef> names;
  if (operation)
    names = operation.getOnnxNames();
  return names.empty() ? op->getName().stripDialect().str() : names.front().str();
}

MissingKernel::MissingKernel(mlir::Operation *op)
    : ErrorInfo(Fault::Input, describeOp(op) + " cannot be evaluated for these values"), operatorName(onnxNameOf(op)) {}

llvm::Expected<std::vector<Tensor>> run(mlir::ModuleOp module, llvm::ArrayRef<Tensor> inputs,
                                        const ParameterSource &parameters) {
  ProgramText text(module);
  if (!text.main())
    return inputError("the module has no function 'main' to run");
  if (inputs.size() != text.main().getNumArguments())
    return inputError("'main' takes {0} inputs, {1} are given", text.main().getNumArguments(), inputs.size());
  std::vector<TensorRef> shared;
  for (auto [argument, input] : llvm::zip_equal(text.main().getArguments(), inputs)) {
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
  rank.start(shared);
  if (llvm::Error error = rank.advance())
    return error;
  if (!rank.isDone())
    return inputError("{0}: a collective needs a mesh of ranks", describeOp(rank.waitsAt()));
  std::vector<Tensor> results;
  for (const TensorRef &result : rank.getResults())
    results.push_back(*result);
  return results;
}

} // namespace apc

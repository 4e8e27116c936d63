// Every op that has a dim which carries the batch is made again with others of its own kind: its form on pieces, with
// the sizes that are wanted.
#include "apc/Transforms/ChangeBatch.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/IR/Program/FindBatch.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Verifier.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

void markEnds(mlir::func::FuncOp main, const BatchFinder &finder) {
  mlir::Builder builder(main.getContext());
  auto firstDimOf = [&](mlir::Value value) {
    unsigned dim = 0;
    while (dim < dimsOf(value).size() && finder.timesCarried(value, dim) == 0)
      ++dim;
    return dim < dimsOf(value).size() ? builder.getI64IntegerAttr(dim) : mlir::IntegerAttr();
  };
  for (mlir::BlockArgument argument : main.getArguments())
    if (mlir::IntegerAttr dim = firstDimOf(argument))
      main.setArgAttr(argument.getArgNumber(), batchDimAttribute, dim);
  for (mlir::OpOperand &result : main.front().getTerminator()->getOpOperands())
    if (mlir::IntegerAttr dim = firstDimOf(result.get()))
      main.setResultAttr(result.getOperandNumber(), batchDimAttribute, dim);
}

class BatchChanger {
public:
  BatchChanger(mlir::func::FuncOp main, int64_t from, int64_t to)
      : main(main), from(from), to(to), finder(findBatch(main, from)) {
    if (!hasBatchMarks(main))
      markEnds(main, finder);
    for (mlir::Operation &op : main.front().without_terminator())
      if (llvm::any_of(op.getOperands(), [&](mlir::Value value) { return finder.carriesAny(value); }))
        touched.insert(&op);
  }

  llvm::Error run();

private:
  mlir::Type changed(mlir::Value value) const;
  bool changes(mlir::Operation *op) const {
    return touched.contains(op) ||
           llvm::any_of(op->getResults(), [&](mlir::Value value) { return finder.carriesAny(value); });
  }
  llvm::Error changeSource(mlir::Operation *op);
  llvm::Error changeOp(mlir::Operation *op);
  llvm::Error refuse(mlir::Operation *op, const llvm::Twine &reason) const;

  mlir::func::FuncOp main;
  int64_t from, to;
  BatchFinder finder;
  llvm::DenseSet<mlir::Operation *> touched; ///< ops that read a dim which carries the batch
};

mlir::Type BatchChanger::changed(mlir::Value value) const {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  if (!type)
    return value.getType();
  llvm::SmallVector<int64_t, 4> dims(type.getShape());
  for (auto [dim, size] : llvm::enumerate(dims))
    for (size_t times = finder.timesCarried(value, static_cast<unsigned>(dim)); times > 0; --times)
      size = size / from * to;
  return mlir::RankedTensorType::get(dims, type.getElementType());
}

llvm::Error BatchChanger::refuse(mlir::Operation *op, const llvm::Twine &reason) const {
  auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  return inputError("op '{0}' ({1}) does not allow a batch of {2} in the place of {3}: {4}",
                    name ? name.getName().strref() : op->getName().getStringRef(), op->getName().stripDialect(), to,
                    from, reason.str());
}

/// Constants of one number everywhere grow and shrink with the batch; others hold numbers for each sample.
llvm::Error BatchChanger::changeSource(mlir::Operation *op) {
  if (auto parameter = llvm::dyn_cast<ParameterOp>(op))
    return inputError("parameter '{0}' holds the batch of {1}; it does not allow one of {2}", parameter.getName(), from,
                      to);
  auto constant = llvm::cast<ConstantOp>(op);
  auto data = llvm::dyn_cast<mlir::DenseElementsAttr>(constant.getValue());
  if (!data || !data.isSplat())
    return refuse(op, "a constant has numbers of its own for each sample");
  auto type = llvm::cast<mlir::ShapedType>(changed(op->getResult(0)));
  constant.setValueAttr(data.resizeSplat(type));
  op->getResult(0).setType(type);
  return llvm::Error::success();
}

llvm::Error BatchChanger::changeOp(mlir::Operation *op) {
  const FactorRule *rule = finder.ruleOf(op);
  if (!rule)
    return refuse(op, "it has no factor rule");
  Strategy whole;
  whole.axes.resize(rule->numFactors());
  whole.partialInputs.resize(rule->linear.size());
  Mesh single;
  mlir::OpBuilder builder(op);
  LocalOp local(builder, op, *rule, whole, single);
  for (auto [index, result] : llvm::enumerate(op->getResults()))
    local.resultTypes[index] = changed(result);
  llvm::cast<OperatorInterface>(op).localize(local);
  mlir::Operation *created = local.create();
  for (mlir::NamedAttribute own : llvm::to_vector(created->getAttrs()))
    if (!op->hasAttr(own.getName())) // of a part of the old op, such as the elements that a mean divides by
      created->removeAttr(own.getName());
  DiagnosticCapture diagnostics(main.getContext());
  if (mlir::failed(mlir::verify(created))) {
    std::string reason = diagnostics.take();
    if (op->getName().stripDialect() == "max_pool" && op->getNumResults() == 2 && !isAbsent(op->getResult(1)))
      reason = "its indices number the elements of all samples together";
    created->erase();
    return refuse(op, reason);
  }
  op->replaceAllUsesWith(created);
  op->erase();
  return llvm::Error::success();
}

llvm::Error BatchChanger::run() {
  for (mlir::BlockArgument argument : main.getArguments())
    argument.setType(changed(argument));
  for (mlir::Operation &op : llvm::make_early_inc_range(main.front().without_terminator())) {
    if (!changes(&op))
      continue;
    bool isSource = llvm::isa<ConstantOp, ParameterOp>(op);
    if (llvm::Error error = isSource ? changeSource(&op) : changeOp(&op))
      return error;
  }
  main.setFunctionType(mlir::FunctionType::get(main.getContext(), main.front().getArgumentTypes(),
                                               main.front().getTerminator()->getOperandTypes()));
  return llvm::Error::success();
}

} // namespace

llvm::Error checkSamples(mlir::func::FuncOp main) {
  mlir::Value first = batchArgument(main);
  return first && dimsOf(first)[0] == 0 ? inputError("dim 0 of its first input is 0: a step of training has a sample "
                                                     "or more")
                                        : llvm::Error::success();
}

llvm::Expected<int64_t> batchOf(mlir::func::FuncOp main) {
  if (mlir::Value first = batchArgument(main); first && dimsOf(first)[0] > 0)
    return dimsOf(first)[0];
  return inputError("no input has a dim that could carry the batch");
}

llvm::Error changeBatch(mlir::func::FuncOp main, int64_t batch) {
  llvm::Expected<int64_t> from = batchOf(main);
  if (!from)
    return from.takeError();
  return *from == batch ? llvm::Error::success() : BatchChanger(main, *from, batch).run();
}

void markBatch(mlir::func::FuncOp main) {
  llvm::Expected<int64_t> batch = batchOf(main);
  if (!batch)
    return llvm::consumeError(batch.takeError()); // no input has a batch
  if (!hasBatchMarks(main))
    markEnds(main, findBatch(main, *batch));
}

} // namespace apc

// Format `tensorrt`: for each rank one ONNX model, whose collectives are nodes of TensorRT's own.
#include "../Formats.h"
#include "OnnxSteps.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Diagnostics.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/OnnxForms.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/EmbeddedText.h"
#include "apc/Support/Error.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <numeric>

namespace apc {

llvm::ArrayRef<EmbeddedText> onnxRuntime();     ///< generated from Runtime/*.py
llvm::ArrayRef<EmbeddedText> tensorRtRuntime(); ///< generated from TensorRt/*.py

namespace {

using mlir::func::CallOp;
using mlir::func::FuncOp;

/// An engine runs one pass over whole inputs.
llvm::Error checkIsInference(FuncOp main, const StageProgram &stage) {
  for (unsigned result = 0; result < main.getNumResults(); ++result)
    if (main.getResultAttr(result, replacesAttribute))
      return inputError("format 'tensorrt': the program trains; a plan of 'apc plan --mode infer' is accepted");
  bool hasTransfer = llvm::any_of(main.front(), [](mlir::Operation &op) { return llvm::isa<SendOp, ReceiveOp>(op); });
  if (hasTransfer || stage.firstRank > 0)
    return inputError("format 'tensorrt': the program has stages, and an engine cannot send to one rank; a plan "
                      "without a pipeline is accepted");
  return llvm::Error::success();
}

/// The bodies of functions in the place of their calls, of calls inside of them as well.
void inlineCalls(FuncOp function) {
  for (mlir::Operation *op = &function.front().front(); op;) {
    mlir::Operation *next = op->getNextNode();
    if (auto call = llvm::dyn_cast<CallOp>(op)) {
      auto callee = mlir::SymbolTable::lookupNearestSymbolFrom<FuncOp>(call, call.getCalleeAttr());
      mlir::IRMapping mapping;
      mapping.map(callee.getArguments(), call.getOperands());
      mlir::OpBuilder builder(call);
      mlir::Operation *first = nullptr;
      for (mlir::Operation &inner : callee.front().without_terminator()) {
        mlir::Operation *copy = builder.clone(inner, mapping);
        first = first ? first : copy;
      }
      for (auto [result, value] : llvm::zip_equal(call.getResults(), callee.front().getTerminator()->getOperands()))
        result.replaceAllUsesWith(mapping.lookup(value));
      call.erase();
      next = first ? first : next;
    }
    op = next;
  }
}

void replaceCollectives(FuncOp function) {
  for (mlir::Operation &op : llvm::make_early_inc_range(function.front())) {
    if (!llvm::isa<CollectiveInterface>(op))
      continue;
    mlir::OpBuilder builder(&op);
    op.replaceAllUsesWith(createDistCollectives(builder, &op));
    op.erase();
  }
}

/// Outputs of a model are made by its nodes, each once.
void copyOutputs(FuncOp function) {
  mlir::Operation *end = function.front().getTerminator();
  llvm::DenseSet<mlir::Value> seen;
  for (mlir::OpOperand &operand : end->getOpOperands()) {
    mlir::Operation *producer = operand.get().getDefiningOp();
    if (seen.insert(operand.get()).second && producer && !llvm::isa<ParameterOp, ConstantOp>(producer))
      continue;
    mlir::OpBuilder builder(end);
    operand.set(IdentityOp::create(builder, end->getLoc(), operand.get().getType(), operand.get()));
  }
}

/// Numbers and groups as they are on one rank.
llvm::Error settleRank(FuncOp function, int64_t rank) {
  for (mlir::Operation &op : llvm::make_early_inc_range(function.front())) {
    mlir::OpBuilder builder(&op);
    if (auto offset = llvm::dyn_cast<ShardOffsetOp>(op)) {
      auto values = resolveOnRank(builder, &op, offset.getAxes().getMesh().getValue(), rank);
      if (mlir::failed(values))
        return internalError("a position has no value on rank {0}", rank);
      op.replaceAllUsesWith(*values);
      op.erase();
    } else if (auto axes = op.getAttrOfType<AxesAttr>(groupAxes)) {
      mlir::NamedAttrList node(op.getAttrOfType<mlir::DictionaryAttr>(nodeAttributes));
      node.set("groups", builder.getDenseI64ArrayAttr(axes.getMesh().getValue().group(rank, axes.getValue())));
      op.setAttr(nodeAttributes, node.getDictionary(op.getContext()));
    }
  }
  return llvm::Error::success();
}

/// Outputs have the names of the model's, whatever else had them.
void nameOutputs(OnnxFunction &steps) {
  FuncOp function = steps.function;
  llvm::StringSet<> used;
  for (const auto &[value, name] : steps.names)
    used.insert(name);
  for (auto [index, result] : llvm::enumerate(function.front().getTerminator()->getOperands())) {
    auto name = function.getResultAttrOfType<mlir::StringAttr>(index, nameAttribute);
    if (!name)
      continue;
    for (auto &[value, own] : steps.names)
      if (own == name.getValue() && value != result)
        while (!used.insert(own).second)
          own += ".inner";
    steps.names[result] = name.str();
  }
}

} // namespace

llvm::Error emitTensorRt(const EmitRequest &request, AddFile addFile) {
  mlir::ModuleOp stage = *request.stage.module;
  mlir::OwningOpRef<mlir::ModuleOp> program = stage.clone();
  DiagnosticCapture diagnostics(program->getContext());
  if (llvm::Error error = checkIsInference(mainOf(*program), request.stage))
    return error;
  if (llvm::Error error = makeOnnxForms(*program))
    return error;
  FuncOp main = mainOf(*program);
  inlineCalls(main);
  replaceCollectives(main);
  copyOutputs(main);
  std::vector<int64_t> ranks = request.ranks.vec();
  if (ranks.empty()) {
    ranks.resize(static_cast<size_t>(request.stage.numRanks));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  for (int64_t rank : ranks) {
    mlir::OwningOpRef<mlir::ModuleOp> own = program->clone();
    if (llvm::Error error = settleRank(mainOf(*own), rank))
      return error;
    OnnxFunction steps = cutIntoSteps(mainOf(*own));
    if (steps.steps.size() != 1 || steps.steps.front().op)
      return internalError("the program of rank {0} is no one model but has {1} steps", rank, steps.steps.size());
    nameOutputs(steps);
    std::string file = llvm::formatv("rank-{0,0+4}.onnx", rank);
    llvm::Expected<std::string> bytes = printSegment(steps.steps.front().segment, steps.names, file);
    if (llvm::Error error = bytes ? addFile(file, *bytes) : bytes.takeError())
      return error;
  }
  return llvm::Error::success();
}

llvm::Error emitTensorRtRuntime(const EmitOptions &, AddFile addFile) {
  for (const EmbeddedText &file : onnxRuntime())
    if (file.name != "run")
      if (llvm::Error error = addFile((file.name + ".py").str(), file.text))
        return error;
  for (const EmbeddedText &file : tensorRtRuntime())
    if (llvm::Error error = addFile((file.name + ".py").str(), file.text))
      return error;
  return llvm::Error::success();
}

} // namespace apc

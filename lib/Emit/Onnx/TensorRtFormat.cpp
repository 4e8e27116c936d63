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

#include "OnnxModel.pb.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
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

/// The differences between the models of ranks: positions, which are constants there, and groups.
class RankNumbers {
public:
  /// Takes positions out of the function: they become arguments of it, equal ones the same.
  explicit RankNumbers(FuncOp function) : positions(mlir::ModuleOp::create(function.getLoc())) {
    mlir::OpBuilder builder(positions->getBodyRegion());
    std::map<std::vector<const void *>, mlir::Value> known;
    for (auto offset : llvm::make_early_inc_range(function.getOps<ShardOffsetOp>())) {
      mlir::Value &argument = known[{offset->getDiscardableAttrDictionary().getAsOpaquePointer(),
                                     offset->getPropertiesAsAttribute().getAsOpaquePointer(),
                                     offset.getOutput().getType().getAsOpaquePointer()}];
      if (!argument) {
        (void)function.insertArgument(function.getNumArguments(), offset.getOutput().getType(), {}, offset.getLoc());
        argument = function.getArguments().back();
        function.setArgAttr(function.getNumArguments() - 1, nameAttribute,
                            builder.getStringAttr("position_" + std::to_string(arguments.size())));
        arguments.push_back(argument);
        offsets.push_back(llvm::cast<ShardOffsetOp>(builder.clone(*offset)));
      }
      offset.getOutput().replaceAllUsesWith(argument);
      offset.erase();
    }
  }

  /// The model of all ranks: positions are none of its inputs, and collectives have no groups.
  llvm::Error setModel(OnnxFunction &steps) {
    OnnxSegment segment = steps.steps.front().segment;
    for (mlir::Value argument : arguments) {
      segment.inputs.remove(argument);
      names.push_back(steps.names.lookup(argument));
    }
    for (auto [index, op] : llvm::enumerate(segment.ops))
      if (auto axes = op->getAttrOfType<AxesAttr>(groupAxes))
        groups.push_back({static_cast<int>(index), axes});
    auto made = modelOf(segment, steps.names, "");
    if (made)
      model = std::move(*made);
    numConstants = model.graph().initializer_size();
    return made.takeError();
  }

  /// The model of one rank.
  llvm::Expected<std::string> print(int64_t rank, llvm::StringRef title) {
    onnx::GraphProto &graph = *model.mutable_graph();
    graph.set_name(title.str());
    while (graph.initializer_size() > numConstants)
      graph.mutable_initializer()->RemoveLast();
    for (auto [offset, name] : llvm::zip_equal(offsets, names)) {
      mlir::OpBuilder builder(offset);
      auto values = resolveOnRank(builder, offset, offset.getAxes().getMesh().getValue(), rank);
      auto constant = mlir::failed(values) ? ConstantOp() : values->front().getDefiningOp<ConstantOp>();
      if (!constant)
        return internalError("a position has no value on rank {0}", rank);
      addInitializer(model, name, llvm::cast<mlir::DenseElementsAttr>(constant.getValue()));
      constant.erase();
    }
    for (const auto &[index, axes] : groups)
      setGroup(*graph.mutable_node(index), axes.getMesh().getValue().group(rank, axes.getValue()));
    return model.SerializeAsString();
  }

private:
  static void setGroup(onnx::NodeProto &node, llvm::ArrayRef<int64_t> ranks) {
    constexpr int ofInts = 7; // AttributeProto.type
    auto found = llvm::find_if(*node.mutable_attribute(), [](auto &own) { return own.name() == "groups"; });
    onnx::AttributeProto &attribute = found == node.mutable_attribute()->end() ? *node.add_attribute() : *found;
    attribute.set_name("groups");
    attribute.set_type(ofInts);
    attribute.clear_ints();
    for (int64_t rank : ranks)
      attribute.add_ints(rank);
  }

  mlir::OwningOpRef<mlir::ModuleOp> positions; ///< holds the offsets
  std::vector<ShardOffsetOp> offsets;
  std::vector<mlir::Value> arguments;
  std::vector<std::string> names;
  std::vector<std::pair<int, AxesAttr>> groups; ///< by place of the node
  onnx::ModelProto model;
  int numConstants = 0;
};

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
  RankNumbers numbers(main);
  OnnxFunction steps = cutIntoSteps(main);
  if (steps.steps.size() != 1 || steps.steps.front().op)
    return internalError("the program of a rank is no one model but has {0} steps", steps.steps.size());
  nameOutputs(steps);
  if (llvm::Error error = numbers.setModel(steps))
    return error;
  std::vector<int64_t> ranks = request.ranks.vec();
  if (ranks.empty()) {
    ranks.resize(static_cast<size_t>(request.stage.numRanks));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  for (int64_t rank : ranks) {
    std::string file = llvm::formatv("rank-{0,0+4}.onnx", rank);
    llvm::Expected<std::string> bytes = numbers.print(rank, file);
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

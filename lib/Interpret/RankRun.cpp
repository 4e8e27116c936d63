// Ops evaluated one after the other.
#include "RankRun.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Interpret/Run.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

std::string describeOp(mlir::Operation *op) {
  auto name = op->getAttrOfType<mlir::StringAttr>(opAttribute);
  auto location = llvm::dyn_cast<mlir::NameLoc>(op->getLoc());
  std::string kind = op->getName().getStringRef().str();
  if (name)
    return kind + " '" + name.str() + "'";
  return location ? kind + " '" + location.getName().str() + "'" : kind;
}

llvm::Error checkType(const Tensor &tensor, mlir::Type type, const llvm::Twine &what) {
  auto expected = llvm::dyn_cast<mlir::RankedTensorType>(type);
  if (!expected)
    return llvm::Error::success();
  size_t held = tensor.element && tensor.isFloat() ? tensor.floats.size() : tensor.ints.size();
  if (tensor.element == expected.getElementType() && expected.getShape() == llvm::ArrayRef<int64_t>(tensor.dims) &&
      static_cast<int64_t>(held) == tensor.numElements())
    return llvm::Error::success();
  std::string element;
  llvm::raw_string_ostream stream(element);
  if (tensor.element)
    stream << tensor.element;
  return inputError("{0} is {1} of {2} with {3} elements, not {4}", what.str(), printDims(tensor.dims), element, held,
                    expected);
}

llvm::Error checkNumInputs(mlir::func::FuncOp main, size_t given) {
  int64_t microBatches = microBatchesOf(main);
  size_t wanted = main.getNumArguments() * static_cast<size_t>(microBatches);
  if (given == wanted)
    return llvm::Error::success();
  return inputError("'main' takes {0} inputs{1}, {2} are given", wanted,
                    microBatches == 1 ? "" : llvm::formatv(" in {0} micro-batches", microBatches).str(), given);
}

ProgramText::ProgramText(mlir::ModuleOp module) {
  for (auto function : module.getOps<mlir::func::FuncOp>()) {
    if (function.isExternal())
      continue;
    functions[function.getName()] = function;
    llvm::DenseMap<mlir::Value, mlir::Operation *> last;
    for (mlir::Operation &op : function.front()) {
      if (auto constant = llvm::dyn_cast<ConstantOp>(op))
        constants[&op] =
            std::make_shared<Tensor>(Tensor::read(llvm::cast<mlir::DenseElementsAttr>(constant.getValue())));
      for (mlir::Value value : llvm::concat<const mlir::Value>(
               llvm::to_vector(op.getOperands()),
               llvm::map_to_vector(op.getResults(), [](auto result) { return mlir::Value(result); })))
        last[value] = &op;
    }
    for (auto [value, op] : last)
      dying[op].push_back(value);
  }
  mainFunction = functions.lookup("main");
  parted = mainFunction && !mainFunction.getOps<PartEndOp>().empty();
}

llvm::ArrayRef<mlir::Value> ProgramText::dyingAfter(mlir::Operation *op) const {
  auto found = dying.find(op);
  return found == dying.end() ? llvm::ArrayRef<mlir::Value>() : llvm::ArrayRef(found->second);
}

bool RankRun::enterPart(int64_t index) {
  size_t count = text.main().getNumArguments(), first = static_cast<size_t>(index) * count;
  auto known = betweenParts.find(index);
  if (known == betweenParts.end() && (index < 0 || first + count > inputs.size() || !started.insert(index).second))
    return false;
  microBatch = index;
  end = nullptr;
  if (known == betweenParts.end())
    return enter(text.main(), llvm::ArrayRef(inputs).slice(first, count)), true;
  frames.push_back(std::move(known->second));
  betweenParts.erase(known);
  return true;
}

bool RankRun::enterUpdate() {
  if (!finished)
    return false;
  end = nullptr;
  frames.push_back(std::move(*finished));
  finished.reset();
  return true;
}

/// Keeps the values of the micro-batch for its next part, or for the update.
void RankRun::endPart(mlir::Operation *op) {
  ++frames.back().next;
  if (llvm::isa<MicroBatchEndOp>(op)) {
    finished = std::move(frames.back());
    ++finishedCount;
  } else {
    betweenParts[microBatch] = std::move(frames.back());
  }
  frames.pop_back();
  end = op;
}

TensorRef RankRun::accumulate(mlir::Operation *op, Tensor value) {
  std::vector<mlir::Operation *> path;
  for (const Frame &frame : llvm::ArrayRef(frames).drop_back())
    path.push_back(&*frame.next);
  path.push_back(op);
  RunningSum &sum = (*sums)[path];
  sum.waiting.emplace(microBatch, std::move(value));
  for (auto first = sum.waiting.begin(); first != sum.waiting.end() && first->first == sum.next;
       first = sum.waiting.erase(first), ++sum.next) {
    if (sum.next == 0) {
      *sum.total = std::move(first->second);
      continue;
    }
    for (auto [total, own] : llvm::zip_equal(sum.total->floats, first->second.floats))
      total += own;
    roundToElement(*sum.total);
  }
  return sum.total;
}

void RankRun::enter(mlir::func::FuncOp function, llvm::ArrayRef<TensorRef> arguments) {
  Frame frame;
  frame.next = function.front().begin();
  for (auto [argument, tensor] : llvm::zip_equal(function.getArguments(), arguments))
    frame.values[argument] = tensor;
  frames.push_back(std::move(frame));
}

/// Hands the operands of a return to the call, or out.
void RankRun::leave(mlir::Operation *end) {
  std::vector<TensorRef> returned;
  for (mlir::Value value : end->getOperands())
    returned.push_back(frames.back().values.lookup(value));
  frames.pop_back();
  if (frames.empty()) {
    results = std::move(returned);
    done = true;
    return;
  }
  mlir::Operation *call = &*frames.back().next++;
  for (auto [result, tensor] : llvm::zip_equal(call->getResults(), returned))
    frames.back().values[result] = tensor;
  forget(call);
}

void RankRun::forget(mlir::Operation *op) {
  for (mlir::Value value : text.dyingAfter(op))
    frames.back().values.erase(value);
}

llvm::Error RankRun::advance() {
  while (!done && !waiting && !end) {
    mlir::Operation *op = &*frames.back().next;
    if (llvm::Error error = runOp(op))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error RankRun::runOp(mlir::Operation *op) {
  Frame &frame = frames.back();
  if (llvm::isa<mlir::func::ReturnOp>(op))
    return leave(op), llvm::Error::success();
  if (isPartEnd(op) && frames.size() > 1)
    return inputError("{0} stands in a function that 'main' calls: parts are those of 'main'", describeOp(op));
  if (isPartEnd(op))
    return endPart(op), llvm::Error::success();
  if (auto call = llvm::dyn_cast<mlir::func::CallOp>(op)) {
    mlir::func::FuncOp callee = text.function(call.getCallee());
    if (!callee)
      return inputError("the program calls '{0}', which it does not have", call.getCallee());
    constexpr size_t maxDepth = 64;
    if (frames.size() > maxDepth)
      return inputError("the program's functions call one another more than {0} deep", maxDepth);
    std::vector<TensorRef> arguments;
    for (mlir::Value operand : call.getOperands())
      arguments.push_back(frame.values.lookup(operand));
    return enter(callee, arguments), llvm::Error::success();
  }
  if (llvm::isa<CollectiveInterface, ReceiveOp, SendOp>(op)) {
    waiting = op;
    return llvm::Error::success();
  }
  if (llvm::isa<ConstantOp>(op)) {
    frame.values[op->getResult(0)] = text.constant(op);
  } else if (llvm::isa<ParameterOp>(op)) {
    llvm::Expected<TensorRef> piece = parameters(op);
    if (!piece)
      return piece.takeError();
    frame.values[op->getResult(0)] = std::move(*piece);
  } else if (!llvm::isa<NoneOp>(op)) {
    if (llvm::Error error = evaluate(op))
      return error;
  }
  ++frame.next;
  forget(op);
  return llvm::Error::success();
}

llvm::Error RankRun::evaluate(mlir::Operation *op) {
  Frame &frame = frames.back();
  llvm::SmallVector<const Tensor *> operands;
  for (mlir::Value operand : op->getOperands())
    operands.push_back(frame.values.lookup(operand).get());
  Evaluated evaluated;
  if (auto rankOp = llvm::dyn_cast<RankInterface>(op))
    evaluated = rankOp.evaluateOnRank(operands, mesh, rank);
  else if (auto operation = llvm::dyn_cast<OperatorInterface>(op))
    evaluated = operation.evaluate(operands);
  if (!evaluated)
    return llvm::make_error<MissingKernel>(op);
  for (auto [result, tensor] : llvm::zip_equal(op->getResults(), *evaluated)) {
    if (isAbsent(result))
      continue;
    roundToElement(tensor);
    if (llvm::Error error = checkType(tensor, result.getType(), "the result of " + describeOp(op)))
      return internalError("{0}", takeMessage(std::move(error)).second);
    frame.values[result] =
        op->hasTrait<Accumulates>() ? accumulate(op, std::move(tensor)) : std::make_shared<Tensor>(std::move(tensor));
  }
  return llvm::Error::success();
}

void RankRun::finish(llvm::ArrayRef<TensorRef> outputs) {
  mlir::Operation *op = waiting;
  waiting = nullptr;
  for (auto [result, output] : llvm::zip_equal(op->getResults(), outputs))
    frames.back().values[result] = output;
  ++frames.back().next;
  forget(op);
}

} // namespace apc

// Moves each run of equal segments into a function.
#include "OutlineLayers.h"

#include "apc/IR/Apc.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/IR/Program/Repetition.h"

#include "mlir/IR/IRMapping.h"

#include <map>

namespace apc {

namespace {

class LayerOutliner {
public:
  LayerOutliner(mlir::ModuleOp program, const RepeatedRun &run, std::string name)
      : program(program), run(run), name(std::move(name)) {
    for (auto [position, op] : llvm::enumerate(run.ops))
      positions[op] = position;
  }

  /// False: nothing is changed, since the function would take and return as much as it does.
  bool outline();

private:
  /// An argument of the function of a run: the operands, (op of the segment, operand), that read it.
  struct Place {
    llvm::SmallVector<std::pair<size_t, unsigned>, 2> uses;
  };
  /// The values that segments read from outside; places that read equal values in every segment share an argument.
  std::vector<Place> argumentsOf() const;
  /// (op of the segment, result) that something outside uses, in some segment.
  std::vector<std::pair<size_t, unsigned>> resultsOf() const;
  mlir::func::FuncOp makeFunction(llvm::ArrayRef<Place> arguments, llvm::ArrayRef<std::pair<size_t, unsigned>> results);
  bool isInside(mlir::Operation *op, size_t segment) const {
    auto found = positions.find(op);
    return found != positions.end() && found->second / run.period == segment;
  }

  mlir::ModuleOp program;
  const RepeatedRun &run;
  std::string name;
  llvm::DenseMap<mlir::Operation *, size_t> positions;
};

std::vector<LayerOutliner::Place> LayerOutliner::argumentsOf() const {
  std::vector<Place> arguments;
  std::map<std::vector<void *>, size_t> known;
  for (size_t k = 0; k < run.period; ++k)
    for (unsigned operand = 0; operand < run.op(0, k)->getNumOperands(); ++operand) {
      mlir::Value first = run.op(0, k)->getOperand(operand);
      if (isPlanConstant(first) || isInside(first.getDefiningOp(), 0))
        continue;
      std::vector<void *> values;
      for (size_t j = 0; j < run.count; ++j)
        values.push_back(run.op(j, k)->getOperand(operand).getAsOpaquePointer());
      auto [entry, isNew] = known.try_emplace(std::move(values), arguments.size());
      if (isNew)
        arguments.emplace_back();
      arguments[entry->second].uses.emplace_back(k, operand);
    }
  return arguments;
}

std::vector<std::pair<size_t, unsigned>> LayerOutliner::resultsOf() const {
  std::vector<std::pair<size_t, unsigned>> results;
  auto leaves = [&](size_t k, unsigned result) {
    for (size_t j = 0; j < run.count; ++j)
      for (mlir::Operation *user : run.op(j, k)->getResult(result).getUsers())
        if (!isInside(user, j))
          return true;
    return false;
  };
  for (size_t k = 0; k < run.period; ++k)
    for (unsigned result = 0; result < run.op(0, k)->getNumResults(); ++result)
      if (leaves(k, result))
        results.emplace_back(k, result);
  return results;
}

mlir::func::FuncOp LayerOutliner::makeFunction(llvm::ArrayRef<Place> arguments,
                                               llvm::ArrayRef<std::pair<size_t, unsigned>> results) {
  auto operandAt = [&](const Place &place) {
    return run.op(0, place.uses.front().first)->getOperand(place.uses.front().second);
  };
  llvm::SmallVector<mlir::Type> inputTypes, resultTypes;
  for (const Place &place : arguments)
    inputTypes.push_back(operandAt(place).getType());
  for (auto [k, result] : results)
    resultTypes.push_back(run.op(0, k)->getResult(result).getType());
  mlir::OpBuilder builder(program.getContext());
  builder.setInsertionPointToEnd(program.getBody());
  auto function =
      mlir::func::FuncOp::create(builder, program.getLoc(), name, builder.getFunctionType(inputTypes, resultTypes));
  function.setPrivate();
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  // Two arguments may be one value in the first segment, so operands are set place by place.
  mlir::IRMapping inner;
  llvm::SmallVector<mlir::Operation *> copies;
  for (size_t k = 0; k < run.period; ++k) {
    mlir::Operation *op = run.op(0, k);
    for (mlir::Value operand : op->getOperands())
      if (isPlanConstant(operand) && !inner.contains(operand))
        builder.clone(*operand.getDefiningOp(), inner);
    copies.push_back(builder.clone(*op, inner));
  }
  for (auto [argument, place] : llvm::zip_equal(body->getArguments(), arguments))
    for (auto [k, operand] : place.uses)
      copies[k]->setOperand(operand, argument);
  mlir::func::ReturnOp::create(builder, program.getLoc(), llvm::map_to_vector(results, [&](auto result) {
                                 return mlir::Value(copies[result.first]->getResult(result.second));
                               }));
  return function;
}

bool LayerOutliner::outline() {
  std::vector<Place> arguments = argumentsOf();
  std::vector<std::pair<size_t, unsigned>> results = resultsOf();
  if (arguments.size() + results.size() >= 2 * run.period)
    return false;
  mlir::func::FuncOp function = makeFunction(arguments, results);
  for (size_t j = 0; j < run.count; ++j) {
    mlir::OpBuilder builder(run.op(j, run.period - 1));
    builder.setInsertionPointAfter(run.op(j, run.period - 1));
    // Results of earlier segments are results of their calls by now.
    auto operands = llvm::map_to_vector(arguments, [&](const Place &place) {
      return run.op(j, place.uses.front().first)->getOperand(place.uses.front().second);
    });
    auto call = mlir::func::CallOp::create(builder, run.op(j, 0)->getLoc(), function, operands);
    for (auto [index, result] : llvm::enumerate(results))
      run.op(j, result.first)->getResult(result.second).replaceAllUsesWith(call.getResult(index));
    for (size_t k = run.period; k-- > 0;) {
      positions.erase(run.op(j, k));
      run.op(j, k)->erase();
    }
  }
  return true;
}

} // namespace

void outlineLayers(mlir::ModuleOp program) {
  std::vector<RepeatedRun> runs = findRepeatedRuns(mainOf(program));
  unsigned numLayers = 0;
  for (const RepeatedRun &run : runs)
    numLayers += LayerOutliner(program, run, "layer" + std::to_string(numLayers)).outline();
}

} // namespace apc

// Finds runs of equal segments and moves each into a function.
#include "ReuseLayers.h"

#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

#include <algorithm>
#include <map>

namespace apc {

namespace {

using Ops = std::vector<mlir::Operation *>;

/// Segments [begin + j * period, begin + (j + 1) * period), j < count.
struct Run {
  size_t begin = 0, period = 0, count = 0;

  size_t saved() const { return count < 2 ? 0 : (count - 1) * period; }
  size_t end() const { return begin + count * period; }
};

bool isConstant(mlir::Value value) {
  mlir::Operation *op = value.getDefiningOp();
  return op && llvm::isa<ConstantOp, NoneOp>(op);
}

/// Numbers ops so that those that could stand in for one another have the same number; references are left out.
class OpNumbering {
public:
  unsigned numberOf(mlir::Operation *op) {
    mlir::NamedAttrList attributes(op->getAttrDictionary());
    attributes.erase("apc.op");
    std::vector<const void *> key = {op->getName().getAsOpaquePointer(),
                                     attributes.getDictionary(op->getContext()).getAsOpaquePointer()};
    for (mlir::Value operand : op->getOperands()) {
      key.push_back(operand.getType().getAsOpaquePointer());
      key.push_back(isConstant(operand) ? operand.getDefiningOp() : nullptr);
    }
    for (mlir::Type type : op->getResultTypes())
      key.push_back(type.getAsOpaquePointer());
    auto next = static_cast<unsigned>(numbers.size());
    return numbers.try_emplace(std::move(key), next).first->second;
  }

private:
  std::map<std::vector<const void *>, unsigned> numbers;
};

class LayerFinder {
public:
  LayerFinder(mlir::ModuleOp program, mlir::func::FuncOp main);

  void run() { outlineWithin(0, ops.size()); }

private:
  void outlineWithin(size_t begin, size_t end);
  Run bestRun(size_t begin, size_t end) const;
  /// Distances between an op and the next ones of its number: where periods come from.
  std::vector<size_t> periods(size_t begin, size_t end) const;
  /// The longest run with this period from `begin` on in which references agree, too.
  Run verifiedRun(size_t begin, size_t period, size_t end) const;
  /// True when segment `other` refers to its own ops as segment `first` does.
  bool refersAlike(size_t first, size_t other, size_t period) const;
  /// Values made before `at` and used from there on.
  size_t numLiveAt(size_t at) const;
  void outline(const Run &run);

  /// An argument of the function of a run: the operands, (op of the segment, operand), that read it.
  struct Place {
    llvm::SmallVector<std::pair<size_t, unsigned>, 2> uses;
  };
  /// What the segments read from outside; places that read equal values in every segment share an argument.
  std::vector<Place> argumentsOf(const Run &run) const;
  /// (op of the segment, result) that something outside uses, in some segment.
  std::vector<std::pair<size_t, unsigned>> resultsOf(const Run &run) const;
  mlir::func::FuncOp makeFunction(const Run &run, llvm::ArrayRef<Place> arguments,
                                  llvm::ArrayRef<std::pair<size_t, unsigned>> results);
  bool isInside(mlir::Operation *op, size_t begin, size_t period) const;

  /// The position of the op that makes `value`; none for arguments, parameters and constants.
  std::optional<size_t> positionOf(mlir::Value value) const {
    auto found = positions.find(value.getDefiningOp());
    return found == positions.end() ? std::nullopt : std::optional(found->second);
  }

  mlir::ModuleOp program;
  Ops ops;
  std::vector<unsigned> numbers;
  llvm::DenseMap<mlir::Operation *, size_t> positions;
  std::vector<size_t> lastUse; ///< by op: the position of the last op that uses one of its results
  unsigned numFunctions = 0;
};

LayerFinder::LayerFinder(mlir::ModuleOp program, mlir::func::FuncOp main) : program(program) {
  OpNumbering numbering;
  for (mlir::Operation &op : main.front().without_terminator()) {
    if (llvm::isa<ConstantOp, NoneOp, ParameterOp>(op))
      continue;
    positions[&op] = ops.size();
    ops.push_back(&op);
    numbers.push_back(numbering.numberOf(&op));
  }
  for (mlir::Operation *op : ops) {
    size_t last = 0;
    for (mlir::Operation *user : op->getUsers()) {
      auto found = positions.find(user);
      last = std::max(last, found == positions.end() ? ops.size() : found->second);
    }
    lastUse.push_back(last);
  }
}

std::vector<size_t> LayerFinder::periods(size_t begin, size_t end) const {
  constexpr unsigned maxNext = 8;
  std::map<size_t, size_t> votes;
  llvm::DenseMap<unsigned, llvm::SmallVector<size_t, 8>> before;
  for (size_t at = begin; at < end; ++at) {
    llvm::SmallVector<size_t, 8> &seen = before[numbers[at]];
    for (size_t earlier : llvm::ArrayRef(seen).take_back(maxNext))
      ++votes[at - earlier];
    seen.push_back(at);
  }
  std::vector<size_t> found;
  for (auto [period, count] : votes)
    if (count >= period && period * 2 <= end - begin)
      found.push_back(period);
  return found;
}

bool LayerFinder::refersAlike(size_t first, size_t other, size_t period) const {
  auto inner = [&](mlir::Value value, size_t begin) -> std::optional<std::pair<size_t, unsigned>> {
    auto at = positionOf(value);
    if (!at || *at < begin || *at >= begin + period)
      return std::nullopt;
    return std::pair(*at - begin, llvm::cast<mlir::OpResult>(value).getResultNumber());
  };
  for (size_t k = 0; k < period; ++k)
    for (auto [a, b] : llvm::zip_equal(ops[first + k]->getOperands(), ops[other + k]->getOperands()))
      if (inner(a, first) != inner(b, other))
        return false;
  return true;
}

Run LayerFinder::verifiedRun(size_t begin, size_t period, size_t end) const {
  Run run{begin, period, 1};
  while (run.end() + period <= end && refersAlike(begin, run.end(), period))
    ++run.count;
  return run;
}

size_t LayerFinder::numLiveAt(size_t at) const {
  size_t live = 0;
  for (size_t before = 0; before < at; ++before)
    live += lastUse[before] >= at;
  return live;
}

Run LayerFinder::bestRun(size_t begin, size_t end) const {
  Run best;
  for (size_t period : periods(begin, end))
    for (size_t at = begin; at + 2 * period <= end;) {
      size_t equal = 0;
      while (at + equal + period < end && numbers[at + equal] == numbers[at + equal + period])
        ++equal;
      size_t count = 1 + equal / period;
      if (count >= 2 && (count - 1) * period > best.saved()) {
        // The run may start anywhere in its slack: where fewest values cross is where a layer ends.
        size_t start = at;
        for (size_t shifted = at; shifted <= at + equal % period; ++shifted)
          if (numLiveAt(shifted) < numLiveAt(start))
            start = shifted;
        Run run = verifiedRun(start, period, start + count * period);
        if (run.saved() > best.saved())
          best = run;
      }
      at += equal + 1;
    }
  return best;
}

void LayerFinder::outlineWithin(size_t begin, size_t end) {
  constexpr size_t minSaved = 8;
  Run run = bestRun(begin, end);
  if (run.saved() < minSaved)
    return;
  outline(run);
  outlineWithin(begin, run.begin);
  outlineWithin(run.end(), end);
}

bool LayerFinder::isInside(mlir::Operation *op, size_t begin, size_t period) const {
  auto found = positions.find(op);
  return found != positions.end() && found->second >= begin && found->second < begin + period;
}

std::vector<LayerFinder::Place> LayerFinder::argumentsOf(const Run &run) const {
  std::vector<Place> arguments;
  std::map<std::vector<void *>, size_t> known;
  for (size_t k = 0; k < run.period; ++k)
    for (unsigned operand = 0; operand < ops[run.begin + k]->getNumOperands(); ++operand) {
      mlir::Value first = ops[run.begin + k]->getOperand(operand);
      if (isConstant(first) || isInside(first.getDefiningOp(), run.begin, run.period))
        continue;
      std::vector<void *> values;
      for (size_t j = 0; j < run.count; ++j)
        values.push_back(ops[run.begin + j * run.period + k]->getOperand(operand).getAsOpaquePointer());
      auto [entry, isNew] = known.try_emplace(std::move(values), arguments.size());
      if (isNew)
        arguments.emplace_back();
      arguments[entry->second].uses.emplace_back(k, operand);
    }
  return arguments;
}

std::vector<std::pair<size_t, unsigned>> LayerFinder::resultsOf(const Run &run) const {
  std::vector<std::pair<size_t, unsigned>> results;
  auto leaves = [&](size_t k, unsigned result) {
    for (size_t begin = run.begin; begin < run.end(); begin += run.period)
      for (mlir::Operation *user : ops[begin + k]->getResult(result).getUsers())
        if (!isInside(user, begin, run.period))
          return true;
    return false;
  };
  for (size_t k = 0; k < run.period; ++k)
    for (unsigned result = 0; result < ops[run.begin + k]->getNumResults(); ++result)
      if (leaves(k, result))
        results.emplace_back(k, result);
  return results;
}

mlir::func::FuncOp LayerFinder::makeFunction(const Run &run, llvm::ArrayRef<Place> arguments,
                                             llvm::ArrayRef<std::pair<size_t, unsigned>> results) {
  auto operandAt = [&](const Place &place) {
    return ops[run.begin + place.uses.front().first]->getOperand(place.uses.front().second);
  };
  llvm::SmallVector<mlir::Type> inputTypes, resultTypes;
  for (const Place &place : arguments)
    inputTypes.push_back(operandAt(place).getType());
  for (auto [k, result] : results)
    resultTypes.push_back(ops[run.begin + k]->getResult(result).getType());
  mlir::OpBuilder builder(program.getContext());
  builder.setInsertionPointToEnd(program.getBody());
  auto function = mlir::func::FuncOp::create(builder, program.getLoc(), "layer" + std::to_string(numFunctions++),
                                             builder.getFunctionType(inputTypes, resultTypes));
  function.setPrivate();
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  // Two arguments may be one value in the first segment, so operands are set place by place.
  mlir::IRMapping inner;
  llvm::SmallVector<mlir::Operation *> copies;
  for (size_t k = 0; k < run.period; ++k) {
    mlir::Operation *op = ops[run.begin + k];
    for (mlir::Value operand : op->getOperands())
      if (isConstant(operand) && !inner.contains(operand))
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

void LayerFinder::outline(const Run &run) {
  std::vector<Place> arguments = argumentsOf(run);
  std::vector<std::pair<size_t, unsigned>> results = resultsOf(run);
  mlir::func::FuncOp function = makeFunction(run, arguments, results);
  for (size_t begin = run.begin; begin < run.end(); begin += run.period) {
    mlir::OpBuilder builder(ops[begin + run.period - 1]);
    builder.setInsertionPointAfter(ops[begin + run.period - 1]);
    // Results of earlier segments are results of their calls by now.
    auto operands = llvm::map_to_vector(arguments, [&](const Place &place) {
      return ops[begin + place.uses.front().first]->getOperand(place.uses.front().second);
    });
    auto call = mlir::func::CallOp::create(builder, ops[begin]->getLoc(), function, operands);
    for (auto [index, result] : llvm::enumerate(results))
      ops[begin + result.first]->getResult(result.second).replaceAllUsesWith(call.getResult(index));
    for (size_t k = run.period; k-- > 0;) {
      positions.erase(ops[begin + k]);
      ops[begin + k]->erase();
    }
  }
}

} // namespace

void reuseLayers(mlir::ModuleOp program) {
  LayerFinder(program, program.lookupSymbol<mlir::func::FuncOp>("main")).run();
}

} // namespace apc

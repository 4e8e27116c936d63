// Finds runs of equal segments.
#include "apc/IR/Program/Repetition.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Program/PlanNames.h"

#include "llvm/ADT/DenseSet.h"

#include <algorithm>
#include <map>

namespace apc {

namespace {

/// Segments [begin + j * period, begin + (j + 1) * period), j < count.
struct Run {
  size_t begin = 0, period = 0, count = 0;

  size_t saved() const { return count < 2 ? 0 : (count - 1) * period; }
  size_t end() const { return begin + count * period; }
};

/// Numbers ops: ops that could replace one another have the same number; references are left out.
class OpNumbering {
public:
  unsigned numberOf(mlir::Operation *op) {
    mlir::NamedAttrList attributes(op->getAttrDictionary());
    for (llvm::StringRef name : {opAttribute, valuesAttribute, tieAttribute})
      attributes.erase(name);
    std::vector<const void *> key = {op->getName().getAsOpaquePointer(),
                                     attributes.getDictionary(op->getContext()).getAsOpaquePointer()};
    for (mlir::Value operand : op->getOperands()) {
      key.push_back(operand.getType().getAsOpaquePointer());
      key.push_back(constantOf(operand).getAsOpaquePointer()); // equal values, not the same op
    }
    for (mlir::Type type : op->getResultTypes())
      key.push_back(type.getAsOpaquePointer());
    auto next = static_cast<unsigned>(numbers.size());
    return numbers.try_emplace(std::move(key), next).first->second;
  }

private:
  std::map<std::vector<const void *>, unsigned> numbers;
};

class RunFinder {
public:
  explicit RunFinder(mlir::func::FuncOp main);

  std::vector<RepeatedRun> run() {
    findWithin(0, ops.size());
    return std::move(found);
  }

private:
  void findWithin(size_t begin, size_t end);
  Run bestRun(size_t begin, size_t end) const;
  /// Distances between an op and the next ops of its number: the candidates for periods.
  std::vector<size_t> periods(size_t begin, size_t end) const;
  /// The longest run with this period from `begin` on in which references agree, too.
  Run verifiedRun(size_t begin, size_t period, size_t end) const;
  /// True when segment `other` refers to its own ops as segment `first` does.
  bool refersAlike(size_t first, size_t other, size_t period) const;
  /// Values made before `at` and used from there on.
  size_t numLiveAt(size_t at) const;

  /// The position of the op that makes `value`; none for arguments, parameters and constants.
  std::optional<size_t> positionOf(mlir::Value value) const {
    auto found = positions.find(value.getDefiningOp());
    return found == positions.end() ? std::nullopt : std::optional(found->second);
  }

  std::vector<mlir::Operation *> ops;
  std::vector<unsigned> numbers;
  std::vector<bool> followsShared; ///< by op: ops that are left out stand right before it
  llvm::DenseMap<mlir::Operation *, size_t> positions;
  std::vector<size_t> lastUse; ///< by op: the position of the last op that uses one of its results
  std::vector<RepeatedRun> found;
};

/// Ops with their numbers, in the order of the function.
using NumberedOps = std::vector<std::pair<mlir::Operation *, unsigned>>;

/// Ops that no parameter leads to, and of which there is one or fewer than ops that read it, with those that only they
/// read: the making of a mask or of rotary tables for all layers.
llvm::DenseSet<mlir::Operation *> madeForAll(const NumberedOps &ops) {
  llvm::DenseSet<mlir::Operation *> fixed, shared;
  std::map<unsigned, size_t> counts;
  auto isFixed = [&](mlir::Value value) {
    mlir::Operation *maker = value.getDefiningOp();
    return !maker || llvm::isa<ConstantOp, NoneOp>(maker) || fixed.contains(maker);
  };
  for (auto [op, number] : ops) {
    ++counts[number];
    if (op->getNumResults() > 0 && llvm::all_of(op->getOperands(), isFixed))
      fixed.insert(op);
  }
  for (auto [op, number] : llvm::reverse(ops)) {
    auto isShared = [&](mlir::Operation *user) { return shared.contains(user); };
    bool isMadeForShared = !op->use_empty() && llvm::all_of(op->getUsers(), isShared);
    auto numUsers = static_cast<size_t>(std::distance(op->user_begin(), op->user_end()));
    bool isRare = counts[number] == 1 || counts[number] < numUsers;
    if (fixed.contains(op) && (isRare || isMadeForShared))
      shared.insert(op);
  }
  return shared;
}

RunFinder::RunFinder(mlir::func::FuncOp main) {
  OpNumbering numbering;
  NumberedOps numbered;
  for (mlir::Operation &op : main.front().without_terminator()) {
    if (llvm::isa<ConstantOp, NoneOp, ParameterOp>(op))
      continue; // ends of parts and of transfers are ops of which there is one: no run goes over them
    numbered.emplace_back(&op, numbering.numberOf(&op));
  }
  llvm::DenseSet<mlir::Operation *> shared = madeForAll(numbered);
  bool isBehindShared = false;
  for (auto [op, number] : numbered) {
    if (shared.contains(op)) { // a layer that makes it for all layers is like them
      isBehindShared = true;
      continue;
    }
    followsShared.push_back(std::exchange(isBehindShared, false));
    positions[op] = ops.size();
    ops.push_back(op);
    numbers.push_back(number);
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

std::vector<size_t> RunFinder::periods(size_t begin, size_t end) const {
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

bool RunFinder::refersAlike(size_t first, size_t other, size_t period) const {
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

Run RunFinder::verifiedRun(size_t begin, size_t period, size_t end) const {
  Run run{begin, period, 1};
  while (run.end() + period <= end && refersAlike(begin, run.end(), period))
    ++run.count;
  return run;
}

size_t RunFinder::numLiveAt(size_t at) const {
  size_t live = 0;
  for (size_t before = 0; before < at; ++before)
    live += lastUse[before] >= at;
  return live;
}

Run RunFinder::bestRun(size_t begin, size_t end) const {
  Run best;
  for (size_t period : periods(begin, end))
    for (size_t at = begin; at + 2 * period <= end;) {
      size_t equal = 0;
      while (at + equal + period < end && numbers[at + equal] == numbers[at + equal + period])
        ++equal;
      size_t count = 1 + equal / period;
      if (count >= 2 && (count - 1) * period > best.saved()) {
        // The run may start anywhere in its slack: where fewest values cross is where a layer ends, and before the
        // first layer often stands what is made for all.
        auto rankOf = [&](size_t place) { return std::pair(numLiveAt(place), !followsShared[place]); };
        size_t start = at;
        for (size_t shifted = at; shifted <= at + equal % period; ++shifted)
          if (rankOf(shifted) < rankOf(start))
            start = shifted;
        Run run = verifiedRun(start, period, start + count * period);
        if (run.saved() > best.saved())
          best = run;
      }
      at += equal + 1;
    }
  return best;
}

void RunFinder::findWithin(size_t begin, size_t end) {
  constexpr size_t minSaved = 8;
  Run run = bestRun(begin, end);
  if (run.saved() < minSaved)
    return;
  findWithin(begin, run.begin);
  auto first = ops.begin() + static_cast<ptrdiff_t>(run.begin);
  found.push_back({run.period, run.count, {first, first + static_cast<ptrdiff_t>(run.period * run.count)}});
  findWithin(run.end(), end);
}

} // namespace

std::vector<RepeatedRun> findRepeatedRuns(mlir::func::FuncOp main) { return RunFinder(main).run(); }

} // namespace apc

// A minimum cut between what cannot be recomputed and what gradients read.
#include "KeptValues.h"

#include "apc/Graph/MinimumCut.h"

namespace apc {

namespace {

constexpr unsigned mostJoins = 2;
/// A value with so many times fewer bytes than what it is made from saves little and costs a pass over all of that.
constexpr int64_t smallRatio = 8;

/// The kept storages that a recomputed one is made from.
struct Roots {
  llvm::SmallSetVector<size_t, 4> storages;
  unsigned joins = 0;
};

} // namespace

void KeptValues::addOrigins(Storage &storage) const {
  storage.isFromAttention = ops.isAttention(storage.value.getDefiningOp());
  for (size_t index : storage.sources) {
    const Storage &source = storages[index];
    const int64_t ownBytes = ops.isOfActivations(source.value) ? source.bytes : 0;
    storage.largestOrigin = std::max(storage.largestOrigin, source.isFixed ? ownBytes : source.largestOrigin);
    storage.isFromAttention |= !source.isFixed && source.isFromAttention;
  }
}

bool KeptValues::isFixed(const Storage &storage) const {
  mlir::Operation *op = storage.value.getDefiningOp();
  if (!ops.mayRecompute(op) || ops.leavesPart(storage.value))
    return true;
  if (!storage.isRead || ops.isInPart(op))
    return false;
  return storage.bytes <= storage.largestOrigin / smallRatio ||
         (ops.isForAttentionsAlone(op) && !storage.isFromAttention);
}

void KeptValues::addStorages(llvm::ArrayRef<mlir::Operation *> forward, const llvm::DenseSet<mlir::Value> &read) {
  llvm::DenseSet<mlir::Value> isRead;
  llvm::SmallVector<mlir::Value> found;
  for (mlir::Value value : read)
    ops.addSources(value, found);
  isRead.insert(found.begin(), found.end());
  llvm::DenseMap<mlir::Value, size_t> numbers;
  for (mlir::Operation *op : forward) {
    found.clear();
    for (mlir::Value operand : op->getOperands())
      ops.addSources(operand, found);
    for (mlir::Value result : op->getResults()) {
      if (ops.storageOf(result) != result || isAbsent(result))
        continue;
      Storage storage;
      storage.value = result;
      storage.bytes = shapeOf(result)->bytes();
      storage.isRead = isRead.contains(result);
      for (mlir::Value source : found)
        storage.sources.push_back(numbers.lookup(source));
      addOrigins(storage);
      storage.isFixed = isFixed(storage);
      numbers[result] = storages.size();
      storages.push_back(std::move(storage));
    }
  }
}

void KeptValues::choose() {
  CutGraph graph;
  for (auto [index, storage] : llvm::enumerate(storages)) {
    graph.weights.push_back(storage.bytes);
    if (storage.isRead)
      graph.targets.push_back(index);
    if (storage.isFixed)
      graph.sources.push_back(index);
    else
      for (size_t source : storage.sources)
        graph.edges.emplace_back(source, index);
  }
  isKept.assign(storages.size(), false);
  for (size_t kept : minimumNodeCut(graph))
    isKept[kept] = true;
  std::vector<bool> isNeeded(storages.size());
  recomputed.clear();
  for (size_t index = storages.size(); index-- > 0;) {
    const Storage &storage = storages[index];
    if (isKept[index] || !(storage.isRead || isNeeded[index]))
      continue;
    recomputed.insert(storage.value);
    for (size_t source : storage.sources)
      isNeeded[source] = true;
  }
}

bool KeptValues::limitJoins() {
  std::vector<Roots> roots(storages.size());
  bool isLimited = false;
  for (auto [index, storage] : llvm::enumerate(storages)) {
    Roots &own = roots[index];
    if (!recomputed.contains(storage.value) || ops.isInPart(storage.value.getDefiningOp())) {
      if (isKept[index])
        own.storages.insert(index);
      continue;
    }
    size_t most = 0;
    for (size_t source : storage.sources) {
      own.storages.insert(roots[source].storages.begin(), roots[source].storages.end());
      own.joins = std::max(own.joins, roots[source].joins);
      most = std::max<size_t>(most, roots[source].storages.size());
    }
    own.joins += own.storages.size() > most ? 1 : 0;
    if (own.joins <= mostJoins)
      continue;
    storage.isFixed = isLimited = true;
    own = Roots();
    own.storages.insert(index);
  }
  return isLimited;
}

KeptValues::KeptValues(llvm::ArrayRef<mlir::Operation *> forward, const RecomputedLayers &recomputed,
                       const llvm::DenseSet<mlir::Value> &read)
    : ops(forward, recomputed) {
  addStorages(forward, read);
  do
    choose();
  while (limitJoins());
}

} // namespace apc

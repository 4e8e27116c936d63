// Decision trees over rows of features.
#include "Forest.h"

#include "../Attributes.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace apc {

using namespace forests;

namespace {

std::vector<double> realsOf(mlir::Operation *op, llvm::StringRef attribute) {
  auto elements = op->getAttrOfType<mlir::DenseElementsAttr>(attribute);
  std::vector<double> reals;
  if (!elements)
    return reals;
  Tensor tensor = Tensor::read(elements);
  for (int64_t i = 0; i < tensor.numElements(); ++i)
    reals.push_back(getElement(tensor, i).asReal());
  return reals;
}

/// The sets of the nodes of mode Member, in their order, each ended by NaN.
void readMembers(mlir::Operation *op, Forest &forest) {
  std::vector<double> values = realsOf(op, "membership_values");
  size_t at = 0;
  for (TreeNode &node : forest.nodes) {
    if (node.mode != Member)
      continue;
    for (; at < values.size() && !std::isnan(values[at]); ++at)
      node.members.insert(values[at]);
    ++at;
  }
}

/// Where the targets and weights of each leaf begin, and their end; one each without `leaf_begins`.
mlir::LogicalResult readLeaves(TreeEnsembleOp op, Forest &forest) {
  auto end = static_cast<int64_t>(forest.weights.size());
  if (forest.targets.size() != forest.weights.size())
    return op.emitOpError() << "has " << forest.weights.size() << " leaves, but " << forest.targets.size()
                            << " targets of leaves";
  if (auto begins = op.getLeafBegins())
    forest.begins = begins->vec();
  else
    for (int64_t leaf = 0; leaf < end; ++leaf)
      forest.begins.push_back(leaf);
  forest.begins.push_back(end);
  if (forest.begins.front() < 0 || !llvm::is_sorted(forest.begins))
    return op.emitOpError() << "attribute 'leaf_begins' counts up from 0 to at most " << end
                            << " in order, or is absent";
  return mlir::success();
}

/// An error at the op where an index lies outside of the list that it points into.
mlir::LogicalResult checkForest(TreeEnsembleOp op, const Forest &forest) {
  int64_t numFeatures = dimsOf(op.getX()).back(), numNodes = static_cast<int64_t>(forest.nodes.size());
  auto numLeaves = static_cast<int64_t>(forest.begins.size()) - 1;
  auto within = [](int64_t index, int64_t size) { return index >= 0 && index < size; };
  for (auto [index, node] : llvm::enumerate(forest.nodes)) {
    if (!within(node.feature, numFeatures) || !within(node.mode, Member + 1))
      return op.emitOpError() << "node " << index << " tests feature " << node.feature << " of " << numFeatures
                              << " in mode " << node.mode << "; modes 0 to " << int64_t(Member) << " are accepted";
    for (Child child : {node.whenTrue, node.whenFalse})
      if (!within(child.index, child.isLeaf ? numLeaves : numNodes))
        return op.emitOpError() << "node " << index << " leads to " << (child.isLeaf ? "leaf " : "node ") << child.index
                                << ", which is not there";
  }
  for (int64_t target : forest.targets)
    if (!within(target, forest.numTargets))
      return op.emitOpError() << "a leaf has target " << target << " of " << forest.numTargets;
  for (int64_t root : forest.roots)
    if (!within(root, numNodes))
      return op.emitOpError() << "root " << root << " is no node";
  if (!within(op.getAggregateFunction(), Greatest + 1) || !within(op.getPostTransform(), Probit + 1))
    return op.emitOpError() << "attributes 'aggregate_function' and 'post_transform' are " << op.getAggregateFunction()
                            << " and " << op.getPostTransform() << "; 0 to 3 and 0 to 4 are accepted";
  return mlir::success();
}

} // namespace

mlir::FailureOr<Forest> readForest(TreeEnsembleOp op) {
  if (mlir::failed(checkDims(op, 0, {-1, -1})))
    return mlir::failure();
  std::vector<double> modes = realsOf(op, "nodes_modes"), splits = realsOf(op, "nodes_splits");
  llvm::ArrayRef<int64_t> features = op.getNodesFeatureids(), trueIds = op.getNodesTruenodeids();
  llvm::ArrayRef<int64_t> falseIds = op.getNodesFalsenodeids(), trueLeaves = op.getNodesTrueleafs();
  llvm::ArrayRef<int64_t> falseLeaves = op.getNodesFalseleafs(),
                          missing = intsAttribute(op, "nodes_missing_value_tracks_true");
  for (size_t size : {modes.size(), features.size(), trueIds.size(), falseIds.size(), trueLeaves.size(),
                      falseLeaves.size(), missing.empty() ? splits.size() : missing.size()})
    if (size != splits.size())
      return op.emitOpError() << "attributes 'nodes_...' have " << splits.size() << " and " << size
                              << " entries; as many are needed",
             mlir::failure();
  Forest forest;
  for (size_t i = 0; i < splits.size(); ++i)
    forest.nodes.push_back({features[i],
                            static_cast<int64_t>(modes[i]),
                            splits[i],
                            !missing.empty() && missing[i] != 0,
                            {trueIds[i], trueLeaves[i] != 0},
                            {falseIds[i], falseLeaves[i] != 0},
                            {}});
  forest.roots = op.getTreeRoots();
  forest.targets = op.getLeafTargetids();
  forest.weights = realsOf(op, "leaf_weights");
  forest.numTargets = static_cast<int64_t>(op.getNTargets().value_or(1));
  readMembers(op, forest);
  if (mlir::failed(readLeaves(op, forest)) || mlir::failed(checkForest(op, forest)))
    return mlir::failure();
  return forest;
}

namespace {

/// The leaves' weights put together; 0 for a target that no leaf reached has.
double combined(llvm::ArrayRef<double> weights, int64_t aggregate, size_t numTrees) {
  if (weights.empty())
    return 0;
  if (aggregate == Least || aggregate == Greatest)
    return aggregate == Least ? *llvm::min_element(weights) : *llvm::max_element(weights);
  double sum = 0;
  for (double weight : weights)
    sum += weight;
  return aggregate == Average ? sum / static_cast<double>(numTrees) : sum;
}

void transform(llvm::MutableArrayRef<double> scores, int64_t how) {
  if (how == SoftMax || how == SoftMaxZero) {
    auto counts = [&](double score) { return how == SoftMax || std::abs(score) > 1e-7; };
    double greatest = *llvm::max_element(scores), sum = 0;
    for (double &score : scores) {
      bool counted = counts(score);
      score = counted ? std::exp(score - greatest) : 0;
      sum += score;
    }
    for (double &score : scores)
      score = sum > 0 ? score / sum : score;
  }
  for (double &score : scores) {
    if (how == Logistic)
      score = sigmoid(score);
    else if (how == Probit)
      score = probit(score);
  }
}

} // namespace

mlir::LogicalResult TreeEnsembleOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  auto forest = readForest(*this);
  if (mlir::failed(forest))
    return mlir::failure();
  return addType(*this, {dimsOf(getX())[0], forest->numTargets}, operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> TreeEnsembleOp::getRule() {
  RuleBuilder layout(*this);
  DimFactors rows = layout.parallel(dimsOf(getX())[0]);
  layout.setOperand(0, {rows, layout.whole(dimsOf(getX())[1])});
  layout.setResult(0, {rows, layout.whole(dimsOf(getY())[1])});
  FactorRule rule = layout.take(Work::Stream);
  // A tree of n nodes is about log2(n) deep.
  double trees = std::max<double>(1, static_cast<double>(getTreeRoots().size()));
  double depth = std::log2(1 + static_cast<double>(getNodesFeatureids().size()) / trees);
  setFlops(rule, double(dimsOf(getX())[0]) * trees * (depth + 1));
  return rule;
}

Evaluated TreeEnsembleOp::evaluate(Operands operands) {
  auto forest = readForest(*this);
  if (!operands[0] || !operands[0]->isFloat() || mlir::failed(forest) || forest->numTargets == 0)
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  int64_t numFeatures = operands[0]->dims[1];
  std::vector<llvm::SmallVector<double>> votes;
  for (int64_t row = 0; row < operands[0]->dims[0]; ++row) {
    votes.assign(forest->numTargets, {});
    auto features = llvm::ArrayRef(operands[0]->floats).slice(row * numFeatures, numFeatures);
    for (int64_t root : forest->roots) {
      std::optional<int64_t> leaf = forest->leafOf(root, features);
      if (!leaf)
        return std::nullopt;
      for (int64_t vote = forest->begins[*leaf]; vote < forest->begins[*leaf + 1]; ++vote)
        votes[forest->targets[vote]].push_back(forest->weights[vote]);
    }
    auto scores = llvm::MutableArrayRef(result.floats).slice(row * forest->numTargets, forest->numTargets);
    for (auto [score, weights] : llvm::zip_equal(scores, votes))
      score = combined(weights, getAggregateFunction(), forest->roots.size());
    transform(scores, getPostTransform());
  }
  return evaluatedAs(std::move(result));
}

} // namespace apc

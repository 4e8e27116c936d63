// Decision trees in lists of nodes with names, before version 5 of ai.onnx.ml: TreeEnsembleRegressor and
// TreeEnsembleClassifier.
#include "Parts.h"

#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Indexing/Indexing.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

namespace apc {

namespace {

/// The number of a tree and that of a node in it.
using NodeName = std::pair<int64_t, int64_t>;

/// A target, or class, and what a leaf adds to it.
struct Vote {
  int64_t target;
  double weight;
};

/// The nodes as the model lists them.
struct NodeLists {
  llvm::ArrayRef<int64_t> trees, ids, features, whenTrue, whenFalse, missing;
  std::vector<llvm::StringRef> modes;
  std::vector<double> splits;
  std::map<NodeName, size_t> places;

  bool isLeaf(size_t node) const { return modes[node] == "LEAF"; }
};

/// Trees as `tree_ensemble` has them: tests and leaves counted apart.
struct Trees {
  llvm::SmallVector<int64_t> features, whenTrue, whenFalse, isTrueLeaf, isFalseLeaf, missing, roots;
  std::vector<double> modes, splits;
  std::vector<std::vector<Vote>> leaves;
};

std::vector<Vote> readVotes(Parts &p, llvm::StringRef kind, std::vector<NodeName> &names) {
  auto named = [&](llvm::StringRef rest) { return (kind + "_" + rest).str(); };
  llvm::ArrayRef<int64_t> trees = p.integers(named("treeids")), nodes = p.integers(named("nodeids"));
  llvm::ArrayRef<int64_t> targets = p.integers(named("ids"));
  std::vector<double> weights = p.reals(named("weights"));
  std::vector<Vote> votes;
  if (trees.size() != nodes.size() || trees.size() != targets.size() || trees.size() != weights.size()) {
    p.fail("attributes '" + kind + "_treeids', '..._nodeids', '..._ids' and '..._weights' have " +
           llvm::Twine(trees.size()) + ", " + llvm::Twine(nodes.size()) + ", " + llvm::Twine(targets.size()) + " and " +
           llvm::Twine(weights.size()) + " entries; as many are needed");
    return votes;
  }
  for (size_t i = 0; i < trees.size(); ++i) {
    names.push_back({trees[i], nodes[i]});
    votes.push_back({targets[i], weights[i]});
  }
  return votes;
}

NodeLists readNodes(Parts &p) {
  p.ignore("nodes_hitrates");
  p.ignore("nodes_hitrates_as_tensor");
  NodeLists nodes{
      p.integers("nodes_treeids"),     p.integers("nodes_nodeids"),      p.integers("nodes_featureids"),
      p.integers("nodes_truenodeids"), p.integers("nodes_falsenodeids"), p.integers("nodes_missing_value_tracks_true"),
      p.texts("nodes_modes"),          p.reals("nodes_values"),          {}};
  size_t count = nodes.ids.size();
  for (size_t size : {nodes.trees.size(), nodes.features.size(), nodes.whenTrue.size(), nodes.whenFalse.size(),
                      nodes.modes.size(), nodes.splits.size(), nodes.missing.empty() ? count : nodes.missing.size()})
    if (size != count || count == 0)
      p.fail("attributes 'nodes_...' have " + llvm::Twine(count) + " and " + llvm::Twine(size) +
             " entries; as many, and at least one, are needed");
  for (size_t i = 0; i < count && !p.hasFailed(); ++i)
    if (!nodes.places.try_emplace({nodes.trees[i], nodes.ids[i]}, i).second)
      p.fail("node " + llvm::Twine(nodes.ids[i]) + " of tree " + llvm::Twine(nodes.trees[i]) + " is listed twice");
  return nodes;
}

/// The mode of a test as `tree_ensemble` counts them.
double modeOf(Parts &p, llvm::StringRef mode) {
  constexpr llvm::StringRef modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"};
  const auto *found = llvm::find(modes, mode);
  if (found == std::end(modes))
    p.fail("attribute 'nodes_modes' has '" + mode + "'; LEAF, " + llvm::join(llvm::ArrayRef(modes), ", ") +
           " are accepted");
  return static_cast<double>(found - std::begin(modes));
}

/// Turns lists of nodes into trees.
class TreeBuilder {
public:
  TreeBuilder(Parts &p, const NodeLists &nodes) : p(p), nodes(nodes) {
    int64_t tests = 0, leaves = 0;
    for (size_t i = 0; i < nodes.ids.size(); ++i)
      indices.push_back(nodes.isLeaf(i) ? leaves++ : tests++);
    trees.leaves.resize(static_cast<size_t>(leaves));
  }

  Trees build(llvm::ArrayRef<NodeName> names, llvm::ArrayRef<Vote> votes) {
    for (size_t i = 0; i < nodes.ids.size() && !p.hasFailed(); ++i)
      if (!nodes.isLeaf(i))
        addTest(i);
    for (auto [name, vote] : llvm::zip_equal(names, votes))
      if (auto place = nodes.places.find(name); place != nodes.places.end() && nodes.isLeaf(place->second))
        trees.leaves[static_cast<size_t>(indices[place->second])].push_back(vote);
      else
        p.fail("a weight stands at node " + llvm::Twine(name.second) + " of tree " + llvm::Twine(name.first) +
               ", which is no leaf");
    addRoots();
    return std::move(trees);
  }

private:
  void addTest(size_t node) {
    trees.features.push_back(nodes.features[node]);
    trees.modes.push_back(modeOf(p, nodes.modes[node]));
    trees.splits.push_back(nodes.splits[node]);
    trees.missing.push_back(nodes.missing.empty() ? 0 : nodes.missing[node]);
    addChild(node, nodes.whenTrue[node], trees.whenTrue, trees.isTrueLeaf);
    addChild(node, nodes.whenFalse[node], trees.whenFalse, trees.isFalseLeaf);
  }

  void addChild(size_t node, int64_t id, llvm::SmallVectorImpl<int64_t> &to, llvm::SmallVectorImpl<int64_t> &isLeaf) {
    auto place = nodes.places.find({nodes.trees[node], id});
    if (place == nodes.places.end()) {
      p.fail("node " + llvm::Twine(nodes.ids[node]) + " of tree " + llvm::Twine(nodes.trees[node]) + " leads to node " +
             llvm::Twine(id) + ", which is not there");
      return;
    }
    isChild.insert(place->second);
    to.push_back(indices[place->second]);
    isLeaf.push_back(nodes.isLeaf(place->second));
  }

  /// The node of each tree to which none leads. A leaf is put below a test that sends all to it.
  void addRoots() {
    std::map<int64_t, int64_t> rootsOfTree;
    for (size_t i = 0; i < nodes.ids.size(); ++i) {
      rootsOfTree[nodes.trees[i]] += isChild.count(i) == 0;
      if (isChild.count(i) != 0)
        continue;
      trees.roots.push_back(nodes.isLeaf(i) ? static_cast<int64_t>(trees.features.size()) : indices[i]);
      if (!nodes.isLeaf(i))
        continue;
      for (auto *list : {&trees.whenTrue, &trees.whenFalse})
        list->push_back(indices[i]);
      for (auto *list : {&trees.isTrueLeaf, &trees.isFalseLeaf})
        list->push_back(1);
      for (auto *list : {&trees.features, &trees.missing})
        list->push_back(0);
      for (auto *list : {&trees.modes, &trees.splits})
        list->push_back(0);
    }
    for (auto [tree, roots] : rootsOfTree)
      if (roots != 1)
        p.fail("tree " + llvm::Twine(tree) + " has " + llvm::Twine(roots) +
               " nodes to which none leads; one is needed");
  }

  Parts &p;
  const NodeLists &nodes;
  std::vector<int64_t> indices; ///< of each node among the tests or the leaves
  std::set<size_t> isChild;
  Trees trees;
};

/// Numbers as an attribute of `tree_ensemble`.
mlir::Attribute tensor(llvm::ArrayRef<double> values, mlir::Type element) {
  Tensor list = zeros(mlir::RankedTensorType::get({static_cast<int64_t>(values.size())}, element));
  for (auto [i, value] : llvm::enumerate(values))
    setElement(list, static_cast<int64_t>(i), Number::of(value));
  roundToElement(list);
  return list.toAttribute();
}

/// X's rows through the trees: [rows, targets], before anything else.
mlir::Value throughTrees(Parts &p, mlir::Value x, const Trees &trees, int64_t aggregate, int64_t targets) {
  llvm::SmallVector<int64_t> begins, targetsOfLeaves;
  std::vector<double> weights;
  for (const std::vector<Vote> &leaf : trees.leaves) {
    begins.push_back(static_cast<int64_t>(weights.size()));
    for (const Vote &vote : leaf) {
      targetsOfLeaves.push_back(vote.target);
      weights.push_back(vote.weight);
    }
  }
  mlir::Type element = mlir::getElementTypeOrSelf(x);
  mlir::Type byte = mlir::IntegerType::get(x.getContext(), 8, mlir::IntegerType::Unsigned);
  auto ints = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> list) { return p.attribute(name, list); };
  llvm::SmallVector<mlir::NamedAttribute> attributes = {p.attribute("aggregate_function", aggregate),
                                                        p.attribute("n_targets", targets),
                                                        ints("leaf_targetids", targetsOfLeaves),
                                                        p.attribute("leaf_weights", tensor(weights, element)),
                                                        ints("nodes_featureids", trees.features),
                                                        p.attribute("nodes_modes", tensor(trees.modes, byte)),
                                                        p.attribute("nodes_splits", tensor(trees.splits, element)),
                                                        ints("nodes_truenodeids", trees.whenTrue),
                                                        ints("nodes_trueleafs", trees.isTrueLeaf),
                                                        ints("nodes_falsenodeids", trees.whenFalse),
                                                        ints("nodes_falseleafs", trees.isFalseLeaf),
                                                        ints("nodes_missing_value_tracks_true", trees.missing),
                                                        ints("tree_roots", trees.roots)};
  if (llvm::any_of(trees.leaves, [](const std::vector<Vote> &leaf) { return leaf.size() != 1; }))
    attributes.push_back(ints("leaf_begins", begins));
  return p.make<TreeEnsembleOp>(x, attributes);
}

/// Everything that the attributes of both operators say alike.
struct Ensemble {
  mlir::Value x;
  std::vector<NodeName> names;
  std::vector<Vote> votes;
  std::vector<double> base;

  Ensemble(Parts &p, llvm::StringRef kind)
      : x(p.features(0)), votes(readVotes(p, kind, names)), base(p.reals("base_values")) {}

  /// The scores [rows, targets] with the base of each added; null where the node has failed.
  mlir::Value scores(Parts &p, int64_t aggregate, int64_t targets) const {
    NodeLists nodes = readNodes(p);
    if (p.hasFailed())
      return {};
    Trees trees = TreeBuilder(p, nodes).build(names, votes);
    if (!base.empty() && static_cast<int64_t>(base.size()) != targets)
      p.fail("attribute 'base_values' has " + llvm::Twine(base.size()) + " entries for " + llvm::Twine(targets) +
             " scores; as many are needed");
    if (p.hasFailed())
      return {};
    mlir::Value sums = throughTrees(p, x, trees, aggregate, targets);
    return base.empty() ? sums : p.add(sums, p.constant<double>(base, targets, x));
  }
};

PartValues treeRegressor(Parts &p) {
  constexpr int64_t most = 1 << 20;
  constexpr llvm::StringRef aggregates[] = {"SUM", "AVERAGE", "MIN", "MAX"};
  constexpr int64_t numbers[] = {1, 0, 2, 3}; // as `tree_ensemble` counts them
  int64_t targets = p.integer("n_targets", 1);
  if (targets < 1 || targets > most)
    p.fail("attribute 'n_targets' is " + llvm::Twine(targets) + "; 1 to 2^20 are accepted");
  auto place = llvm::find(aggregates, p.text("aggregate_function", aggregates)) - std::begin(aggregates);
  Ensemble ensemble(p, "target");
  return {p.toF32(transformed(p, ensemble.scores(p, numbers[place], targets)))};
}

/// Two classes of which the leaves weigh one: the first named, whose weight is the score of the second class, or the
/// second, beside which the first scores 0. Weights that are all at least 0 are taken for shares, above a half of which
/// the second class begins; others are on both sides of 0. ONNX Runtime has it so, and ONNX's text leaves it open.
PartValues classifyByOne(Parts &p, Ensemble &ensemble, llvm::ArrayRef<int64_t> labels) {
  bool isFirst = llvm::all_of(ensemble.votes, [](const Vote &vote) { return vote.target == 0; });
  bool areShares = llvm::all_of(ensemble.votes, [](const Vote &vote) { return vote.weight >= 0; });
  for (Vote &vote : ensemble.votes)
    vote.target = 0;
  mlir::Value score = ensemble.scores(p, 1, 1);
  mlir::Value label = labelAbove(p, score, areShares ? 0.5 : 0, labels[1], labels[0]);
  if (isFirst)
    return {label, p.toF32(pairOfScores(p, score, areShares))};
  return {label, p.toF32(transformed(p, p.mul(score, p.constant<double>({0, 1}, 2, score))))};
}

PartValues treeClassifier(Parts &p) {
  p.refuseStrings("classlabels_strings", "classlabels_int64s");
  llvm::ArrayRef<int64_t> labels = p.integers("classlabels_int64s");
  if (labels.size() < 2)
    p.fail("attribute 'classlabels_int64s' has " + llvm::Twine(labels.size()) + " entries; at least two are needed");
  Ensemble ensemble(p, "class");
  auto classes = static_cast<int64_t>(labels.size());
  std::set<int64_t> weighed;
  for (const Vote &vote : ensemble.votes)
    weighed.insert(vote.target);
  for (int64_t each : weighed)
    if (each < 0 || each >= classes)
      p.fail("attribute 'class_ids' has " + llvm::Twine(each) + " of " + llvm::Twine(classes) + " classes");
  if (p.hasFailed())
    return {};
  if (classes == 2 && weighed.size() == 1)
    return classifyByOne(p, ensemble, labels);
  mlir::Value scores = ensemble.scores(p, 1, classes);
  return {greatestLabel(p, scores, labels), p.toF32(transformed(p, scores))};
}

constexpr CompositeEntry treeEntries[] = {
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, 1, 1, treeRegressor},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, 1, 2, treeClassifier},
};

} // namespace

llvm::ArrayRef<CompositeEntry> treeComposites() { return treeEntries; }

} // namespace apc

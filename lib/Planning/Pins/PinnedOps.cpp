// Binding pins to ops, with messages for those that cannot be.
#include "PinnedOps.h"

#include "../Parts/InputFactors.h"

#include "apc/Cluster/LevelWord.h"
#include "apc/Plan/Plan.h"
#include "apc/Support/Error.h"
#include "apc/Support/SomeOf.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <set>

namespace apc {

namespace {

std::string quoted(const Pin &pin) { return llvm::formatv("pin '{0}' ({1})", pin.str(), pin.source).str(); }

std::string someNames(llvm::ArrayRef<std::string> names) { return someNamesOf(names, /*most=*/4); }

/// The one name that an expression matches, when it is `^`, characters that stand for themselves, `$`.
std::optional<std::string> literalName(llvm::StringRef expression) {
  if (!expression.consume_front("^") || !expression.consume_back("$"))
    return std::nullopt;
  std::string name;
  for (size_t at = 0; at < expression.size(); ++at) {
    bool isEscaped = expression[at] == '\\' && at + 1 < expression.size();
    if (!isEscaped && llvm::StringRef("()^$|*+?.[]\\{}").contains(expression[at]))
      return std::nullopt;
    name += expression[isEscaped ? ++at : at];
  }
  return name;
}

/// The ops that a pin fixes. Those that follow another one of them (gradients, recomputed copies) do as it does:
/// 'MatMul' is a pin on '/fc/MatMul' and not on '/fc/MatMul.grad', whose factors have other names.
std::vector<OpId> matchedOps(const OpGraph &graph, const Pin &pin, bool sources) {
  llvm::Regex expression(pin.ops);
  std::optional<std::string> wanted = literalName(pin.ops);
  std::vector<bool> isMatched;
  for (const GraphOp &op : graph.ops) {
    bool isSource = op.operands.empty() || op.results.empty();
    isMatched.push_back(isSource == sources && (!pin.isOfInput || isInput(op)) &&
                        (wanted ? op.name == *wanted : expression.match(op.name)));
  }
  for (const TiedOps &tie : graph.ties)
    if (isMatched[tie.front().index()])
      for (OpId op : llvm::ArrayRef<OpId>(tie).drop_front())
        isMatched[op.index()] = false;
  std::vector<OpId> ops;
  for (auto [index, matches] : llvm::enumerate(isMatched))
    if (matches)
      ops.push_back(OpId(index));
  return ops;
}

/// For every factor the ways in which some legal strategy cuts it: "b0: 1, 2, 4; n: 1, 2, 4, 8".
std::string possibleWays(const FactorRule &rule, llvm::ArrayRef<Mesh> meshes) {
  std::vector<std::set<int64_t>> ways(rule.numFactors());
  for (const Mesh &mesh : meshes)
    for (const Strategy &strategy : enumerateStrategies(rule, mesh))
      for (auto [axes, seen] : llvm::zip_equal(strategy.axes, ways))
        seen.insert(mesh.size(axes));
  std::vector<std::string> texts;
  for (auto [factor, seen] : llvm::zip_equal(rule.factors, ways)) {
    auto numbers = llvm::map_range(seen, [](int64_t number) { return std::to_string(number); });
    texts.push_back(factor.name + ": " + llvm::join(numbers, ", "));
  }
  return llvm::join(texts, "; ");
}

} // namespace

llvm::Expected<PinnedOps> PinnedOps::bind(const OpGraph &graph, const Pool &pool, std::vector<Pin> pins) {
  PinnedOps bound;
  for (const Level &level : pool.levels) {
    bound.levels.push_back(levelWord(level.name)); // blanks part words in pins: the level "ring x" is ring-x there
    bound.levelSizes.push_back(level.size);
  }
  bound.pins = std::move(pins);
  if (bound.pins.empty())
    return bound;
  bound.pinsOf.resize(graph.ops.size());
  bound.factorNames.resize(graph.ops.size());
  for (unsigned pin = 0; pin < bound.pins.size(); ++pin) {
    if (llvm::Error error = bound.checkLevels(bound.pins[pin]))
      return error;
    unsigned count = 0;
    for (bool sources : {false, true})
      if (count == 0)
        if (llvm::Error error = bound.match(graph, pin, sources, count))
          return error;
    if (count > 0)
      continue;
    std::vector<std::string> names;
    bool isOfInput = bound.pins[pin].isOfInput;
    for (const GraphOp &op : graph.ops)
      if (isOfInput ? isInput(op) : !op.operands.empty())
        names.push_back(op.name);
    if (isOfInput)
      return inputError("{0}: the model has no input of that name; its inputs are {1}", quoted(bound.pins[pin]),
                        someNames(names));
    return inputError("{0} matches none of the model's {1} ops; their names are {2} ('apc plan --json' lists them)",
                      quoted(bound.pins[pin]), names.size(), someNames(names));
  }
  return bound;
}

llvm::Error PinnedOps::match(const OpGraph &graph, unsigned pin, bool sources, unsigned &count) {
  for (OpId id : matchedOps(graph, pins[pin], sources)) {
    ++count;
    if (llvm::Error error = checkFactors(graph, id, pins[pin]))
      return error;
    pinsOf[id.index()].push_back(pin);
    for (const Factor &factor : graph.ruleOf(id).factors)
      if (pinsOf[id.index()].size() == 1)
        factorNames[id.index()].push_back(factor.name);
  }
  return llvm::Error::success();
}

llvm::Error PinnedOps::checkFactors(const OpGraph &graph, OpId op, const Pin &pin) const {
  const FactorRule &rule = graph.ruleOf(op);
  auto hasFactor = [&](llvm::StringRef name) {
    return llvm::any_of(rule.factors, [&](const Factor &factor) { return factor.name == name; });
  };
  for (const PinnedFactor &pinned : pin.factors) {
    if (!hasFactor(pinned.factor)) {
      auto names = llvm::map_range(rule.factors, [](const Factor &factor) { return llvm::StringRef(factor.name); });
      return inputError("{0}: op '{1}' ({2}) has no factor '{3}'; its rule is '{4}', accepted are {5}", quoted(pin),
                        graph.op(op).name, graph.op(op).operatorName, pinned.factor, rule.str(),
                        rule.factors.empty() ? "none, but 'replicated' is" : llvm::join(names, ", "));
    }
    for (unsigned other : pinsOf[op.index()])
      if (const PinnedFactor *before = pins[other].find(pinned.factor); before && !(*before == pinned))
        return inputError("{0} and {1} both match op '{2}' and disagree: {3} and {4}; one of them must not match it",
                          quoted(pins[other]), quoted(pin), graph.op(op).name, before->str(), pinned.str());
  }
  for (unsigned other : pinsOf[op.index()])
    for (auto [closed, cutting] : {std::pair(&pins[other], &pin), std::pair(&pin, &pins[other])})
      if (const PinnedFactor *cut = cutBesides(*cutting, *closed))
        return inputError(
            "{0} and {1} both match op '{2}' and disagree: '{3}' names no {4} and so leaves it whole, the "
            "other cuts it; end that one with ', ...', or let only one of them match the op",
            quoted(pins[other]), quoted(pin), graph.op(op).name, closed->str(), cut->factor);
  return llvm::Error::success();
}

bool PinnedOps::cuts(const PinnedFactor &factor) const {
  return llvm::any_of(factor.axes, [&](const PinnedAxes &axes) {
    auto level = llvm::find(levels, axes.level) - levels.begin();
    return (axes.ways != 0 ? axes.ways : levelSizes[level]) > 1;
  });
}

const PinnedFactor *PinnedOps::cutBesides(const Pin &cutting, const Pin &closed) const {
  if (closed.open)
    return nullptr;
  auto found = llvm::find_if(cutting.factors,
                             [&](const PinnedFactor &factor) { return !closed.find(factor.factor) && cuts(factor); });
  return found == cutting.factors.end() ? nullptr : &*found;
}

llvm::Error PinnedOps::checkLevels(const Pin &pin) const {
  for (const PinnedFactor &factor : pin.factors)
    for (const PinnedAxes &axes : factor.axes) {
      if (axes.level.empty())
        continue;
      auto level = llvm::find(levels, axes.level);
      if (level == levels.end())
        return inputError("{0}: the cluster has no level '{1}'; accepted are {2}, and numbers of ways", quoted(pin),
                          axes.level, llvm::join(levels, ", "));
      int64_t size = levelSizes[level - levels.begin()];
      if (axes.ways != 0 && size % axes.ways != 0)
        return inputError("{0}: level '{1}' has {2} parts, which cannot be cut {3} ways; a divisor of {2} is accepted",
                          quoted(pin), axes.level, size, axes.ways);
    }
  return llvm::Error::success();
}

/// The pin with a number for each level, that of the cluster: `n=device` is `n=8@device` on any mesh, also on one with
/// fewer devices.
static PinnedFactor withWays(PinnedFactor factor, llvm::ArrayRef<std::string> levels, llvm::ArrayRef<int64_t> sizes) {
  for (PinnedAxes &axes : factor.axes)
    if (axes.ways == 0)
      axes.ways = sizes[llvm::find(levels, axes.level) - levels.begin()];
  return factor;
}

bool PinnedOps::allows(OpId op, const Strategy &strategy, const Mesh &mesh) const {
  if (!isPinned(op))
    return true;
  return llvm::all_of(pinsOf[op.index()], [&](unsigned index) {
    const Pin &pin = pins[index];
    for (auto [axes, name] : llvm::zip_equal(strategy.axes, factorNames[op.index()])) {
      const PinnedFactor *pinned = pin.find(name);
      if (pinned ? !withWays(*pinned, levels, levelSizes).isMetBy(axes, mesh, levels) : !pin.open && !axes.empty())
        return false;
    }
    return pin.open || llvm::all_of(strategy.partialInputs, [](const AxisList &axes) { return axes.empty(); });
  });
}

bool PinnedOps::allowsAll(llvm::ArrayRef<Strategy> strategies, const Mesh &mesh) const {
  if (empty())
    return true;
  for (auto [op, strategy] : llvm::enumerate(strategies))
    if (!allows(OpId(op), strategy, mesh))
      return false;
  return true;
}

std::string PinnedOps::describe(OpId op) const {
  if (!isPinned(op))
    return {};
  auto texts = llvm::map_range(pinsOf[op.index()], [&](unsigned pin) { return quoted(pins[pin]); });
  return llvm::join(texts, " and ");
}

/// One op for each rule and set of pins: what holds for it holds for all of them.
std::vector<OpId> PinnedOps::distinctOps(const OpGraph &graph) const {
  std::set<std::pair<RuleId, std::vector<unsigned>>> seen;
  std::vector<OpId> distinct;
  for (auto [index, op] : llvm::enumerate(graph.ops))
    if (isPinned(OpId(index)) && seen.insert({op.rule, pinsOf[index]}).second)
      distinct.push_back(OpId(index));
  return distinct;
}

bool PinnedOps::suits(const OpGraph &graph, OpId op, const Mesh &mesh) const {
  return llvm::any_of(enumerateStrategies(graph.ruleOf(op), mesh),
                      [&](const Strategy &strategy) { return allows(op, strategy, mesh); });
}

llvm::Error PinnedOps::nothingLeft(const OpGraph &graph, OpId op, llvm::ArrayRef<Mesh> meshes) const {
  const FactorRule &rule = graph.ruleOf(op);
  std::string why = "no axes of the cluster make these ways";
  for (const Mesh &mesh : meshes) {
    std::vector<RejectedStrategy> rejected;
    enumerateStrategies(rule, mesh, &rejected);
    auto met = llvm::find_if(rejected, [&](const RejectedStrategy &entry) { return allows(op, entry.strategy, mesh); });
    if (met == rejected.end())
      continue;
    why = met->reason;
    break;
  }
  return inputError(
      "{0} leaves op '{1}' ({2}) no legal strategy: {3}; its rule is '{4}', and its factors may be cut so "
      "many ways: {5}",
      describe(op), graph.op(op).name, graph.op(op).operatorName, why, rule.str(), possibleWays(rule, meshes));
}

llvm::Expected<std::vector<Mesh>> PinnedOps::suitableMeshes(const OpGraph &graph, unsigned maxAxes) const {
  Mesh prime = Mesh::fromLevels(levelSizes);
  std::vector<Mesh> meshes = logicalMeshes(prime, maxAxes);
  if (empty())
    return meshes;
  // Every further axis multiplies the strategies of an op by the number of its factors.
  constexpr unsigned mostAxes = 5;
  std::vector<OpId> ops = distinctOps(graph);
  std::vector<TiedOps> ties = pinnedTies(graph);
  auto suitsOps = [&](const Mesh &mesh) { return llvm::all_of(ops, [&](OpId op) { return suits(graph, op, mesh); }); };
  auto suitsTies = [&](const Mesh &mesh) {
    return llvm::all_of(ties, [&](const TiedOps &tie) { return suits(graph, tie, mesh); });
  };
  for (unsigned numAxes = maxAxes;; ++numAxes) {
    meshes = logicalMeshes(prime, numAxes);
    std::vector<Mesh> suitable;
    llvm::copy_if(meshes, std::back_inserter(suitable),
                  [&](const Mesh &mesh) { return suitsOps(mesh) && suitsTies(mesh); });
    if (!suitable.empty())
      return suitable;
    if (numAxes >= std::min(prime.numAxes(), mostAxes))
      break;
  }
  for (OpId op : ops)
    if (llvm::none_of(meshes, [&](const Mesh &mesh) { return suits(graph, op, mesh); }))
      return nothingLeft(graph, op, meshes);
  for (const TiedOps &tie : ties)
    if (llvm::none_of(meshes, [&](const Mesh &mesh) { return suits(graph, tie, mesh); }))
      return nothingLeft(graph, tie);
  std::vector<std::string> texts;
  for (OpId op : ops)
    texts.push_back(llvm::formatv("{0} on op '{1}'", describe(op), graph.op(op).name).str());
  return inputError(
      "no mesh of at most {0} axes meets all pins together, though each can be met alone: {1}; say levels "
      "instead of ways ({2}), or fewer different ways",
      mostAxes, llvm::join(texts, "; "), llvm::join(levels, ", "));
}

} // namespace apc

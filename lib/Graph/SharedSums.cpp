// Terms by the stage that makes them, and graphs in which each stage adds up its own.
#include "apc/Graph/SharedSums.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

std::string nameOfPart(llvm::StringRef sum, unsigned stage) { return (sum + ".stage" + llvm::Twine(stage)).str(); }

std::vector<SharedSum> sharedSums(const OpGraph &graph, const StageSplit &split) {
  const std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  auto stageOf = [&](OpId op) { return split.stages[op.index()]; };
  auto isBackward = [&](OpId op) {
    StagePart part = split.parts[op.index()];
    return part == StagePart::InputGradients || part == StagePart::WeightGradients;
  };
  std::vector<SharedSum> shared;
  for (size_t index = 0; index < graph.ops.size(); ++index) {
    const OpId sum(index);
    if (!graph.op(sum).accumulates)
      continue;
    std::map<unsigned, std::vector<unsigned>> byStage;
    for (auto [number, operand] : llvm::enumerate(graph.op(sum).operands)) {
      unsigned stage = stageOf(sum);
      if (operand) {
        OpId maker = graph.value(*operand).producer;
        bool isForSum = llvm::all_of(
            uses[operand->index()], [&](OpGraph::Use use) { return use.op == sum || stageOf(use.op) != stageOf(sum); });
        if (isForSum && isBackward(maker) && !isSource(graph, maker))
          stage = stageOf(maker);
      }
      byStage[stage].push_back(static_cast<unsigned>(number));
    }
    if (byStage.size() == 1 && byStage.begin()->first == stageOf(sum))
      continue;
    SharedSum &own = shared.emplace_back(SharedSum{sum, stageOf(sum), {}});
    for (auto &[stage, operands] : byStage)
      own.parts.push_back({stage, std::move(operands)});
  }
  return shared;
}

namespace {

/// The elements of `all` with these numbers.
template <typename List>
List chosen(const List &all, llvm::ArrayRef<unsigned> numbers) {
  List own;
  for (unsigned number : numbers)
    own.push_back(all[number]);
  return own;
}

/// Copies a graph op by op, with other ops in the place of shared sums.
class PartsBuilder {
public:
  PartsBuilder(const OpGraph &whole, llvm::ArrayRef<SharedSum> sums)
      : whole(whole), places(whole.ops.size()), opsHere(whole.ops.size()), valueIds(whole.values.size()) {
    const std::vector<std::vector<OpGraph::Use>> uses = whole.uses();
    for (const SharedSum &sum : sums) {
      places[sum.sum.index()] = &sum;
      ValueId result = *whole.op(sum.sum).results.front();
      assert(!uses[result.index()].empty() && "a sum is read");
      size_t reader = uses[result.index()].front().op.index();
      while (reader > 0 && whole.ops[reader].results.empty() && whole.ops[reader - 1].results.empty())
        --reader; // in front of all results of the graph
      sumsBefore[reader].push_back(&sum);
    }
  }

  OpGraph build();

private:
  OpId append(GraphOp op);
  ValueId addResult(OpId op, GraphValue value);
  void copy(OpId id);
  void addParts(const SharedSum &sum);
  void addSum(const SharedSum &sum);
  RuleId addRule(FactorRule rule);
  void addTies();

  const OpGraph &whole;
  OpGraph own;
  std::vector<const SharedSum *> places; ///< by op of the whole graph
  std::map<size_t, std::vector<const SharedSum *>> sumsBefore;
  std::vector<std::vector<OpId>> opsHere; ///< by op of the whole graph: those that are tied like it
  std::vector<std::optional<ValueId>> valueIds;
  std::map<OpId, std::vector<ValueId>> partsOfSum; ///< results
};

OpId PartsBuilder::append(GraphOp op) {
  own.ops.push_back(std::move(op));
  return OpId(own.ops.size() - 1);
}

ValueId PartsBuilder::addResult(OpId op, GraphValue value) {
  ValueId id(own.values.size());
  value.producer = op;
  own.values.push_back(std::move(value));
  own.ops[op.index()].results.emplace_back(id);
  return id;
}

RuleId PartsBuilder::addRule(FactorRule rule) {
  rule.linear.assign(1, {});
  for (unsigned operand = 0; operand < rule.operands.size(); ++operand)
    rule.linear.front().push_back(operand);
  rule.flopsPerPoint = static_cast<double>(rule.operands.size()); // each operand is added
  auto found = llvm::find(own.rules, rule);
  if (found == own.rules.end())
    found = own.rules.insert(found, std::move(rule));
  return RuleId(static_cast<size_t>(found - own.rules.begin()));
}

void PartsBuilder::copy(OpId id) {
  GraphOp op = whole.op(id);
  for (std::optional<ValueId> &operand : op.operands)
    if (operand)
      operand = valueIds[operand->index()];
  op.results.clear();
  OpId here = append(std::move(op));
  opsHere[id.index()] = {here};
  for (std::optional<ValueId> result : whole.op(id).results)
    if (result)
      valueIds[result->index()] = addResult(here, whole.value(*result));
    else
      own.ops[here.index()].results.emplace_back();
}

void PartsBuilder::addParts(const SharedSum &sum) {
  const GraphOp &before = whole.op(sum.sum);
  for (const SharedSum::Part &part : sum.parts) {
    GraphOp op = before;
    op.name = nameOfPart(before.name, part.stage);
    FactorRule rule = whole.ruleOf(sum.sum);
    rule.operands = chosen(rule.operands, part.operands);
    op.rule = addRule(std::move(rule));
    op.operands = chosen(before.operands, part.operands);
    for (std::optional<ValueId> &operand : op.operands)
      operand = valueIds[operand->index()];
    op.results.clear();
    if (!before.kernel.inside.empty()) {
      op.kernel.inside = chosen(before.kernel.inside, part.operands);
      op.kernel.inside.push_back(false);
    }
    const bool isOwn = part.stage == sum.stage;
    if (!isOwn)
      op.leadingFactors.clear();
    GraphValue result = whole.value(*before.results.front());
    result.name = op.name;
    OpId here = append(std::move(op));
    if (isOwn)
      opsHere[sum.sum.index()].push_back(here);
    partsOfSum[sum.sum].push_back(addResult(here, std::move(result)));
  }
}

void PartsBuilder::addSum(const SharedSum &sum) {
  const GraphOp &before = whole.op(sum.sum);
  const GraphValue &result = whole.value(*before.results.front());
  GraphOp op;
  op.name = before.name;
  op.operatorName = "sum";
  FactorRule rule = whole.ruleOf(sum.sum);
  rule.operands.assign(sum.parts.size(), rule.results.front());
  op.rule = addRule(std::move(rule));
  constexpr unsigned bitsOfDouble = 64;
  op.format = result.shape.elementBits == bitsOfDouble ? NumberFormat::F64 : NumberFormat::F32;
  for (ValueId part : partsOfSum[sum.sum])
    op.operands.emplace_back(part);
  op.leadingFactors = before.leadingFactors;
  OpId here = append(std::move(op));
  opsHere[sum.sum.index()].push_back(here);
  valueIds[before.results.front()->index()] = addResult(here, result);
}

void PartsBuilder::addTies() {
  for (const TiedOps &tie : whole.ties) {
    TiedOps here;
    for (OpId op : tie)
      llvm::append_range(here, opsHere[op.index()]);
    std::sort(here.begin() + 1, here.end());
    own.ties.push_back(std::move(here));
  }
  llvm::sort(own.ties, [](const TiedOps &a, const TiedOps &b) { return a.front() < b.front(); });
}

OpGraph PartsBuilder::build() {
  own.rules = whole.rules;
  own.overlaps = whole.overlaps;
  own.inFlight = whole.inFlight;
  own.copies = whole.copies;
  own.keepsNarrowCopies = whole.keepsNarrowCopies;
  own.ops.reserve(whole.ops.size());
  own.values.reserve(whole.values.size());
  for (size_t op = 0; op < whole.ops.size(); ++op) {
    if (auto due = sumsBefore.find(op); due != sumsBefore.end())
      for (const SharedSum *sum : due->second)
        addSum(*sum);
    if (places[op])
      addParts(*places[op]);
    else
      copy(OpId(op));
  }
  for (GraphValue &value : own.values)
    if (value.replaces)
      value.replaces = valueIds[value.replaces->index()];
  addTies();
  return std::move(own);
}

} // namespace

OpGraph withParts(const OpGraph &graph, llvm::ArrayRef<SharedSum> sums) { return PartsBuilder(graph, sums).build(); }

llvm::Expected<SplitStep> splitStep(const OpGraph &graph, llvm::ArrayRef<size_t> cuts) {
  llvm::Expected<StageSplit> split = splitStages(graph, cuts);
  if (!split)
    return split.takeError();
  std::vector<SharedSum> sums = sharedSums(graph, *split);
  if (sums.empty())
    return SplitStep{graph, {}, std::move(*split)};
  OpGraph own = withParts(graph, sums);
  llvm::Expected<StageSplit> again = splitStages(own, cuts);
  if (!again)
    return again.takeError();
  return SplitStep{std::move(own), std::move(sums), std::move(*again)};
}

} // namespace apc

// Takes the ops of one stage out of a graph and puts ends where values arrive and leave.
#include "apc/Graph/StageGraph.h"

#include "StageParts.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

namespace {

/// Facts about a cut step that all of its stages share.
struct StageFacts {
  std::vector<bool> isFixed;            ///< by value: see `valuesOfStep`
  std::vector<OpId> inputs;             ///< of the whole graph
  std::vector<std::vector<OpId>> opsOf; ///< by stage, ascending; no inputs

  StageFacts(const OpGraph &graph, const StageSplit &split) : isFixed(valuesOfStep(graph)), opsOf(split.numStages) {
    for (size_t op = 0; op < graph.ops.size(); ++op)
      if (isSource(graph, OpId(op)) && graph.value(*graph.ops[op].results.front()).role == ValueRole::Input)
        inputs.emplace_back(op);
      else
        opsOf[split.stages[op]].emplace_back(op);
  }
};

class StageBuilder {
public:
  StageBuilder(const OpGraph &whole, const StageSplit &split, const StageFacts &facts, unsigned stage,
               bool splitsBackward)
      : whole(whole), split(split), facts(facts), stage(stage), splitsBackward(splitsBackward),
        valueIds(whole.values.size()), opIds(whole.ops.size()), leaving(whole.values.size()) {
    for (const StageTransfer &transfer : split.transfers)
      if (transfer.from == stage)
        leaving[transfer.value.index()] = &transfer;
  }

  StageGraph build() {
    own.graph.overlaps = whole.overlaps;
    own.graph.copies = whole.copies;
    own.graph.keepsNarrowCopies = whole.keepsNarrowCopies;
    own.splitsBackward = splitsBackward;
    addInputs();
    addParts({StagePart::Forward});
    if (splitsBackward) {
      addParts({StagePart::InputGradients});
      addParts({StagePart::WeightGradients});
    } else {
      addParts({StagePart::InputGradients, StagePart::WeightGradients});
    }
    currentPart = StagePart::Update;
    for (const StageTransfer &transfer : split.transfers)
      if (transfer.from == stage && waitsForUpdate(transfer))
        addSink(transfer);
    addParts({StagePart::Update});
    addOutputs();
    addReplacements();
    addTies();
    for (auto [op, atLoad] : llvm::zip_equal(own.graph.ops, own.graph.opsAtLoad()))
      op.atLoad = atLoad;
    return std::move(own);
  }

private:
  /// The inputs of the whole graph that the stage reads, its own and copies.
  void addInputs();
  void addParts(std::initializer_list<StagePart> parts);
  void addOutputs();
  /// The value is a sum over micro-batches, or is read by updates alone.
  bool waitsForUpdate(const StageTransfer &transfer) const;
  void addOp(OpId id);
  OpId append(GraphOp op, RuleId rule, std::optional<OpId> original);
  ValueId addValue(ValueId original, OpId producer, unsigned index, ValueRole role);
  /// The value here, with a source for it where there is none yet.
  ValueId arrival(ValueId value);
  void addSink(const StageTransfer &transfer);
  /// The number here of a rule of the whole graph.
  RuleId ruleHere(RuleId rule);
  /// The rule of an end of the graph at which `value` comes in or goes out.
  RuleId addEndRule(ValueId value, bool isSink);
  void addReplacements();
  void addTies();
  /// The source of the value, made by `maker` in another stage, whose gradients `sum` adds up.
  std::optional<OpId> arrivalOf(OpId maker, OpId sum);
  /// Names the factors of a sum by those of the source that leads it.
  void followArrival(GraphOp &sum) const;

  const OpGraph &whole;
  const StageSplit &split;
  const StageFacts &facts;
  unsigned stage;
  bool splitsBackward;
  StagePart currentPart = StagePart::Forward;   ///< of the ops that are being added
  std::vector<std::optional<ValueId>> valueIds; ///< by value of the whole graph
  std::vector<std::optional<OpId>> opIds;       ///< by op of the whole graph
  std::vector<const StageTransfer *> leaving;   ///< by value of the whole graph
  std::map<RuleId, RuleId> ruleIds;
  StageGraph own;
};

RuleId StageBuilder::ruleHere(RuleId rule) {
  auto [place, isNew] = ruleIds.try_emplace(rule, RuleId(own.graph.rules.size()));
  if (isNew)
    own.graph.rules.push_back(whole.rules[rule.index()]);
  return place->second;
}

RuleId StageBuilder::addEndRule(ValueId value, bool isSink) {
  const GraphValue &moved = whole.value(value);
  const FactorRule &made = whole.ruleOf(moved.producer);
  FactorRuleBuilder builder;
  llvm::SmallVector<DimFactors, 4> dims = builder.addFactors("d", moved.shape.dims);
  if (isSink)
    builder.addOperand(dims, moved.shape.elementBits);
  else
    builder.addResult(dims, moved.shape.elementBits);
  builder.setWork(Work::View);
  FactorRule rule = builder.take();
  RuleTensor &end = isSink ? rule.operands.front() : rule.results.front();
  if (moved.resultIndex < made.results.size())
    end.parted = made.results[moved.resultIndex].parted;
  auto found = llvm::find(own.graph.rules, rule);
  if (found == own.graph.rules.end())
    found = own.graph.rules.insert(found, std::move(rule));
  return RuleId(static_cast<size_t>(found - own.graph.rules.begin()));
}

OpId StageBuilder::append(GraphOp op, RuleId rule, std::optional<OpId> original) {
  op.rule = rule;
  OpId id(own.graph.ops.size());
  own.graph.ops.push_back(std::move(op));
  own.ops.push_back(original);
  own.parts.push_back(currentPart);
  return id;
}

void StageBuilder::addInputs() {
  for (OpId op : facts.inputs) {
    currentPart = split.parts[op.index()];
    ValueId value = *whole.op(op).results.front();
    bool isRead = llvm::any_of(split.shared, [&](const SharedSource &shared) {
      return shared.value == value && llvm::is_contained(shared.stages, stage);
    });
    if (split.stages[op.index()] == stage)
      addOp(op);
    else if (isRead)
      arrival(value);
  }
}

void StageBuilder::addParts(std::initializer_list<StagePart> parts) {
  for (OpId op : facts.opsOf[stage])
    if (llvm::is_contained(parts, split.parts[op.index()]) && !whole.op(op).results.empty()) {
      currentPart = split.parts[op.index()];
      addOp(op);
    }
}

void StageBuilder::addOutputs() {
  for (OpId op : facts.opsOf[stage])
    if (whole.op(op).results.empty()) {
      currentPart = split.parts[op.index()];
      addOp(op);
    }
}

bool StageBuilder::waitsForUpdate(const StageTransfer &transfer) const {
  OpId producer = whole.value(transfer.value).producer;
  return transfer.time == TransferTime::Step && !facts.isFixed[transfer.value.index()] && !isSource(whole, producer) &&
         split.parts[producer.index()] != StagePart::Update;
}

ValueId StageBuilder::addValue(ValueId original, OpId producer, unsigned index, ValueRole role) {
  const GraphValue &value = whole.value(original);
  ValueId id(own.graph.values.size());
  own.graph.values.push_back({value.name, value.shape, role, producer, index, {}, value.exchangeBits});
  own.values.push_back(original);
  valueIds[original.index()] = id;
  return id;
}

ValueId StageBuilder::arrival(ValueId value) {
  if (std::optional<ValueId> here = valueIds[value.index()])
    return *here;
  if (split.isMadeByEach[value.index()]) {
    addOp(whole.value(value).producer);
    return *valueIds[value.index()];
  }
  const GraphValue &moved = whole.value(value);
  const GraphOp &producer = whole.op(moved.producer);
  bool isCopy = isSource(whole, moved.producer);
  ValueRole role = isCopy ? moved.role : facts.isFixed[value.index()] ? ValueRole::Parameter : ValueRole::Input;
  GraphOp end;
  end.name = isCopy ? producer.name : "receive " + moved.name;
  end.operatorName = valueRoleName(role).str();
  end.format = producer.format;
  end.isTransfer = role != ValueRole::Input || !isCopy;
  OpId op = append(std::move(end), isCopy ? ruleHere(producer.rule) : addEndRule(value, false), std::nullopt);
  ValueId id = addValue(value, op, 0, role);
  own.graph.ops[op.index()].results.emplace_back(id);
  return id;
}

void StageBuilder::addSink(const StageTransfer &transfer) {
  const GraphOp &producer = whole.op(whole.value(transfer.value).producer);
  GraphOp end;
  end.name = "send " + whole.value(transfer.value).name;
  end.operatorName = "output";
  end.format = producer.format;
  end.operands = {valueIds[transfer.value.index()]};
  end.isTransfer = true;
  end.repeats = transfer.time == TransferTime::Step ? 1 : producer.repeats;
  append(std::move(end), addEndRule(transfer.value, true), std::nullopt);
}

void StageBuilder::addOp(OpId id) {
  GraphOp op = whole.op(id);
  for (std::optional<ValueId> &operand : op.operands)
    if (operand)
      operand = arrival(split.valueRead(whole, id, *operand));
  std::vector<std::optional<ValueId>> results = std::move(op.results);
  op.results.clear();
  RuleId rule = ruleHere(op.rule);
  OpId here = append(std::move(op), rule, id);
  opIds[id.index()] = here;
  for (std::optional<ValueId> result : results) {
    std::optional<ValueId> value;
    if (result)
      value = addValue(*result, here, whole.value(*result).resultIndex, whole.value(*result).role);
    own.graph.ops[here.index()].results.push_back(value);
  }
  for (std::optional<ValueId> result : results)
    if (result && leaving[result->index()] && !waitsForUpdate(*leaving[result->index()]))
      addSink(*leaving[result->index()]);
}

void StageBuilder::addReplacements() {
  for (auto [index, original] : llvm::enumerate(own.values))
    if (std::optional<ValueId> replaced = whole.value(original).replaces;
        replaced && own.ops[own.graph.values[index].producer.index()])
      own.graph.values[index].replaces = valueIds[replaced->index()];
}

void StageBuilder::addTies() {
  std::map<OpId, TiedOps> byArrival;
  for (const TiedOps &tie : whole.ties) {
    TiedOps here;
    for (OpId op : tie)
      if (opIds[op.index()])
        here.push_back(*opIds[op.index()]);
    std::optional<OpId> leader = opIds[tie.front().index()];
    std::sort(here.begin() + (leader ? 1 : 0), here.end());
    if (leader && here.size() > 1)
      own.graph.ties.push_back(std::move(here));
    else if (!leader)
      for (OpId sum : here)
        if (std::optional<OpId> source = arrivalOf(tie.front(), sum)) {
          byArrival[*source].push_back(sum);
          followArrival(own.graph.ops[sum.index()]);
        }
  }
  for (auto &[source, sums] : byArrival) {
    TiedOps &tie = own.graph.ties.emplace_back(1, source);
    llvm::sort(sums);
    llvm::append_range(tie, sums);
  }
  llvm::sort(own.graph.ties, [](const TiedOps &a, const TiedOps &b) { return a.front() < b.front(); });
}

std::optional<OpId> StageBuilder::arrivalOf(OpId maker, OpId sum) {
  GraphOp &op = own.graph.ops[sum.index()];
  op.leadingFactors.clear();
  for (std::optional<ValueId> made : whole.op(maker).results)
    if (std::optional<ValueId> here = made ? valueIds[made->index()] : std::nullopt)
      if (own.graph.value(*here).shape.dims == own.graph.value(*op.results.front()).shape.dims)
        return own.graph.value(*here).producer;
  return std::nullopt;
}

void StageBuilder::followArrival(GraphOp &sum) const {
  const FactorRule &rule = own.graph.rules[sum.rule.index()];
  sum.leadingFactors.assign(rule.numFactors(), "");
  for (auto [dim, factors] : llvm::enumerate(rule.results.front().dims))
    if (factors.size() == 1)
      sum.leadingFactors[factors.front().index()] = "d" + std::to_string(dim);
}

} // namespace

StageGraph stageGraph(const OpGraph &graph, const StageSplit &split, unsigned stage, bool splitsBackward) {
  assert(stage < split.numStages && "a stage of the split");
  return StageBuilder(graph, split, StageFacts(graph, split), stage, splitsBackward).build();
}

std::vector<StageGraph> stageGraphs(const OpGraph &graph, const StageSplit &split, bool splitsBackward) {
  const StageFacts facts(graph, split);
  std::vector<StageGraph> stages;
  for (unsigned stage = 0; stage < split.numStages; ++stage)
    stages.push_back(StageBuilder(graph, split, facts, stage, splitsBackward).build());
  return stages;
}

/// The first op of a part or of those behind it, or the sources that arrive for it.
static size_t beginOf(const StageGraph &stage, StagePart part) {
  auto isArrival = [&](size_t op) { return stage.graph.ops[op].operands.empty(); };
  size_t first = 0, count = stage.graph.ops.size();
  while (first < count && (stage.parts[first] < part || isArrival(first)))
    ++first;
  while (first > 0 && isArrival(first - 1) && stage.parts[first - 1] >= part)
    --first;
  return first;
}

OpGraph withInFlight(const StageGraph &stage, int64_t microBatches, std::optional<WaitingMicroBatches> waiting) {
  OpGraph graph = stage.graph;
  size_t backward = beginOf(stage, StagePart::InputGradients), weights = beginOf(stage, StagePart::WeightGradients);
  if (backward < graph.ops.size())
    graph.inFlight = InFlight{microBatches, OpId(backward), {}, waiting};
  if (graph.inFlight && stage.splitsBackward && weights < graph.ops.size())
    graph.inFlight->weights = OpId(weights);
  return graph;
}

} // namespace apc

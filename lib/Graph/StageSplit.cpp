// The stage of every op, and the values that run between stages.
#include "apc/Graph/StageSplit.h"

#include "StageParts.h"

#include "apc/Graph/Originals.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <set>

namespace apc {

ValueId StageSplit::valueRead(const OpGraph &graph, OpId reader, ValueId operand) const {
  std::optional<ValueId> original = originals[operand.index()];
  bool hasArrived = original && stages[graph.value(operand).producer.index()] < stages[reader.index()];
  return hasArrived ? *original : operand;
}

bool StageSplit::runsInEach(const OpGraph &graph, OpId op) const {
  return llvm::any_of(graph.op(op).results,
                      [&](std::optional<ValueId> result) { return result && isMadeByEach[result->index()]; });
}

std::vector<OpId> forwardOps(const OpGraph &graph) {
  std::vector<StagePart> parts = passesOf(graph, leadersOf(graph));
  std::vector<OpId> ops;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (parts[op] == StagePart::Forward && !graph.ops[op].results.empty())
      ops.emplace_back(op);
  return ops;
}

llvm::Expected<std::vector<size_t>> cutsBefore(const OpGraph &graph, llvm::ArrayRef<std::string> names) {
  std::vector<OpId> forward = forwardOps(graph);
  std::vector<size_t> cuts;
  for (const std::string &name : names) {
    auto found = llvm::find_if(forward, [&](OpId op) { return graph.op(op).name == name; });
    if (found == forward.end())
      return inputError("the model has no op '{0}' in its forward pass, before which a stage could begin", name);
    auto place = static_cast<size_t>(found - forward.begin());
    if (place <= (cuts.empty() ? 0 : cuts.back()))
      return inputError("no stage can begin before op '{0}': {1}", name,
                        place == 0 ? "it is the first of the forward pass"
                                   : "stages are named in the order in which their first ops run");
    cuts.push_back(place);
  }
  return cuts;
}

namespace {

/// Gives every op its stage, from the cuts.
class StageAssignment {
public:
  StageAssignment(const OpGraph &graph, llvm::ArrayRef<StagePart> parts, llvm::ArrayRef<std::optional<OpId>> leaders)
      : graph(graph), parts(parts), leaders(leaders), uses(graph.uses()), stages(graph.ops.size()) {}

  std::vector<unsigned> assign(llvm::ArrayRef<OpId> forward, llvm::ArrayRef<size_t> cuts) {
    for (auto [position, op] : llvm::enumerate(forward))
      stages[op.index()] = static_cast<unsigned>(llvm::upper_bound(cuts, position) - cuts.begin());
    bringToReaders(forward);
    followForwardOps();
    followSources();
    goWithReaders();
    for (size_t op = 0; op < graph.ops.size(); ++op)
      if (!stages[op] && !isSource(graph, OpId(op)))
        stages[op] = stageByReads(graph.ops[op], parts[op]);
    std::vector<unsigned> found;
    for (size_t op = 0; op < graph.ops.size(); ++op)
      found.push_back(stages[op] ? *stages[op] : firstReader({OpId(op)}, StagePart::Update).value_or(0));
    return found;
  }

private:
  bool isForward(OpId op) const { return parts[op.index()] == StagePart::Forward && !isSource(graph, op); }
  void bringToReaders(llvm::ArrayRef<OpId> forward);
  void followForwardOps();
  /// The stage in which all operands are made; empty where there are several.
  std::optional<unsigned> stageOfOperands(const GraphOp &op) const;
  void followSources();
  void goWithReaders();
  /// The first stage in which an op up to `last` reads one of `sources`, as far as stages are known.
  std::optional<unsigned> firstReader(llvm::ArrayRef<OpId> sources, StagePart last) const;
  unsigned stageByReads(const GraphOp &op, StagePart part) const;

  const OpGraph &graph;
  llvm::ArrayRef<StagePart> parts;
  llvm::ArrayRef<std::optional<OpId>> leaders;
  std::vector<std::vector<OpGraph::Use>> uses;
  std::vector<std::optional<unsigned>> stages; ///< by op
};

/// Ops whose results parameters and constants alone make, to the first stage that reads them: the gradient of a weight
/// that is transposed for the last stage is then made where it is added up.
void StageAssignment::bringToReaders(llvm::ArrayRef<OpId> forward) {
  const std::vector<bool> isFixed = valuesOfStep(graph);
  for (OpId op : llvm::reverse(forward)) {
    std::optional<unsigned> first;
    bool areFixed = true;
    for (std::optional<ValueId> result : graph.op(op).results) {
      areFixed &= !result || isFixed[result->index()];
      for (OpGraph::Use use : result ? llvm::ArrayRef(uses[result->index()]) : llvm::ArrayRef<OpGraph::Use>())
        if (std::optional<unsigned> reader = stages[use.op.index()])
          first = std::min(first.value_or(*reader), *reader);
    }
    if (areFixed && first)
      stages[op.index()] = std::max(stages[op.index()], first);
  }
}

void StageAssignment::followForwardOps() {
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (std::optional<OpId> leader = leaders[op]; leader && isForward(*leader)) {
      stages[op] = stages[leader->index()];
      std::optional<unsigned> single = addsUp(graph.ruleOf(OpId(op))) ? stageOfOperands(graph.ops[op]) : std::nullopt;
      if (single && parts[op] == StagePart::InputGradients)
        stages[op] = std::max(stages[op], single);
    }
}

std::optional<unsigned> StageAssignment::stageOfOperands(const GraphOp &op) const {
  std::optional<unsigned> single;
  for (std::optional<ValueId> operand : op.operands) {
    std::optional<unsigned> stage = operand ? stages[graph.value(*operand).producer.index()] : std::nullopt;
    if (!stage || (single && single != stage))
      return std::nullopt;
    single = stage;
  }
  return single;
}

std::optional<unsigned> StageAssignment::firstReader(llvm::ArrayRef<OpId> sources, StagePart last) const {
  std::optional<unsigned> first;
  for (OpId source : sources)
    for (std::optional<ValueId> value : graph.op(source).results)
      for (OpGraph::Use use : uses[value->index()])
        if (std::optional<unsigned> stage = stages[use.op.index()]; stage && parts[use.op.index()] <= last)
          first = std::min(first.value_or(*stage), *stage);
  return first;
}

/// Parameters and states with all that is tied to them or takes their place.
void StageAssignment::followSources() {
  llvm::EquivalenceClasses<unsigned> groups;
  auto number = [](OpId op) { return static_cast<unsigned>(op.index()); };
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (std::optional<OpId> leader = leaders[op]; leader && !stages[op])
      groups.unionSets(number(*leader), number(OpId(op)));
  for (const GraphValue &value : graph.values)
    if (value.replaces && !stages[value.producer.index()])
      groups.unionSets(number(graph.value(*value.replaces).producer), number(value.producer));
  std::map<unsigned, std::vector<OpId>> members;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    if (auto group = groups.findLeader(number(OpId(op))); group != groups.member_end())
      members[*group].emplace_back(op);
  for (const auto &[group, ops] : members) {
    std::vector<OpId> sources;
    llvm::copy_if(ops, std::back_inserter(sources), [&](OpId op) { return isSource(graph, op); });
    std::optional<unsigned> stage = firstReader(sources, StagePart::Forward);
    if (!stage)
      stage = firstReader(sources, StagePart::Update);
    if (stage || !sources.empty())
      for (OpId op : ops)
        stages[op.index()] = stage.value_or(0);
  }
}

/// Ops that run before any value of another op is made, with the last of their readers: gradients run to earlier
/// stages.
void StageAssignment::goWithReaders() {
  for (size_t op = graph.ops.size(); op-- > 0;) {
    bool readsOps = llvm::any_of(graph.ops[op].operands, [&](std::optional<ValueId> operand) {
      return operand && !isSource(graph, graph.value(*operand).producer) &&
             stages[graph.value(*operand).producer.index()];
    });
    if (stages[op] || readsOps || parts[op] == StagePart::Forward || isSource(graph, OpId(op)))
      continue;
    for (std::optional<ValueId> result : graph.ops[op].results)
      for (OpGraph::Use use : result ? uses[result->index()] : std::vector<OpGraph::Use>())
        if (std::optional<unsigned> reader = stages[use.op.index()])
          stages[op] = std::max(stages[op].value_or(0), *reader);
  }
}

unsigned StageAssignment::stageByReads(const GraphOp &op, StagePart part) const {
  std::map<unsigned, int64_t> bytes; // by stage
  for (std::optional<ValueId> operand : op.operands) {
    std::optional<OpId> producer = operand ? std::optional(graph.value(*operand).producer) : std::nullopt;
    bool counts = producer && (part != StagePart::InputGradients || !isForward(*producer));
    if (counts && stages[producer->index()])
      bytes[*stages[producer->index()]] += graph.value(*operand).shape.bytes();
  }
  if (bytes.empty())
    return 0;
  if (part == StagePart::InputGradients)
    return bytes.begin()->first;
  return llvm::max_element(bytes, [](const auto &a, const auto &b) { return a.second < b.second; })->first;
}

/// Finds the values that run between stages.
class StageBorders {
public:
  StageBorders(const OpGraph &graph, StageSplit &split)
      : graph(graph), split(split), isFixed(valuesOfStep(graph)), readers(graph.values.size()) {
    for (size_t op = 0; op < graph.ops.size(); ++op)
      for (std::optional<ValueId> operand : graph.ops[op].operands)
        if (operand)
          readers[split.valueRead(graph, OpId(op), *operand).index()].emplace_back(op);
  }

  llvm::Error check() const;
  void splitGradients();
  void findStages();
  void addTransfers();

private:
  unsigned stageOf(OpId op) const { return split.stages[op.index()]; }
  StagePart partOf(OpId op) const { return split.parts[op.index()]; }
  unsigned homeOf(ValueId value) const { return stageOf(graph.value(value).producer); }
  bool isSourceValue(ValueId value) const { return isSource(graph, graph.value(value).producer); }
  bool waitsForStep(OpId reader) const { return partOf(reader) == StagePart::Update; }
  TransferTime timeOf(ValueId value) const;

  const OpGraph &graph;
  StageSplit &split;
  std::vector<bool> isFixed;               ///< by value: see `valuesOfStep`
  std::vector<std::vector<OpId>> readers;  ///< by value, as the stages read
  std::vector<std::set<unsigned>> needing; ///< by value: the stages of its readers
};

llvm::Error StageBorders::check() const {
  for (size_t value = 0; value < graph.values.size(); ++value) {
    OpId producer = graph.values[value].producer;
    if (isSource(graph, producer) || partOf(producer) == StagePart::Update)
      continue;
    bool isForward = partOf(producer) == StagePart::Forward;
    for (OpId reader : readers[value]) {
      bool isWrong = isForward ? stageOf(reader) < stageOf(producer) : stageOf(producer) < stageOf(reader);
      if (isWrong && !waitsForStep(reader))
        return internalError("op '{0}' of stage {1} reads '{2}', which stage {3} makes in its {4} pass",
                             graph.op(reader).name, stageOf(reader), graph.values[value].name, stageOf(producer),
                             isForward ? "forward" : "backward");
    }
  }
  return llvm::Error::success();
}

/// Leaves in InputGradients what an earlier stage waits for.
void StageBorders::splitGradients() {
  for (size_t op = graph.ops.size(); op-- > 0;) {
    if (split.parts[op] != StagePart::InputGradients)
      continue;
    auto leadsOn = [&](OpId reader) {
      return stageOf(reader) == split.stages[op] ? partOf(reader) == StagePart::InputGradients : !waitsForStep(reader);
    };
    bool isAwaited = llvm::any_of(graph.ops[op].results, [&](std::optional<ValueId> result) {
      return result && llvm::any_of(readers[result->index()], leadsOn);
    });
    if (!isAwaited)
      split.parts[op] = StagePart::WeightGradients;
  }
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    const GraphOp &own = graph.ops[op];
    if (own.results.empty() && own.operands.front() && !isSourceValue(*own.operands.front()))
      split.parts[op] = partOf(graph.value(*own.operands.front()).producer);
    if (isSource(graph, OpId(op)))
      for (std::optional<ValueId> result : own.results)
        for (OpId reader : readers[result->index()])
          split.parts[op] = std::min(split.parts[op], partOf(reader));
  }
}

TransferTime StageBorders::timeOf(ValueId value) const {
  OpId producer = graph.value(value).producer;
  bool isForStep = llvm::all_of(readers[value.index()], [&](OpId reader) {
    return stageOf(reader) == stageOf(producer) || waitsForStep(reader);
  });
  bool isOfStep = isSource(graph, producer) || partOf(producer) == StagePart::Update;
  if (isForStep || isOfStep || graph.isAccumulated(value))
    return TransferTime::Step;
  if (partOf(producer) != StagePart::Forward)
    return TransferTime::Backward;
  return isFixed[value.index()] ? TransferTime::Step : TransferTime::Forward;
}

/// An op whose results each stage makes for itself reads its operands there.
void StageBorders::findStages() {
  needing.resize(graph.values.size());
  for (size_t index = graph.values.size(); index-- > 0;)
    for (OpId reader : readers[index]) {
      needing[index].insert(stageOf(reader));
      for (std::optional<ValueId> result : graph.op(reader).results)
        if (result && split.isMadeByEach[result->index()])
          needing[index].insert(needing[result->index()].begin(), needing[result->index()].end());
    }
}

void StageBorders::addTransfers() {
  findStages();
  for (size_t index = 0; index < graph.values.size(); ++index) {
    ValueId value(index);
    unsigned home = homeOf(value);
    std::set<unsigned> stages = needing[index];
    if (split.isMadeByEach[index])
      continue;
    if (isSourceValue(value) && stages.size() > 1)
      split.shared.push_back({value, {stages.begin(), stages.end()}});
    stages.erase(home);
    if (stages.empty() || graph.values[index].role == ValueRole::Input)
      continue;
    if (isSourceValue(value))
      split.parts[graph.values[index].producer.index()] = StagePart::Forward; // sent at once
    split.transfers.push_back(
        {value, home, {stages.begin(), stages.end()}, graph.values[index].shape.bytes(), timeOf(value)});
  }
}

/// Each stage runs an op of the forward pass that no other stage runs.
llvm::Error checkWork(const OpGraph &graph, const StageSplit &split, llvm::ArrayRef<OpId> forward) {
  std::vector<bool> hasWork(split.numStages);
  for (OpId op : forward)
    if (!split.runsInEach(graph, op))
      hasWork[split.stages[op.index()]] = true;
  auto empty = llvm::find(hasWork, false);
  if (empty == hasWork.end())
    return llvm::Error::success();
  return inputError(
      "stage {0} of {1} has no op of its own: what parameters and constants alone make goes to the stages "
      "that read it; a stage has an op that reads the model's inputs, or what is made of them",
      empty - hasWork.begin(), split.numStages);
}

} // namespace

llvm::Expected<StageSplit> splitStages(const OpGraph &graph, llvm::ArrayRef<size_t> cuts) {
  std::vector<OpId> forward = forwardOps(graph);
  for (auto [number, cut] : llvm::enumerate(cuts))
    if (cut <= (number == 0 ? 0 : cuts[number - 1]) || cut >= forward.size())
      return internalError("cut {0} is at {1}: cuts ascend from 1 to {2}, one less than the ops of the forward pass",
                           number, cut, static_cast<int64_t>(forward.size()) - 1);
  std::vector<std::optional<OpId>> leaders = leadersOf(graph);
  StageSplit split;
  split.numStages = static_cast<unsigned>(cuts.size()) + 1;
  split.parts = passesOf(graph, leaders);
  split.stages = StageAssignment(graph, split.parts, leaders).assign(forward, cuts);
  split.originals = originalsOf(graph);
  split.isMadeByEach = valuesMadeByEach(graph, split.parts);
  if (llvm::Error error = checkWork(graph, split, forward))
    return error;
  StageBorders borders(graph, split);
  if (llvm::Error error = borders.check())
    return error;
  borders.splitGradients();
  borders.addTransfers();
  return split;
}

} // namespace apc

// Votes of ops for what each axis is there for.
#include "apc/Planning/RecognizeLayout.h"

#include "../Parts/CutWeight.h"
#include "../Parts/ExpertFactors.h"
#include "../Parts/InputFactors.h"
#include "../Parts/StepParts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <set>

namespace apc {

namespace {

/// Seconds for which an axis cuts the batch, sequences, a dim that is both, weights, or experts.
struct AxisVotes {
  double data = 0, context = 0, rows = 0, tensor = 0;
  double experts = 0, otherExperts = 0; ///< of what experts compute, for which it tells them apart, or does not
  double cutExperts = 0;                ///< cuts the weights of each
  double tokensOfExperts = 0;           ///< cuts what they read

  double ofExperts() const { return experts + otherExperts; }
  bool isOfExperts() const { return experts > otherExperts; }
  /// Experts are computed, and their weights not cut.
  bool leavesExpertsWhole() const { return ofExperts() > 2 * cutExperts; }
  /// Its ranks have other experts, or tokens, each.
  bool sharesExperts() const { return 2 * (experts + tokensOfExperts) > ofExperts(); }
  bool isTensor() const { return tensor + cutExperts > data + context + rows; }
  bool isContext() const { return context > data && !isTensor(); }
};

/// The degrees of one stage.
struct StageDegrees {
  int64_t data = 1, context = 1, tensor = 1, experts = 1;
  bool hasWholeExperts = false;   ///< beside tp
  std::set<std::string> ofTensor; ///< axes

  auto key() const { return std::make_tuple(data, context, tensor, experts, hasWholeExperts); }
};

class Recognizer {
public:
  Recognizer(const OpGraph &graph, const Plan &plan)
      : graph(graph), plan(plan), inputs(inputFactors(graph)), experts(expertFactors(graph)), isWeight(graph.weights()),
        parts(stepParts(graph)), follows(graph.followers()) {
    for (auto [index, op] : llvm::enumerate(graph.ops))
      ops[op.name] = OpId(index);
  }

  ParallelDegrees run();

private:
  /// The op of a choice, where the graph has it.
  std::optional<OpId> find(const PlanChoice &choice) const {
    auto known = ops.find(choice.op);
    return known == ops.end() ? std::nullopt : std::optional(known->second);
  }
  std::optional<FactorId> factorOf(OpId op, llvm::StringRef name) const {
    for (auto [index, factor] : llvm::enumerate(graph.ruleOf(op).factors))
      if (factor.name == name)
        return FactorId(index);
    return std::nullopt;
  }
  /// Is the factor one of the weight that tp cuts?
  bool isOfWeight(OpId op, std::optional<FactorId> factor) const {
    std::optional<unsigned> weight = cutWeight(graph, isWeight, op);
    return factor && weight && graph.ruleOf(op).operands[*weight].has(*factor);
  }
  bool isForward(OpId op) const { return parts[op.index()] == StepPart::Computation && !follows[op.index()]; }

  void vote(const PlanChoice &choice, OpId op, std::map<std::string, AxisVotes> &votes) const;
  StageDegrees degreesOf(const StagePlan &stage) const;
  bool cutsSequences(const StagePlan &stage, const std::set<std::string> &tensor) const;
  int zeroOf(const StagePlan &stage, const std::set<std::string> &tensor) const;
  std::optional<int64_t> shardOf(const StagePlan &stage, const ParallelDegrees &layout,
                                 const std::set<std::string> &tensor) const;
  void setStep(ParallelDegrees &layout) const;

  const OpGraph &graph;
  const Plan &plan;
  InputFactors inputs;
  std::vector<std::optional<FactorId>> experts;
  std::vector<bool> isWeight; ///< by value
  std::vector<StepPart> parts;
  std::vector<bool> follows;
  llvm::StringMap<OpId> ops;
};

void Recognizer::vote(const PlanChoice &choice, OpId op, std::map<std::string, AxisVotes> &votes) const {
  double seconds = choice.seconds;
  const bool ofExperts = experts[op.index()].has_value();
  const double ofTokens = ofExperts ? 0 : seconds; // ranks of tp, too, may have tokens of their own at experts
  std::set<std::string> cutsExperts;
  for (const NamedStrategy::Cut &cut : choice.strategy.cuts) {
    std::optional<FactorId> factor = factorOf(op, cut.factor);
    const bool isBatch = factor && factor == inputs.batch[op.index()],
               isSequence = factor && factor == inputs.sequence[op.index()];
    for (const std::string &axis : cut.axes) {
      AxisVotes &own = votes[axis];
      if (ofExperts && factor == experts[op.index()]) {
        cutsExperts.insert(axis);
        continue;
      }
      if (ofExperts)
        (isOfWeight(op, factor) ? own.cutExperts : own.tokensOfExperts) += seconds;
      if (isBatch)
        (isSequence ? own.rows += ofTokens : own.data += seconds);
      else if (isSequence)
        own.context += ofTokens;
      else if (!ofExperts)
        own.tensor += seconds;
    }
  }
  for (auto &[axis, own] : votes)
    if (ofExperts)
      (cutsExperts.count(axis) ? own.experts : own.otherExperts) += seconds;
}

StageDegrees Recognizer::degreesOf(const StagePlan &stage) const {
  std::map<std::string, AxisVotes> votes;
  for (const PlanAxis &axis : stage.mesh.axes)
    votes[axis.name];
  for (const PlanChoice &choice : stage.choices)
    if (std::optional<OpId> op = find(choice))
      if (isForward(*op) && graph.ruleOf(*op).work == Work::Contraction)
        vote(choice, *op, votes);
  StageDegrees degrees;
  for (const PlanAxis &axis : stage.mesh.axes) {
    const AxisVotes &own = votes[axis.name];
    (own.isTensor() ? degrees.tensor : own.isContext() ? degrees.context : degrees.data) *= axis.size;
    if (own.isTensor())
      degrees.ofTensor.insert(axis.name);
  }
  auto allOfTensor = [&](auto test) {
    return llvm::all_of(degrees.ofTensor, [&](const auto &axis) { return (votes[axis].*test)(); });
  };
  const bool areWhole = allOfTensor(&AxisVotes::leavesExpertsWhole);
  for (const PlanAxis &axis : stage.mesh.axes)
    if (areWhole || degrees.ofTensor.count(axis.name) == 0)
      degrees.experts *= votes[axis.name].isOfExperts() ? axis.size : 1;
  degrees.hasWholeExperts =
      areWhole && degrees.tensor > 1 && (degrees.experts > 1 || allOfTensor(&AxisVotes::sharesExperts));
  return degrees;
}

/// Is a part of a sequence, or of a row, on a rank of tp between the weights?
bool Recognizer::cutsSequences(const StagePlan &stage, const std::set<std::string> &tensor) const {
  for (const PlanChoice &choice : stage.choices) {
    std::optional<OpId> op = find(choice);
    if (!op || !isForward(*op) || graph.ruleOf(*op).work != Work::Stream)
      continue;
    for (const NamedStrategy::Cut &cut : choice.strategy.cuts) {
      std::optional<FactorId> factor = factorOf(*op, cut.factor);
      bool isPart =
          factor && (factor == inputs.sequence[op->index()] ||
                     (graph.ruleOf(*op).isReduction(*factor) && choice.operatorName.find("norm") != std::string::npos));
      if (isPart && llvm::any_of(cut.axes, [&](const std::string &axis) { return tensor.count(axis) > 0; }))
        return true;
    }
  }
  return false;
}

/// Bytes that rest cut over axes of dp and cp, and all.
struct RestingBytes {
  double cut = 0, all = 0;

  void add(double bytes, bool isCut) {
    all += bytes;
    cut += isCut ? bytes : 0;
  }
  bool isMostlyCut() const { return 2 * cut > all; }
};

/// Of the whole value.
static double bytesOf(const PlanSharding &sharding) {
  double bytes = sharding.elementBits / 8.0;
  for (int64_t size : sharding.shape)
    bytes *= static_cast<double>(size);
  return bytes;
}

/// The axes of dp and cp, which are those that tp has not, over which it is cut.
static std::set<std::string> replicaAxes(const PlanSharding &sharding, const std::set<std::string> &tensor) {
  std::set<std::string> cut;
  for (const AxisNames &axes : sharding.sharding.dims)
    llvm::copy_if(axes, std::inserter(cut, cut.end()),
                  [&](const std::string &axis) { return tensor.count(axis) == 0; });
  return cut;
}

int Recognizer::zeroOf(const StagePlan &stage, const std::set<std::string> &tensor) const {
  RestingBytes parameters, states, sums;
  for (const PlanSharding &sharding : stage.shardings) {
    auto known = ops.find(sharding.producer);
    if (known == ops.end() || experts[known->second.index()])
      continue;
    const double bytes = bytesOf(sharding);
    const GraphOp &producer = graph.op(known->second);
    const bool isCut = !replicaAxes(sharding, tensor).empty();
    if (producer.operands.empty() && sharding.role == ValueRole::Parameter)
      parameters.add(bytes, isCut);
    else if (producer.accumulates)
      sums.add(bytes, isCut);
    else if (parts[known->second.index()] == StepPart::State)
      states.add(bytes, isCut);
  }
  if (parameters.isMostlyCut())
    return 3;
  if (sums.isMostlyCut())
    return 2;
  return states.isMostlyCut() ? 1 : 0;
}

/// The innermost ranks over which most bytes of what ZeRO cuts are cut, where these are not all ranks of dp and cp.
std::optional<int64_t> Recognizer::shardOf(const StagePlan &stage, const ParallelDegrees &layout,
                                           const std::set<std::string> &tensor) const {
  if (layout.experts > 1)
    return std::nullopt;
  std::map<std::set<std::string>, double> bytesBy; // axes of dp and cp
  for (const PlanSharding &sharding : stage.shardings) {
    auto known = ops.find(sharding.producer);
    if (known == ops.end())
      continue;
    const bool isState = parts[known->second.index()] == StepPart::State;
    const bool isParameter = graph.op(known->second).operands.empty() && sharding.role == ValueRole::Parameter;
    std::set<std::string> cut = replicaAxes(sharding, tensor);
    if ((layout.zero == 3 ? isParameter : isState) && !cut.empty())
      bytesBy[cut] += bytesOf(sharding);
  }
  auto most = llvm::max_element(bytesBy, [](const auto &a, const auto &b) { return a.second < b.second; });
  if (most == bytesBy.end())
    return std::nullopt;
  int64_t ranks = 1;
  size_t met = 0;
  for (const PlanAxis &axis : llvm::reverse(stage.mesh.axes)) {
    if (tensor.count(axis.name) > 0)
      continue;
    if (most->first.count(axis.name) == 0)
      break;
    ranks *= axis.size;
    ++met;
  }
  const bool isPart = met == most->first.size() && ranks < layout.data * layout.context;
  return isPart ? std::optional(ranks) : std::nullopt;
}

/// The degrees that are no mesh's.
void Recognizer::setStep(ParallelDegrees &layout) const {
  if (plan.pipeline) {
    layout.pipeline = plan.pipeline->workers;
    if (plan.pipeline->chunks > 1)
      layout.chunks = plan.pipeline->chunks;
    layout.schedule = plan.pipeline->schedule;
  }
  if (!plan.training)
    return;
  layout.copies = plan.training->copies;
  if (plan.training->microBatch % layout.data == 0)
    layout.microBatch = plan.training->microBatch / layout.data;
  if (auto recompute = parseRecomputeSetting(plan.training->recompute, "recompute"))
    layout.recompute = *recompute;
  else
    llvm::consumeError(recompute.takeError());
}

ParallelDegrees Recognizer::run() {
  std::map<decltype(StageDegrees().key()), double> seconds;
  std::vector<StageDegrees> degrees;
  for (const StagePlan &stage : plan.stages) {
    degrees.push_back(degreesOf(stage));
    seconds[degrees.back().key()] += stage.seconds();
  }
  auto most = llvm::max_element(seconds, [](const auto &a, const auto &b) { return a.second < b.second; });
  size_t index = 0;
  while (degrees[index].key() != most->first)
    ++index;
  const StagePlan &stage = plan.stages[index];
  ParallelDegrees layout;
  layout.data = degrees[index].data;
  layout.context = degrees[index].context;
  layout.tensor = degrees[index].tensor;
  layout.experts = degrees[index].experts;
  layout.zero = layout.data * layout.context > 1 ? zeroOf(stage, degrees[index].ofTensor) : 0;
  if (layout.zero > 0)
    layout.shard = shardOf(stage, layout, degrees[index].ofTensor);
  if (degrees[index].hasWholeExperts)
    layout.expertTensor = 1;
  layout.cutsSequences =
      layout.tensor == 1 || layout.hasWholeExperts() || cutsSequences(stage, degrees[index].ofTensor);
  setStep(layout);
  return layout;
}

} // namespace

ParallelDegrees recognizeLayout(const OpGraph &graph, const Plan &plan) { return Recognizer(graph, plan).run(); }

} // namespace apc

// Steps of the tiny models cut into stages: what any schedule needs of a cut, whatever the place.
#include "../ValueOf.h"
#include "TinySteps.h"

#include "apc/Graph/LayerCuts.h"
#include "apc/Graph/SharedSums.h"
#include "apc/Graph/StageGraph.h"

#include "llvm/ADT/STLExtras.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <set>

using namespace apc;

namespace {

bool isBackward(StagePart part) { return part == StagePart::InputGradients || part == StagePart::WeightGradients; }

/// By op: it reads parameters alone that nobody trains, or what such ops make, as a mask does.
std::vector<bool> opsOfConstants(const OpGraph &graph) {
  std::set<ValueId> trained;
  for (const GraphValue &value : graph.values)
    if (value.replaces)
      trained.insert(*value.replaces);
  std::vector<bool> areOf(graph.ops.size());
  for (size_t op = 0; op < graph.ops.size(); ++op)
    areOf[op] = !graph.ops[op].results.empty() && !graph.ops[op].operands.empty() &&
                llvm::all_of(graph.ops[op].operands, [&](std::optional<ValueId> operand) {
                  if (!operand)
                    return true;
                  OpId producer = graph.value(*operand).producer;
                  return areOf[producer.index()] ||
                         (graph.op(producer).operands.empty() && graph.value(*operand).role == ValueRole::Parameter &&
                          trained.count(*operand) == 0);
                });
  return areOf;
}

/// By op, the stages that it stands in: its own, and those of its readers where it reads constants alone and runs
/// forward.
std::vector<std::set<unsigned>> stagesOfOps(const OpGraph &graph, const StageSplit &split) {
  const std::vector<bool> areOfConstants = opsOfConstants(graph);
  std::vector<std::set<unsigned>> stages;
  for (unsigned stage : split.stages)
    stages.push_back({stage});
  for (size_t op = graph.ops.size(); op-- > 0;)
    for (std::optional<ValueId> operand : graph.ops[op].operands) {
      if (!operand)
        continue;
      const size_t producer = graph.value(split.valueRead(graph, OpId(op), *operand)).producer.index();
      if (areOfConstants[producer] && split.parts[producer] == StagePart::Forward)
        stages[producer].insert(stages[op].begin(), stages[op].end());
    }
  return stages;
}

/// Every value that an op reads from another stage has come: by a transfer to its stage, or as an input of each stage.
void checkTransfers(const OpGraph &graph, const StageSplit &split) {
  std::map<ValueId, std::set<unsigned>> brought;
  for (const StageTransfer &transfer : split.transfers) {
    CHECK(transfer.from == split.stages[graph.value(transfer.value).producer.index()]);
    CHECK(transfer.bytes == graph.value(transfer.value).shape.bytes());
    for (unsigned to : transfer.to)
      CHECK(brought[transfer.value].insert(to).second); // once
  }
  std::map<ValueId, std::set<unsigned>> needed;
  const std::vector<std::set<unsigned>> stages = stagesOfOps(graph, split);
  for (size_t op = 0; op < graph.ops.size(); ++op)
    for (std::optional<ValueId> operand : graph.ops[op].operands) {
      if (!operand)
        continue;
      ValueId read = split.valueRead(graph, OpId(op), *operand);
      for (unsigned stage : stages[op])
        if (graph.value(read).role != ValueRole::Input && stages[graph.value(read).producer.index()].count(stage) == 0)
          needed[read].insert(stage);
    }
  CHECK(brought == needed);
}

/// The order in which parts can run, from what their ops read: by stage and micro-batch F before B of the same stage,
/// F of stage s behind F of earlier ones, B behind B of later ones, and what runs once behind all of them.
void checkOrder(const OpGraph &graph, const StageSplit &split) {
  std::map<ValueId, TransferTime> times;
  for (const StageTransfer &transfer : split.transfers)
    times[transfer.value] = transfer.time;
  for (size_t op = 0; op < graph.ops.size(); ++op)
    for (std::optional<ValueId> operand : graph.ops[op].operands) {
      if (!operand)
        continue;
      ValueId read = split.valueRead(graph, OpId(op), *operand);
      size_t producer = graph.value(read).producer.index();
      if (graph.ops[producer].operands.empty())
        continue; // inputs, parameters, states
      INFO(graph.ops[op].name << " reads " << graph.value(read).name);
      StagePart made = split.parts[producer], used = split.parts[op];
      unsigned from = split.stages[producer], to = split.stages[op];
      CHECK((made == used || made < used)); // F, I, W, U
      bool isOfEach = split.isMadeByEach[read.index()];
      bool isAwaited = from != to && !isOfEach && times.at(read) != TransferTime::Step;
      if (isAwaited && made == StagePart::Forward)
        CHECK(from < to);
      if (isAwaited && isBackward(made)) {
        CHECK(from > to);
        CHECK(made == StagePart::InputGradients); // nobody waits for gradients of weights
      }
      if (isAwaited)
        CHECK(used != StagePart::Update);
    }
}

/// Each op of InputGradients leads to a value that an earlier stage waits for.
void checkAwaited(const OpGraph &graph, const StageSplit &split) {
  std::set<OpId> awaited;
  for (const StageTransfer &transfer : split.transfers)
    if (transfer.time == TransferTime::Backward)
      awaited.insert(graph.value(transfer.value).producer);
  for (size_t op = graph.ops.size(); op-- > 0;)
    if (awaited.count(OpId(op)))
      for (std::optional<ValueId> operand : graph.ops[op].operands)
        if (operand)
          if (OpId producer = graph.value(split.valueRead(graph, OpId(op), *operand)).producer;
              split.stages[producer.index()] == split.stages[op])
            awaited.insert(producer);
  for (size_t op = 0; op < graph.ops.size(); ++op) {
    INFO(graph.ops[op].name);
    if (isBackward(split.parts[op]) && !graph.ops[op].operands.empty())
      CHECK((split.parts[op] == StagePart::InputGradients) == (awaited.count(OpId(op)) == 1));
  }
}

/// Tied ops have one stage. A sum of gradients that one other stage makes, all of them, stands in that one.
void checkTies(const OpGraph &graph, const StageSplit &split) {
  for (const TiedOps &tie : graph.ties)
    for (OpId op : tie) {
      INFO(graph.op(op).name);
      std::set<unsigned> makers;
      for (std::optional<ValueId> operand : graph.op(op).operands)
        if (operand)
          makers.insert(split.stages[graph.value(*operand).producer.index()]);
      bool isSum = graph.op(op).operatorName == "sum" && split.parts[tie.front().index()] == StagePart::Forward &&
                   !isSource(graph, tie.front());
      unsigned leading = split.stages[tie.front().index()];
      CHECK(split.stages[op.index()] == (isSum && makers.size() == 1 ? *makers.begin() : leading));
    }
}

void checkStageGraph(const OpGraph &graph, const StageSplit &split, unsigned stage, std::vector<size_t> &seen,
                     double &flops) {
  const std::vector<std::set<unsigned>> stages = stagesOfOps(graph, split);
  StageGraph own = stageGraph(graph, split, stage);
  std::vector<OpId> order = valueOf(topologicalOrder(own.graph));
  for (auto [position, op] : llvm::enumerate(order))
    CHECK(op.index() == position);
  REQUIRE(own.ops.size() == own.graph.ops.size());
  REQUIRE(own.values.size() == own.graph.values.size());
  std::set<std::string> names;
  for (size_t op = 0; op < own.graph.ops.size(); ++op) {
    const GraphOp &here = own.graph.ops[op];
    INFO(here.name);
    CHECK(names.insert(here.name).second);
    const FactorRule &rule = own.graph.ruleOf(OpId(op));
    REQUIRE(rule.operands.size() == here.operands.size());
    REQUIRE(rule.results.size() == here.results.size());
    for (auto [index, operand] : llvm::enumerate(here.operands))
      if (operand)
        CHECK(rule.operandShape(static_cast<unsigned>(index)).dims == own.graph.value(*operand).shape.dims);
    for (auto [index, result] : llvm::enumerate(here.results))
      if (result) {
        CHECK(own.graph.value(*result).producer == OpId(op));
        CHECK(rule.resultShape(static_cast<unsigned>(index)).dims == own.graph.value(*result).shape.dims);
      }
    flops += static_cast<double>(here.repeats) * rule.flops();
    if (own.ops[op]) {
      ++seen[own.ops[op]->index()];
      CHECK(stages[own.ops[op]->index()].count(stage) == 1);
      CHECK(rule == graph.ruleOf(*own.ops[op]));
      CHECK((here.leadingFactors == graph.op(*own.ops[op]).leadingFactors || here.operatorName == "sum"));
    }
  }
  for (size_t value = 0; value < own.values.size(); ++value)
    CHECK(own.graph.values[value].shape.dims == graph.value(own.values[value]).shape.dims);
}

/// No sum over micro-batches is the only reader of what comes with each of them.
void checkSums(const OpGraph &graph, const StageSplit &split) {
  std::vector<std::vector<OpGraph::Use>> uses = graph.uses();
  for (const StageTransfer &transfer : split.transfers)
    if (transfer.time == TransferTime::Backward) {
      INFO(graph.value(transfer.value).name);
      CHECK_FALSE(llvm::all_of(uses[transfer.value.index()], [&](OpGraph::Use use) {
        return graph.op(use.op).accumulates && split.stages[use.op.index()] != transfer.from;
      }));
    }
}

void checkSplit(const OpGraph &whole, llvm::ArrayRef<size_t> cuts) {
  SplitStep step = valueOf(splitStep(whole, cuts));
  const OpGraph &graph = step.graph;
  const StageSplit &split = step.split;
  CHECK(sharedSums(graph, split).empty());
  checkSums(graph, split);
  CHECK(split.numStages == cuts.size() + 1);
  REQUIRE(split.stages.size() == graph.ops.size());
  std::set<unsigned> used(split.stages.begin(), split.stages.end());
  CHECK(*used.rbegin() < split.numStages);
  checkTies(graph, split);
  for (const GraphValue &value : graph.values)
    if (value.replaces && !graph.ops[value.producer.index()].operands.empty() && graph.isTrainingStep())
      CHECK(split.stages[value.producer.index()] == split.stages[graph.value(*value.replaces).producer.index()]);
  checkTransfers(graph, split);
  checkOrder(graph, split);
  checkAwaited(graph, split);
  std::vector<size_t> seen(graph.ops.size(), 0);
  double flops = 0, all = 0;
  for (unsigned stage = 0; stage < split.numStages; ++stage)
    checkStageGraph(graph, split, stage, seen, flops);
  const std::vector<std::set<unsigned>> stages = stagesOfOps(graph, split);
  for (auto [op, times, own] : llvm::zip_equal(graph.ops, seen, stages)) {
    CHECK(times == own.size()); // once in each
    all += static_cast<double>(times) * static_cast<double>(op.repeats) * graph.rules[op.rule.index()].flops();
  }
  CHECK(flops == Approx(all).epsilon(1e-12));
}

void checkModel(const TinyStep &step) {
  INFO(step.model);
  OpGraph graph = importedStep(requestOfStep(step)).graph;
  std::vector<CutPosition> layers = layerCuts(graph);
  INFO(layers.size() << " layer cuts");
  REQUIRE(!layers.empty());
  std::vector<size_t> all;
  for (const CutPosition &cut : layers)
    all.push_back(cut.position);
  checkSplit(graph, {});
  checkSplit(graph, all[all.size() / 2]);
  checkSplit(graph, all);
  std::mt19937 random(3);
  size_t numForward = forwardOps(graph).size();
  for (unsigned trial = 0; trial < 3; ++trial) {
    std::set<size_t> anywhere;
    while (anywhere.size() < 3)
      anywhere.insert(1 + random() % (numForward - 1));
    std::vector<size_t> cuts(anywhere.begin(), anywhere.end());
    INFO("cuts " << cuts[0] << " " << cuts[1] << " " << cuts[2]);
    checkSplit(graph, cuts);
  }
}

} // namespace

TEST_CASE("Forward passes of the tiny models are cut into stages anywhere") {
  for (const char *model : tinyModels)
    checkModel({model, StepMode::Infer});
}

TEST_CASE("Training steps of the tiny models are cut into stages anywhere") {
  for (const char *model : tinyModels) {
    checkModel({.model = model});
    checkModel({.model = model, .optimizer = OptimizerChoice::Sgd, .microBatch = 4, .clipNorm = {}});
    checkModel({.model = model, .recompute = RecomputeChoice::Full});
    checkModel({.model = model, .recompute = RecomputeChoice::Norms, .microBatch = 4});
  }
}

TEST_CASE("Training steps in lower precision are cut into stages anywhere") {
  for (PrecisionChoice precision : {PrecisionChoice::Bf16, PrecisionChoice::Fp16})
    for (const char *model : {"gpt", "t5", "unet"}) {
      checkModel({.model = model, .optimizer = OptimizerChoice::Momentum, .precision = precision});
      checkModel({.model = model, .precision = precision, .microBatch = 4, .clipNorm = {}});
    }
}

TEST_CASE("A stage reads what has come where an earlier one takes statistics again") {
  // The softmax of the router, its rows' sums apart, is made again by stage 0; stage 1 has what came.
  OpGraph graph =
      importedStep(
          requestOfStep({.model = "moe", .recompute = RecomputeChoice::Full, .precision = PrecisionChoice::Bf16}))
          .graph;
  size_t numForward = forwardOps(graph).size();
  for (size_t cut = 1; cut < numForward; ++cut) {
    INFO("before " << graph.op(forwardOps(graph)[cut]).name);
    checkSplit(graph, cut);
  }
}

TEST_CASE("GPT-3 and Llama 3 are cut where their layers begin") {
  struct Model {
    PlanRequest request;
    std::string first; ///< op of layer N, by its name with N as %
    int layers;
    size_t most; ///< cuts: tens, of thousands of places
  };
  for (const Model &model : {Model{requestOf({"gpt3_175b_loss.onnx"}), "/model/h.%/ln_1/LayerNormalization", 96, 97},
                             Model{requestOf({.model = "llama3_8b.onnx", .dims = {{"batch", 1}, {"seq", 2048}}}),
                                   "/model/layers.%/input_layernorm/Mul_1", 32, 34}}) {
    INFO(model.first);
    OpGraph graph = importedStep(model.request).graph;
    std::vector<OpId> forward = forwardOps(graph);
    std::set<std::string> before;
    for (const CutPosition &cut : layerCuts(graph))
      before.insert(graph.op(forward[cut.position]).name);
    CHECK(before.size() <= model.most);
    for (int layer = 1; layer < model.layers; ++layer) {
      std::string name = model.first;
      CHECK(before.count(name.replace(name.find('%'), 1, std::to_string(layer))) == 1);
    }
  }
}

TEST_CASE("Stages of GPT-3 hand on b s h numbers, and share their embedding") {
  PlanRequest request = requestOf({"gpt3_175b_loss.onnx"});
  request.mode = StepMode::Train;
  request.globalBatch = 8;
  request.microBatch = 4;
  OpGraph graph = importedStep(request).graph;
  std::vector<OpId> forward = forwardOps(graph);
  std::vector<size_t> cuts;
  for (const CutPosition &cut : layerCuts(graph))
    for (int stage = 1; stage < 8; ++stage)
      if (llvm::StringRef(graph.op(forward[cut.position]).name).contains("/h." + std::to_string(12 * stage) + "/ln_1/"))
        cuts.push_back(cut.position);
  REQUIRE(cuts.size() == 7);
  SplitStep step = valueOf(splitStep(graph, cuts));
  const StageSplit &split = step.split;
  constexpr int64_t hidden = 12288, boundary = int64_t(4) * 2048 * hidden * 2, embedding = 50257 * hidden * 2;
  constexpr int64_t mask = int64_t(4) * 2048 * 2048;
  std::set<std::pair<unsigned, unsigned>> there, back;
  unsigned embeddings = 0, gradients = 0;
  for (const StageTransfer &transfer : split.transfers) {
    INFO(step.graph.value(transfer.value).name);
    if (transfer.time == TransferTime::Step) {
      embeddings += transfer.bytes == embedding ? 1 : 0;
      bool isSum = transfer.bytes == 2 * embedding; // in 32 bits
      gradients += isSum ? 1 : 0;
      if (isSum)
        CHECK(std::pair(transfer.from, transfer.to) == std::pair(7U, std::vector<unsigned>{0}));
      continue;
    }
    if (transfer.to.size() > 1) { // each layer reads the mask, which the first stage makes of positions
      CHECK(step.graph.value(transfer.value).name == "/model/Less_output_0");
      CHECK(transfer.to == std::vector<unsigned>{1, 2, 3, 4, 5, 6, 7});
      CHECK(transfer.bytes == mask);
      continue;
    }
    CHECK(transfer.bytes == boundary);
    REQUIRE(transfer.to.size() == 1);
    bool isForward = transfer.time == TransferTime::Forward;
    CHECK(transfer.to.front() == (isForward ? transfer.from + 1 : transfer.from - 1));
    CHECK((isForward ? there : back).insert({transfer.from, transfer.to.front()}).second);
  }
  CHECK(there.size() == 7);
  CHECK(back.size() == 7);
  CHECK(embeddings == 1);
  CHECK(gradients == 1); // of the table, from the last stage to the first, once
  CHECK(llvm::count_if(split.shared, [&](const SharedSource &shared) {
          return step.graph.value(shared.value).role == ValueRole::Parameter;
        }) == 1);
}

// Steps of a few ops cut into stages, with answers worked out by hand.
#include "apc/Graph/SharedSums.h"
#include "apc/Graph/StageGraph.h"

#include "../ValueOf.h"

#include "llvm/ADT/STLExtras.h"

using namespace apc;
using Catch::Contains;

namespace {

/// A graph of ops with one result each, named like the op. Ops tied to `leader` are its gradients.
class StepSketch {
public:
  OpId source(const std::string &name, ValueRole role, int64_t bytes = 4) {
    return add(name, {}, bytes, role, std::nullopt);
  }
  OpId op(const std::string &name, std::initializer_list<OpId> reads, int64_t bytes = 4) {
    return add(name, reads, bytes, ValueRole::Activation, std::nullopt);
  }
  OpId tied(OpId leader, const std::string &name, std::initializer_list<OpId> reads, int64_t bytes = 4) {
    return add(name, reads, bytes, ValueRole::Activation, leader);
  }
  OpId gradient(OpId leader, const std::string &name, std::initializer_list<OpId> reads, int64_t bytes = 4) {
    return add(name, reads, bytes, ValueRole::Gradient, leader);
  }
  /// The step of a parameter, which takes its place.
  OpId update(OpId parameter, OpId gradient) {
    OpId id = op(graph.op(parameter).name + "'", {parameter, gradient});
    graph.values.back().replaces = resultOf(parameter);
    return id;
  }
  OpId output(OpId read) {
    OpId id(graph.ops.size());
    graph.rules.emplace_back();
    graph.rules.back().operands.emplace_back();
    graph.ops.push_back({"output " + graph.op(read).name, "output", RuleId(id.index()), {}, {resultOf(read)}, {}});
    return id;
  }
  /// Makes `op` a sum of its operands.
  void addsUp(OpId op) {
    FactorRuleBuilder rule;
    llvm::SmallVector<DimFactors, 4> dims = rule.addFactors("s", graph.value(resultOf(op)).shape.dims);
    llvm::SmallVector<unsigned, 2> all;
    for (unsigned operand = 0; operand < graph.op(op).operands.size(); ++operand) {
      rule.addOperand(dims, 8);
      all.push_back(operand);
    }
    rule.addResult(dims, 8);
    rule.addLinear(all);
    graph.rules[op.index()] = rule.take();
  }
  ValueId resultOf(OpId op) const { return *graph.op(op).results.front(); }

  OpGraph graph;

private:
  OpId add(const std::string &name, llvm::ArrayRef<OpId> reads, int64_t bytes, ValueRole role,
           std::optional<OpId> leader) {
    OpId id(graph.ops.size());
    ValueId result(graph.values.size());
    graph.rules.emplace_back();
    graph.rules.back().operands.resize(reads.size());
    graph.rules.back().results.resize(1);
    graph.ops.push_back({name, name, RuleId(id.index()), {}, {}, {result}});
    graph.values.push_back({name, {{bytes}, 8}, role, id, 0});
    for (OpId read : reads)
      graph.ops.back().operands.emplace_back(resultOf(read));
    if (leader)
      tie(*leader, id);
    return id;
  }
  void tie(OpId leader, OpId op) {
    auto found = llvm::find_if(graph.ties, [&](const TiedOps &tie) { return tie.front() == leader; });
    if (found == graph.ties.end())
      found = graph.ties.insert(found, {leader});
    found->push_back(op);
    llvm::sort(graph.ties, [](const TiedOps &a, const TiedOps &b) { return a.front() < b.front(); });
  }
};

using Names = std::vector<std::string>;

/// "stage part" of each op by name: "a 0F".
Names placesOf(const OpGraph &graph, const StageSplit &split) {
  Names places;
  for (auto [index, op] : llvm::enumerate(graph.ops))
    places.push_back(op.name + " " + std::to_string(split.stages[index]) + "FIWU"[size_t(split.parts[index])]);
  return places;
}

/// "value bytes time: from -> to": "a 4 F: 0 -> 1 2".
Names transfersOf(const OpGraph &graph, const StageSplit &split) {
  Names lines;
  for (const StageTransfer &transfer : split.transfers) {
    lines.push_back(graph.value(transfer.value).name + " " + std::to_string(transfer.bytes) + " " +
                    "FBS"[size_t(transfer.time)] + ": " + std::to_string(transfer.from) + " ->");
    for (unsigned to : transfer.to)
      lines.back() += " " + std::to_string(to);
  }
  return lines;
}

Names opsOf(const OpGraph &graph) {
  Names names;
  for (const GraphOp &op : graph.ops)
    names.push_back(op.name);
  return names;
}

/// x . A = a | a . B = b, with its loss, gradients and updates.
struct TwoLayers : StepSketch {
  OpId x = source("x", ValueRole::Input), wA = source("A", ValueRole::Parameter),
       wB = source("B", ValueRole::Parameter);
  OpId a = op("a", {x, wA}, 10), b = op("b", {a, wB}, 20), loss = op("loss", {b}, 1);
  OpId db = tied(loss, "db", {b}, 20), da = tied(b, "da", {db, wB}, 10), dB = gradient(b, "dB", {db, a});
  OpId dA = gradient(a, "dA", {da, x});
  OpId squareA = op("squareA", {dA}, 1), squareB = op("squareB", {dB}, 1), norm = op("norm", {squareA, squareB}, 1);
  OpId newA = update(wA, dA), newB = update(wB, dB);
  OpId outLoss = output(loss), outA = output(newA), outB = output(newB);
};

/// Two layers with one parameter, which the second reads turned where so wanted, and whose gradients are summed over 4
/// micro-batches.
struct SharedParameter : StepSketch {
  explicit SharedParameter(bool isTurned = false) {
    OpId turned = isTurned ? op("turned", {w}, 7) : w;
    a = op("a", {x, w}, 10), b = op("b", {a, turned}, 20);
    later = tied(b, "later", {b, a}, 7), da = tied(b, "da", {b, turned}, 10);
    OpId back = isTurned ? tied(turned, "back", {later}, 7) : later;
    first = tied(a, "first", {da, x}, 7), dw = gradient(state, "dw", {first, back}, 7);
    for (GraphOp &op : graph.ops)
      op.repeats = op.operands.empty() ? 1 : 4;
    graph.ops[dw.index()].accumulates = true;
    updated = update(w, dw);
  }

  OpId x = source("x", ValueRole::Input), w = source("w", ValueRole::Parameter, 7);
  OpId state = source("state", ValueRole::OptimizerState, 7);
  OpId a, b, later, da, first, dw, updated;
};

} // namespace

TEST_CASE("A chain in three stages hands each result to the next") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), a = sketch.op("a", {x}, 10), b = sketch.op("b", {a}, 20);
  sketch.output(sketch.op("c", {b}, 30));
  StageSplit split = valueOf(splitStages(sketch.graph, {1, 2}));
  CHECK(split.numStages == 3);
  CHECK(placesOf(sketch.graph, split) == Names{"x 0F", "a 0F", "b 1F", "c 2F", "output c 2F"});
  CHECK(transfersOf(sketch.graph, split) == Names{"a 10 F: 0 -> 1", "b 20 F: 1 -> 2"});
  CHECK(split.shared.empty());
  StageGraph middle = stageGraph(sketch.graph, split, 1);
  CHECK(opsOf(middle.graph) == Names{"receive a", "b", "send b"});
  CHECK(middle.ops == std::vector<std::optional<OpId>>{{}, b, {}});
  CHECK(middle.values == std::vector<ValueId>{sketch.resultOf(a), sketch.resultOf(b)});
  CHECK(middle.graph.values[0].role == ValueRole::Input);
}

TEST_CASE("A skip connection goes straight to each stage that reads it, once") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), a = sketch.op("a", {x}, 10), b = sketch.op("b", {a}, 20);
  OpId c = sketch.op("c", {b}, 30), d = sketch.op("d", {c, a}, 40);
  sketch.output(sketch.op("e", {d, a, a, x}, 50));
  StageSplit split = valueOf(splitStages(sketch.graph, {1, 2, 3}));
  CHECK(transfersOf(sketch.graph, split) == Names{"a 10 F: 0 -> 1 3", "b 20 F: 1 -> 2", "c 30 F: 2 -> 3"});
  // Each stage that reads an input has it.
  CHECK(split.shared == std::vector<SharedSource>{{sketch.resultOf(x), {0, 3}}});
  CHECK(opsOf(stageGraph(sketch.graph, split, 3).graph) == Names{"x", "receive c", "receive a", "d", "e", "output e"});
}

TEST_CASE("A parameter of two stages stays with the first, and goes to the other once a step") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), w = sketch.source("w", ValueRole::Parameter, 7);
  OpId a = sketch.op("a", {x, w}, 10), turned = sketch.op("turned", {w}, 7), b = sketch.op("b", {a, turned}, 20);
  sketch.output(sketch.op("c", {b, turned, w}));
  StageSplit split = valueOf(splitStages(sketch.graph, {1, 3}));
  CHECK(split.shared == std::vector<SharedSource>{{sketch.resultOf(w), {0, 1, 2}}});
  // Nobody trains it: what it alone is made into is made where it is read.
  CHECK(transfersOf(sketch.graph, split) == Names{"w 7 S: 0 -> 1 2", "a 10 F: 0 -> 1", "b 20 F: 1 -> 2"});
  StageGraph last = stageGraph(sketch.graph, split, 2);
  CHECK(opsOf(last.graph) == Names{"receive b", "w", "turned", "c", "output c"});
  CHECK(last.ops == std::vector<std::optional<OpId>>{{}, {}, turned, OpId(5), OpId(6)});
  CHECK(last.graph.values[1].role == ValueRole::Parameter);
}

TEST_CASE(
    "Values of a parameter alone, however early, are made in the first stage that reads them, with their gradients") {
  SharedParameter sketch(/*isTurned=*/true);
  SplitStep step = valueOf(splitStep(sketch.graph, {2}));
  CHECK(transfersOf(step.graph, step.split) ==
        Names{"w 7 S: 0 -> 1", "a 10 F: 0 -> 1", "da 10 B: 1 -> 0", "dw.stage1 7 S: 1 -> 0"});
}

TEST_CASE("A value made of a trained parameter alone comes once a step") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), w = sketch.source("w", ValueRole::Parameter, 7);
  OpId turned = sketch.op("turned", {w}, 7), a = sketch.op("a", {x, turned}, 10);
  sketch.output(sketch.op("b", {a, turned}));
  sketch.output(sketch.update(w, sketch.gradient(turned, "dw", {x}, 7)));
  StageSplit split = valueOf(splitStages(sketch.graph, {2}));
  CHECK(llvm::is_contained(transfersOf(sketch.graph, split), "turned 7 S: 0 -> 1"));
}

TEST_CASE("Values made of constants alone are made by each stage that reads them, with what they read") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), places = sketch.source("places", ValueRole::Parameter, 3);
  OpId queries = sketch.op("queries", {places}, 3), mask = sketch.op("mask", {queries}, 9);
  OpId a = sketch.op("a", {x, mask}, 10);
  sketch.output(sketch.op("b", {a, mask}));
  StageSplit split = valueOf(splitStages(sketch.graph, {3}));
  CHECK(transfersOf(sketch.graph, split) == Names{"places 3 S: 0 -> 1", "a 10 F: 0 -> 1"});
  CHECK(opsOf(stageGraph(sketch.graph, split, 0).graph) ==
        Names{"x", "places", "send places", "queries", "mask", "a", "send a"});
  CHECK(opsOf(stageGraph(sketch.graph, split, 1).graph) ==
        Names{"receive a", "places", "queries", "mask", "b", "output b"});
}

TEST_CASE("A stage that would run only what each stage makes for itself is refused") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), places = sketch.source("places", ValueRole::Parameter);
  OpId mask = sketch.op("mask", {places}), a = sketch.op("a", {x, mask});
  sketch.output(sketch.op("b", {a}));
  auto [fault, message] = takeMessage(splitStages(sketch.graph, {1}).takeError());
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Contains("stage 0 of 2 has no op of its own"));
  CHECK(valueOf(splitStages(sketch.graph, {2})).numStages == 2);
}

TEST_CASE("Two outputs stand where they are made") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), a = sketch.op("a", {x}, 10), b = sketch.op("b", {a}, 20);
  sketch.output(a);
  sketch.output(b);
  StageSplit split = valueOf(splitStages(sketch.graph, {1}));
  CHECK(placesOf(sketch.graph, split) == Names{"x 0F", "a 0F", "b 1F", "output a 0F", "output b 1F"});
  CHECK(transfersOf(sketch.graph, split) == Names{"a 10 F: 0 -> 1"});
}

TEST_CASE("A step in two stages: gradients run back, weights stay, norms go once a step") {
  TwoLayers step;
  StageSplit split = valueOf(splitStages(step.graph, {1}));
  CHECK(placesOf(step.graph, split) == Names{"x 0F", "A 0F", "B 1F", "a 0F", "b 1F", "loss 1F", "db 1I", "da 1I",
                                             "dB 1W", "dA 0W", "squareA 0U", "squareB 1U", "norm 0U", "A' 0U", "B' 1U",
                                             "output loss 1F", "output A' 0U", "output B' 1U"});
  CHECK(transfersOf(step.graph, split) == Names{"a 10 F: 0 -> 1", "da 10 B: 1 -> 0", "squareB 1 S: 1 -> 0"});
  StageGraph first = stageGraph(step.graph, split, 0);
  CHECK(opsOf(first.graph) ==
        Names{"x", "A", "a", "send a", "receive da", "dA", "squareA", "receive squareB", "norm", "A'", "output A'"});
  CHECK(first.graph.ties == std::vector<TiedOps>{{OpId(2), OpId(5)}});
  CHECK(first.graph.isTrainingStep());
}

TEST_CASE("An op that runs once goes where most of the bytes that it reads are made") {
  TwoLayers step;
  step.graph.values[step.resultOf(step.squareB).index()].shape.dims = {2};
  StageSplit split = valueOf(splitStages(step.graph, {1}));
  CHECK(split.stages[step.norm.index()] == 1);
}

TEST_CASE("A stage that makes all gradients of a value sends their sum") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), w = sketch.source("w", ValueRole::Parameter);
  OpId a = sketch.op("a", {x, w}, 10), b = sketch.op("b", {a}, 10), c = sketch.op("c", {b, a}, 10);
  OpId dc = sketch.tied(c, "dc", {c}, 10), db = sketch.tied(c, "db", {dc}, 10), da = sketch.tied(b, "da", {db}, 10);
  OpId sum = sketch.tied(a, "sum", {dc, da}, 10);
  sketch.gradient(a, "dw", {sum, x});
  sketch.addsUp(sum);
  StageSplit split = valueOf(splitStages(sketch.graph, {1}));
  CHECK(transfersOf(sketch.graph, split) == Names{"a 10 F: 0 -> 1", "sum 10 B: 1 -> 0"});
  StageGraph last = stageGraph(sketch.graph, split, 1);
  CHECK(opsOf(last.graph) == Names{"receive a", "b", "c", "dc", "db", "da", "sum", "send sum"});
  CHECK(last.graph.ties.front() == TiedOps{OpId(0), OpId(6)}); // with the value whose gradient it is
  CHECK(last.graph.op(OpId(6)).leadingFactors == std::vector<std::string>{"d0"});
  // Two stages make gradients of a's result: each sends its own.
  StageSplit thrice = valueOf(splitStages(sketch.graph, {1, 2}));
  CHECK(thrice.stages[sum.index()] == 0);
}

TEST_CASE("A stage reads what has come in place of what an earlier stage makes again") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), a = sketch.op("a", {x}, 10), b = sketch.op("b", {a}, 20);
  OpId again = sketch.tied(a, "again", {x}, 10);
  sketch.graph.ops[again.index()].rule = sketch.graph.op(a).rule;
  sketch.graph.ops[again.index()].operatorName = "a";
  OpId db = sketch.tied(b, "db", {b, again}, 10);
  sketch.tied(a, "da", {db, again}, 10);
  StageSplit split = valueOf(splitStages(sketch.graph, {1}));
  CHECK(split.originals[sketch.resultOf(again).index()] == sketch.resultOf(a));
  CHECK(split.valueRead(sketch.graph, db, sketch.resultOf(again)) == sketch.resultOf(a));
  CHECK(transfersOf(sketch.graph, split) == Names{"a 10 F: 0 -> 1", "db 10 B: 1 -> 0"});
  CHECK(opsOf(stageGraph(sketch.graph, split, 1).graph) == Names{"receive a", "b", "db", "send db"});
}

TEST_CASE("Gradients of a shared parameter go with every micro-batch to the stage that adds them up") {
  SharedParameter sketch;
  auto [later, first, state, updated] = std::tuple(sketch.later, sketch.first, sketch.state, sketch.updated);
  StageSplit split = valueOf(splitStages(sketch.graph, {1}));
  CHECK(transfersOf(sketch.graph, split) ==
        Names{"w 7 S: 0 -> 1", "a 10 F: 0 -> 1", "later 7 B: 1 -> 0", "da 10 B: 1 -> 0"});
  CHECK(split.parts[later.index()] == StagePart::InputGradients); // awaited
  CHECK(split.parts[first.index()] == StagePart::WeightGradients);
  CHECK(split.stages[state.index()] == 0);
  CHECK(split.stages[updated.index()] == 0);
  const OpGraph last = stageGraph(sketch.graph, split, 1).graph;
  for (const GraphOp &op : last.ops)
    if (op.name.rfind("send", 0) == 0)
      CHECK(op.repeats == 4);
}

TEST_CASE("Each stage adds up its gradients of a shared parameter, and hands the sum on once a step") {
  SharedParameter sketch;
  SplitStep step = valueOf(splitStep(sketch.graph, {1}));
  CHECK(step.sums == std::vector<SharedSum>{{sketch.dw, 0, {{0, {0}}, {1, {1}}}}});
  CHECK(transfersOf(step.graph, step.split) ==
        Names{"w 7 S: 0 -> 1", "a 10 F: 0 -> 1", "da 10 B: 1 -> 0", "dw.stage1 7 S: 1 -> 0"});
  StageGraph first = stageGraph(step.graph, step.split, 0), last = stageGraph(step.graph, step.split, 1);
  CHECK(opsOf(first.graph) == Names{"x", "w", "send w", "a", "send a", "receive da", "first", "dw.stage0", "state",
                                    "receive dw.stage1", "dw", "w'"});
  CHECK(opsOf(last.graph) == Names{"receive a", "w", "b", "later", "da", "send da", "dw.stage1", "send dw.stage1"});
  for (const GraphOp &op : step.graph.ops) {
    bool isPart = op.name == "dw.stage0" || op.name == "dw.stage1";
    CHECK(op.accumulates == isPart);
    CHECK((!isPart || op.repeats == 4));
    CHECK((op.name != "dw" || op.repeats == 1));
  }
  CHECK(last.graph.ops.back().repeats == 1);
  // The sum and the part of its own stage are decided with the state; the other part is not.
  CHECK(step.graph.ties.front() == TiedOps{OpId(2), OpId(8), OpId(10)});
  CHECK(sharedSums(step.graph, step.split).empty());
  CHECK(valueOf(splitStep(sketch.graph, {})).sums.empty());
}

TEST_CASE("A gradient that the stage of a sum reads for something else, too, is no part of another stage") {
  SharedParameter sketch;
  sketch.graph.ops[sketch.first.index()].operands.emplace_back(sketch.resultOf(sketch.later));
  sketch.graph.rules[sketch.first.index()].operands.emplace_back();
  CHECK(valueOf(splitStep(sketch.graph, {1})).sums.empty());
}

TEST_CASE("The seed of a scaled loss goes with the loss, wherever it stands") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), scale = sketch.source("scale", ValueRole::OptimizerState);
  OpId a = sketch.op("a", {x}, 10), loss = sketch.op("loss", {a}, 1), other = sketch.op("other", {x});
  OpId seed = sketch.op("seed", {scale}, 1), dLoss = sketch.tied(loss, "dLoss", {seed, a}, 10);
  sketch.gradient(a, "dA", {dLoss, x});
  sketch.output(other);
  CHECK(forwardOps(sketch.graph) == std::vector<OpId>{a, loss, other});
  StageSplit split = valueOf(splitStages(sketch.graph, {1, 2}));
  CHECK(split.stages[seed.index()] == 1);
  CHECK(split.stages[scale.index()] == 1);
  CHECK(split.parts[seed.index()] == StagePart::InputGradients);
  CHECK(transfersOf(sketch.graph, split) == Names{"a 10 F: 0 -> 1", "dLoss 10 B: 1 -> 0"});
}

TEST_CASE(
    "A sum over micro-batches of what inputs alone make runs with each of them, though the update alone reads it") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), labels = sketch.source("labels", ValueRole::Input);
  OpId w = sketch.source("w", ValueRole::Parameter), a = sketch.op("a", {x, w}, 10);
  OpId count = sketch.op("count", {labels}, 1), loss = sketch.op("loss", {a, count}, 1);
  OpId total = sketch.op("total", {count}, 1), dw = sketch.gradient(a, "dw", {a});
  OpId scale = sketch.op("scale", {total}, 1), mean = sketch.op("mean", {dw, scale});
  sketch.update(w, mean);
  for (OpId op : {a, count, loss, total, dw})
    sketch.graph.ops[op.index()].repeats = 4;
  sketch.graph.ops[total.index()].accumulates = true;
  CHECK(forwardOps(sketch.graph) == std::vector<OpId>{a, count, loss, total});
  StageSplit split = valueOf(splitStages(sketch.graph, {1}));
  CHECK(split.parts[total.index()] == StagePart::Forward);
  CHECK(split.parts[scale.index()] == StagePart::Update);
}

TEST_CASE("A sum over micro-batches leaves once, in the update") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), a = sketch.op("a", {x}, 10), b = sketch.op("b", {a}, 20);
  OpId sum = sketch.op("sum", {a}), da = sketch.tied(a, "da", {a}), last = sketch.op("last", {sum, da, b});
  for (GraphOp &op : sketch.graph.ops)
    op.repeats = op.operands.empty() || op.name == "last" ? 1 : 4;
  sketch.graph.ops[sum.index()].accumulates = true;
  sketch.output(last);
  StageSplit split = valueOf(splitStages(sketch.graph, {1}));
  split.stages[sum.index()] = 0; // as if another op read it there
  split.stages[last.index()] = 1;
  split.transfers = {{sketch.resultOf(sum), 0, {1}, 4, TransferTime::Step}};
  StageGraph first = stageGraph(sketch.graph, split, 0);
  CHECK(opsOf(first.graph).back() == "send sum");
  CHECK(first.parts.back() == StagePart::Update);
  CHECK(first.graph.ops.back().repeats == 1);
}

TEST_CASE("A stage runs one part after the other, whatever the order of the whole step") {
  StepSketch sketch;
  OpId a = sketch.op("a", {sketch.source("x", ValueRole::Input)}, 10), wB = sketch.source("B", ValueRole::Parameter);
  OpId b = sketch.op("b", {a, wB}, 20), dB = sketch.gradient(b, "dB", {b, a});
  OpId newB = sketch.update(wB, dB), da = sketch.tied(b, "da", {b, wB}, 10);
  sketch.tied(a, "dA", {da});
  sketch.output(newB);
  sketch.output(b);
  StageSplit split = valueOf(splitStages(sketch.graph, {1}));
  StageGraph last = stageGraph(sketch.graph, split, 1, /*splitsBackward=*/true);
  CHECK(opsOf(last.graph) == Names{"B", "receive a", "b", "da", "send da", "dB", "B'", "output B'", "output b"});
  std::string parts;
  for (StagePart part : last.parts)
    parts += "FIWU"[size_t(part)];
  CHECK(parts == "FFFIIWUUF");
  // Micro-batches wait in front of da, and in front of dB.
  CHECK(withInFlight(last, 3).inFlight == InFlight{3, OpId(3), OpId(5)});
  CHECK(withInFlight(last, 1).othersInFlight() == 0);
  CHECK(withInFlight(stageGraph(sketch.graph, split, 1), 3).inFlight == InFlight{3, OpId(3), {}});
  // A backward pass of one part keeps its order.
  CHECK(opsOf(stageGraph(sketch.graph, split, 1).graph) ==
        Names{"B", "receive a", "b", "dB", "da", "send da", "B'", "output B'", "output b"});
  for (const GraphOp &op : last.graph.ops) {
    INFO(op.name);
    CHECK(op.isTransfer == (op.name.rfind("send", 0) == 0 || op.name.rfind("receive", 0) == 0));
  }
}

TEST_CASE("A stage without trained parameters is a part of a training step") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), w = sketch.source("w", ValueRole::Parameter);
  OpId a = sketch.op("a", {x}, 10), b = sketch.op("b", {a, w}, 20);
  OpId dw = sketch.gradient(b, "dw", {b, a});
  sketch.update(w, dw);
  StageSplit split = valueOf(splitStages(sketch.graph, {1}));
  CHECK(stageGraph(sketch.graph, split, 0).graph.isTrainingStep());
  CHECK(stageGraph(sketch.graph, split, 1).graph.isTrainingStep());
  StepSketch forward;
  forward.op("a", {forward.source("x", ValueRole::Input)});
  CHECK_FALSE(forward.graph.isTrainingStep());
}

TEST_CASE("Cuts ascend and lie inside") {
  TwoLayers step;
  for (const std::vector<size_t> &cuts : {std::vector<size_t>{0}, {3}, {2, 2}, {2, 1}}) {
    auto [fault, message] = takeMessage(splitStages(step.graph, cuts).takeError());
    CHECK(fault == Fault::Internal);
    CHECK_THAT(message, Contains("cuts ascend from 1 to 2"));
  }
  CHECK(valueOf(splitStages(step.graph, {})).transfers.empty());
}

TEST_CASE("Cuts are found by the names of the ops before which they are") {
  TwoLayers step;
  CHECK(valueOf(cutsBefore(step.graph, {"b", "loss"})) == std::vector<size_t>{1, 2});
  CHECK(valueOf(cutsBefore(step.graph, {})).empty());
  auto faultOf = [&](std::vector<std::string> names) {
    auto [fault, message] = takeMessage(cutsBefore(step.graph, names).takeError());
    CHECK(fault == Fault::Input);
    return message;
  };
  CHECK(faultOf({"b", "db"}) == "the model has no op 'db' in its forward pass, before which a stage could begin");
  CHECK(faultOf({"a"}) == "no stage can begin before op 'a': it is the first of the forward pass");
  CHECK_THAT(faultOf({"loss", "b"}), Contains("'b': stages are named in the order in which their first ops run"));
  CHECK_THAT(faultOf({"b", "b"}), Contains("stages are named in the order"));
}

TEST_CASE("A gradient that would run to a later stage is an error that names it") {
  StepSketch sketch;
  OpId x = sketch.source("x", ValueRole::Input), a = sketch.op("a", {x}), b = sketch.op("b", {a});
  OpId da = sketch.tied(a, "da", {x});
  sketch.tied(b, "wrong", {da});
  auto [fault, message] = takeMessage(splitStages(sketch.graph, {1}).takeError());
  CHECK(fault == Fault::Internal);
  CHECK_THAT(message, Contains("op 'wrong' of stage 1 reads 'da', which stage 0 makes in its backward pass"));
}

// Of five micro-batches three wait for their backward pass at most beside the one that runs, and two for gradients of
// weights alone; while such gradients are made, four and one.
TEST_CASE("Micro-batches hold what is read from the place on where they wait") {
  InFlight own{5, OpId(3), OpId(6)};
  for (bool inWeights : {false, true}) {
    CHECK(own.othersHolding(true, false, inWeights) == 4);
    CHECK(own.othersHolding(false, true, inWeights) == 4);
    CHECK(own.othersHolding(false, false, inWeights) == 0);
  }
  own.waiting = {{3, 2}, {4, 1}};
  CHECK(own.othersHolding(true, false, false) == 3);
  CHECK(own.othersHolding(false, true, false) == 2);
  CHECK(own.othersHolding(true, true, false) == 4);
  CHECK(own.othersHolding(true, false, true) == 4);
  CHECK(own.othersHolding(false, true, true) == 1);
  CHECK(own.othersHolding(true, true, true) == 4);
  own.waiting = {{4, 0}, {4, 0}};
  CHECK(own.othersHolding(false, true, true) == 0);
  CHECK(own.othersHolding(true, true, false) == 4);
}

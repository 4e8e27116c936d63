// Products in 8 bits by hand: which take them, where copies are made, what both cost.
#include "ByHand.h"

#include "apc/Cost/GraphCost.h"
#include "apc/Cost/NarrowProducts.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr int64_t height = 1024, width = 2048; ///< of an activation [height, width] and a weight [width, width]

/// y = x . W, and of a gradient dy of y: dx = dy . W^T, dW = x^T . dy, all tied; four micro-batches.
struct LinearStep {
  OpGraph graph;
  ValueId x, weight, gradient, y;

  LinearStep() {
    x = source("x", {height, width}, ValueRole::Input);
    weight = source("W", {width, width}, ValueRole::Parameter);
    gradient = source("dy", {height, width}, ValueRole::Activation);
    y = product("y", x, weight, height, width, width, ValueRole::Activation);
    product("dx", gradient, weight, height, width, width, ValueRole::Activation);
    product("dW", x, gradient, width, height, width, ValueRole::Gradient);
    graph.ties = {{OpId(3), OpId(4), OpId(5)}};
  }

  ValueId source(const char *name, llvm::SmallVector<int64_t, 4> dims, ValueRole role) {
    FactorRuleBuilder rule;
    rule.addResult(rule.addFactors("i", dims), 16);
    rule.setWork(Work::View);
    return add(name, rule.take(), {}, {dims, 16}, role);
  }

  ValueId product(const char *name, ValueId a, ValueId b, int64_t m, int64_t k, int64_t n, ValueRole role) {
    FactorRuleBuilder rule;
    FactorId mId = rule.addFactor("m", m), kId = rule.addReduction("k", k, Combiner::Sum), nId = rule.addFactor("n", n);
    rule.addOperand({{mId}, {kId}}, 16);
    rule.addOperand({{kId}, {nId}}, 16);
    rule.addResult({{mId}, {nId}}, 16);
    rule.setWork(Work::Contraction);
    rule.setFlopsPerPoint(2);
    return add(name, rule.take(), {a, b}, {{m, n}, 16}, role);
  }

  ValueId add(const char *name, FactorRule rule, llvm::ArrayRef<ValueId> operands, TensorShape shape, ValueRole role) {
    ValueId result(graph.values.size());
    GraphOp op;
    op.name = name;
    op.rule = RuleId(graph.rules.size());
    op.format = NumberFormat::BF16;
    op.operands.assign(operands.begin(), operands.end());
    op.results = {result};
    op.repeats = operands.empty() ? 1 : 4;
    graph.values.push_back({name, std::move(shape), role, OpId(graph.ops.size()), 0});
    graph.rules.push_back(std::move(rule));
    graph.ops.push_back(std::move(op));
    return result;
  }

  OpCost costOf(size_t op, const Device &device) const {
    Pool pool;
    pool.device = device;
    pool.levels.push_back({.name = "device"});
    Strategy whole;
    whole.axes.resize(graph.ruleOf(OpId(op)).numFactors());
    return costOfOp(graph, OpId(op), whole, CostModel(pool, Mesh()));
  }
};

/// As fast again in 8 bits, of which products reach a half.
Device narrowDevice() {
  Device device = makeDevice();
  device.peakFlopsPerSecond[NumberFormat::F8] = 4e14;
  device.narrowContractionShare = 0.5;
  return device;
}

} // namespace

TEST_CASE("each operand is narrowed by the first product that reads it, a weight once in a step") {
  LinearStep step;
  narrowProducts(step.graph);
  using enum Narrowing;
  CHECK(step.graph.ops[3].kernel.narrows == std::vector{EachRun, EachStep});
  CHECK(step.graph.ops[4].kernel.narrows == std::vector{EachRun, None});
  CHECK(step.graph.ops[5].kernel.narrows == std::vector{None, None});
  for (size_t op = 3; op < 6; ++op)
    CHECK(step.graph.ops[op].format == NumberFormat::F8);
}

TEST_CASE("products of values, in 32 bits, of windows, in steps or at load stay as they are") {
  LinearStep ofValues, wide, atLoad, windows, steps;
  for (FactorRule &rule : windows.graph.rules)
    rule.factors.front().whole = true;
  for (FactorRule &rule : steps.graph.rules)
    rule.steps = 16;
  ofValues.graph.values[ofValues.weight.index()].role = ValueRole::Activation;
  ofValues.graph.ops[ofValues.weight.index()].operands = {ofValues.x};
  for (FactorRule &rule : wide.graph.rules)
    for (RuleTensor &operand : rule.operands)
      operand.elementBits = 32;
  for (GraphOp &op : atLoad.graph.ops)
    op.atLoad = true;
  for (LinearStep *step : {&ofValues, &wide, &atLoad, &windows, &steps}) {
    const std::vector<GraphOp> before = step->graph.ops;
    narrowProducts(step->graph);
    for (size_t op = 0; op < before.size(); ++op) {
      CHECK(step->graph.ops[op].format == before[op].format);
      CHECK(step->graph.ops[op].kernel == before[op].kernel);
    }
  }
}

TEST_CASE("a product in 8 bits takes its share of their rate, and kernels that copy its operands") {
  LinearStep wide, step;
  narrowProducts(step.graph);
  const Device device = narrowDevice();
  const double flops = 2.0 * height * width * width;
  // 32 steps of k more a tile; copies read 2 bytes and write 2 at 1 TB/s, launched in 5 us each.
  const double products = 4 * (flops / 2e14 * 2080 / 2048 + 5e-6);
  const double ofRun = 4 * (4.0 * height * width / 1e12 + 5e-6), ofWeight = 4.0 * width * width / 1e12 + 5e-6;
  CHECK(wide.costOf(3, device).seconds() == Approx(4 * (flops / 1e14 * 2080 / 2048 + 5e-6)));
  CHECK(step.costOf(3, device).seconds() == Approx(products + ofRun + ofWeight));
  CHECK(step.costOf(4, device).seconds() == Approx(products + ofRun));
  CHECK(step.costOf(5, device).seconds() == Approx(4 * (flops / 2e14 * 1056 / 1024 + 5e-6)));
  // Operands of 8 bits, a result of 16, and the copies.
  const int64_t ofProduct = height * width + width * width + 2 * height * width;
  CHECK(step.costOf(3, device).bytes == 4 * (ofProduct + 4 * height * width) + 4 * width * width);
}

namespace {

/// y = x . W, z = y . W2, which is large, dy = z . W3, dW = x^T . dy; then maybe an op that reads x in 16 bits.
int64_t peakBytes(bool keepsCopies, bool isReadWide) {
  LinearStep step;
  step.graph = OpGraph();
  ValueId x = step.source("x", {height, width}, ValueRole::Activation);
  ValueId w = step.source("W", {width, width}, ValueRole::Parameter);
  ValueId w2 = step.source("W2", {width, 16 * width}, ValueRole::Parameter);
  ValueId w3 = step.source("W3", {16 * width, width}, ValueRole::Parameter);
  ValueId y = step.product("y", x, w, height, width, width, ValueRole::Activation);
  ValueId z = step.product("z", y, w2, height, width, 16 * width, ValueRole::Activation);
  ValueId dy = step.product("dy", z, w3, height, 16 * width, width, ValueRole::Activation);
  step.product("dW", x, dy, width, height, width, ValueRole::Activation);
  if (isReadWide)
    step.product("read", x, x, width, height, width, ValueRole::Activation);
  step.graph.ties = {{OpId(4), OpId(7)}};
  narrowProducts(step.graph);
  step.graph.keepsNarrowCopies = keepsCopies;
  std::vector<Strategy> strategies;
  for (size_t op = 0; op < step.graph.ops.size(); ++op)
    strategies.emplace_back().axes.resize(step.graph.ruleOf(OpId(op)).numFactors());
  Pool pool;
  pool.device = narrowDevice();
  pool.levels.push_back({.name = "device"});
  return graphMemory(step.graph, strategies, CostModel(pool, Mesh()), {}, {}).memory.total();
}

} // namespace

TEST_CASE("a trainer keeps copies in 8 bits of values that products alone read again") {
  const int64_t inEmitted = peakBytes(/*keepsCopies=*/false, /*isReadWide=*/false);
  CHECK(peakBytes(/*keepsCopies=*/true, /*isReadWide=*/false) == inEmitted - height * width);
  CHECK(peakBytes(/*keepsCopies=*/true, /*isReadWide=*/true) == peakBytes(/*keepsCopies=*/false, /*isReadWide=*/true));
}

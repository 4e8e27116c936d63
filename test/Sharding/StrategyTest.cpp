// Strategies: shardings read off them (on MatMuls of MindSpore), legality, enumeration.
#include "TestSupport.h"

#include <set>

using namespace apc;
using namespace apc::test;

namespace {

FactorRule matMul(const TensorShape &a, const TensorShape &b, const TensorShape &c, bool transposed = false) {
  return bound(transposed ? "... m k, ... n k -> ... m n" : "... m k, ... k n -> ... m n", {a, b}, {c});
}

/// Shardings and local shapes of a rule with two operands under one strategy; of a rule with one, `b` repeats `a`.
struct Outcome {
  std::string a, b, c;
  std::vector<Dims> local;
  friend bool operator==(const Outcome &, const Outcome &) = default;
};

Outcome outcome(const FactorRule &rule, llvm::StringRef text, const Mesh &on) {
  Strategy strategy = valueOf(Strategy::parse(text, rule, on));
  CHECK(strategy.str(rule, on) == text);
  unsigned second = rule.operands.size() > 1 ? 1 : 0;
  Sharding a = operandSharding(rule, strategy, 0), b = operandSharding(rule, strategy, second),
           c = resultSharding(rule, strategy, 0);
  return {a.str(on),
          b.str(on),
          c.str(on),
          {localShape(rule.operandShape(0), a, on).dims, localShape(rule.operandShape(second), b, on).dims,
           localShape(rule.resultShape(0), c, on).dims}};
}

std::string rejection(const FactorRule &rule, llvm::StringRef text, const Mesh &on) {
  return errorOf(Strategy::parse(text, rule, on));
}

/// For each axis, 0 where it is idle, otherwise the number of its factor or linear group, from 1.
std::vector<size_t> choicesOf(const Strategy &strategy, const Mesh &on) {
  std::vector<size_t> choices(on.numAxes(), 0);
  size_t choice = 0;
  for (const auto &lists : {llvm::ArrayRef<AxisList>(strategy.axes), llvm::ArrayRef<AxisList>(strategy.partialInputs)})
    for (const AxisList &axes : lists) {
      ++choice;
      for (AxisId axis : axes)
        choices[axis.index()] = choice;
    }
  return choices;
}

/// The strategies that MindSpore enumerates: all devices or none, strategies that differ by equal axes counted once.
/// All axes of `on` are equal.
std::vector<Strategy> fullUse(const FactorRule &rule, const Mesh &on) {
  std::vector<Strategy> kept;
  for (Strategy &strategy : enumerateStrategies(rule, on)) {
    std::vector<size_t> choices = choicesOf(strategy, on);
    size_t idle = llvm::count(choices, 0u);
    if ((idle == 0 || idle == choices.size()) && llvm::is_sorted(choices))
      kept.push_back(std::move(strategy));
  }
  return kept;
}

} // namespace

TEST_CASE("MindSpore: batched MatMul on 1,024 devices, K cut") {
  Mesh on = mesh("[2, 4, 8, 16]");
  FactorRule rule = matMul(shape({2, 4, 8, 16}), shape({2, 4, 16, 32}), shape({2, 4, 8, 32}));
  CHECK(outcome(rule, "b0:x0 b1:x1 m:x2 k:x3", on) == Outcome{"[x0, x1, x2, x3]",
                                                              "[x0, x1, x3, -]",
                                                              "[x0, x1, x2, -] sum{x3}",
                                                              {{1, 1, 1, 1}, {1, 1, 1, 32}, {1, 1, 1, 32}}});
}

TEST_CASE("MindSpore: batched MatMul on 1,024 devices, K and N cut") {
  Mesh on = mesh("[2, 4, 8, 8, 2]");
  FactorRule rule = matMul(shape({2, 4, 8, 16}), shape({2, 4, 16, 32}), shape({2, 4, 8, 32}));
  CHECK(outcome(rule, "b0:x0 b1:x1 m:x2 n:x4 k:x3", on) == Outcome{"[x0, x1, x2, x3]",
                                                                   "[x0, x1, x3, x4]",
                                                                   "[x0, x1, x2, x4] sum{x3}",
                                                                   {{1, 1, 1, 2}, {1, 1, 2, 16}, {1, 1, 1, 16}}});
}

TEST_CASE("MindSpore: MatMul with B transposed and without batch dims") {
  Mesh on = mesh("[2, 4, 8, 16]");
  FactorRule rule = matMul(shape({2, 4, 8, 16}), shape({32, 16}), shape({2, 4, 8, 32}), true);
  CHECK(outcome(rule, "b0:x0 b1:x1 m:x2 k:x3", on) ==
        Outcome{"[x0, x1, x2, x3]", "[-, x3]", "[x0, x1, x2, -] sum{x3}", {{1, 1, 1, 1}, {32, 1}, {1, 1, 1, 32}}});
}

TEST_CASE("MindSpore: MatMul with A without batch dims") {
  Mesh on = mesh("[2, 4, 8, 16]");
  FactorRule rule = matMul(shape({8, 16}), shape({2, 4, 32, 16}), shape({2, 4, 8, 32}), true);
  CHECK(outcome(rule, "b0:x0 b1:x1 m:x2 k:x3", on) ==
        Outcome{"[x2, x3]", "[x0, x1, -, x3]", "[x0, x1, x2, -] sum{x3}", {{1, 1}, {1, 1, 32, 1}, {1, 1, 1, 32}}});
}

TEST_CASE("MindSpore: a MatMul whose K is whole leaves nothing to reduce") {
  Mesh on = mesh("[2, 4, 8, 16]");
  FactorRule rule = matMul(shape({2, 4, 8, 16}), shape({2, 4, 16, 32}), shape({2, 4, 8, 32}));
  CHECK(outcome(rule, "b0:x0 b1:x1 m:x2 n:x3", on).c == "[x0, x1, x2, x3]");
}

TEST_CASE("MindSpore: MatMul layouts that contradict each other are rejected") {
  // Operands that are cut differently in one factor cannot be written: a factor has one list of axes. The other faults:
  Mesh on = mesh("[4, 4, 8, 16]");
  FactorRule rule = matMul(shape({2, 4, 8, 16}), shape({2, 4, 16, 32}), shape({2, 4, 8, 32}));
  std::string tooMany = rejection(rule, "b0:x0 b1:x1 m:x2 k:x3", on);
  CHECK(mentions(tooMany, "factor b0 of size 2 is smaller than the 4 ways in which it is cut")); // by no axes' names
  CHECK(mentions(rejection(rule, "m:x2 k:x2", on), "axis x2 is used twice"));
  CHECK(mentions(rejection(rule, "q:x0", on), "'q'"));
  CHECK(mentions(rejection(rule, "b1:x9", on), "'x9'"));
  CHECK(mentions(errorOf(Mesh::parse("[0, 4, 8, 16]")), "'0'"));
  CHECK(mentions(errorOf(Mesh::parse("[-1, 4, 8, 16]")), "'-1'"));
  Strategy wrong;
  wrong.axes.resize(3);
  CHECK(mentions(errorOf(check(rule, wrong, on)), "3 axis lists"));
  auto text = valueOf(RuleText::parse("... m k, ... k n -> ... m n"));
  CHECK(mentions(errorOf(text.bind({shape({2, 4, 8, 16}), shape({2, 4, 8, 32})}, {shape({2, 4, 8, 32})})), "'k'"));
  CHECK(mentions(errorOf(text.bind({shape({2, 4, 8, 16}), shape({2, 3, 16, 32})}, {shape({2, 4, 8, 32})})), "3"));
}

TEST_CASE("MindSpore: MatMul by named axes") {
  Mesh two = mesh("[dp=2, mp=4]");
  FactorRule rule = matMul(shape({8, 16}), shape({32, 16}), shape({8, 32}), true);
  CHECK(outcome(rule, "m:dp", two).c == "[dp, -]");
  CHECK(outcome(rule, "m:dp n:mp", two).b == "[mp, -]");
  CHECK(outcome(rule, "m:dp n:mp", two).c == "[dp, mp]");
  FactorRule turned = bound("k m, k n -> m n", {shape({16, 8}), shape({16, 32})}, {shape({8, 32})});
  CHECK(outcome(turned, "k:mp", two).a == "[mp, -]");
  CHECK(outcome(turned, "k:mp", two).c == "[-, -] sum{mp}");
  Mesh three = mesh("[dp=2, tp=2, mp=2]");
  CHECK(outcome(rule, "m:(dp tp) k:mp", three).a == "[(dp tp), mp]");
  CHECK(outcome(rule, "m:(dp tp) k:mp", three).c == "[(dp tp), -] sum{mp}");
}

TEST_CASE("partial operands pass through linear groups") {
  Mesh on = mesh("[x0=2, x1=2]");
  FactorRule add = bound("..., ... -> ...", {shape({4, 6}), shape({4, 6})}, {shape({4, 6})});
  add.linear = {{0, 1}};
  CHECK(outcome(add, "b0:x0 passing0:x1", on).a == "[x0, -] sum{x1}");
  CHECK(outcome(add, "b0:x0 passing0:x1", on).b == "[x0, -] sum{x1}");
  CHECK(outcome(add, "b0:x0 passing0:x1", on).c == "[x0, -] sum{x1}");
  FactorRule mul = add;
  mul.linear = {{0}, {1}};
  CHECK(outcome(mul, "passing0:x0 passing1:x1", on).a == "[-, -] sum{x0}");
  CHECK(outcome(mul, "passing0:x0 passing1:x1", on).b == "[-, -] sum{x1}");
  CHECK(outcome(mul, "passing0:x0 passing1:x1", on).c == "[-, -] sum{x0 x1}");
  FactorRule max = bound("m max:k -> m", {shape({4, 8})}, {shape({4})});
  max.linear = {{0}};
  CHECK(mentions(rejection(max, "k:x0 passing0:x1", on), "partial sums cannot pass through while factor k"));
  CHECK(resultSharding(max, valueOf(Strategy::parse("k:x0", max, on)), 0).str(on) == "[-] max{x0}");
  FactorRule both = bound("max:j k -> ", {shape({4, 8})}, {shape({})});
  CHECK(mentions(rejection(both, "j:x0 k:x1", on), "with max over factor j and with sum over factor k"));
}

TEST_CASE("compound dims are cut from the major end and evenly") {
  Mesh on = mesh("[x0=2, x1=2, x2=3]");
  FactorRule heads = bound("b s (h d) -> b h s d", {shape({2, 16, 24})}, {shape({2, 4, 16, 6})});
  CHECK(outcome(heads, "h:x0", on).a == "[-, -, x0]");
  CHECK(outcome(heads, "h:(x0 x1) d:x2", on).a == "[-, -, (x0 x1 x2)]");
  CHECK(outcome(heads, "h:(x0 x1) d:x2", on).local[0] == Dims{2, 16, 2});
  CHECK(mentions(rejection(heads, "h:x0 d:x1", on), "factor d lies below factor h of size 4"));
  CHECK(mentions(rejection(heads, "d:x2", on), "h is not fully cut"));
  CHECK(mentions(rejection(heads, "h:x2", on), "factor h of size 4 shares a dim and does not divide"));
  FactorRule single = bound("b s (h d) -> b h s d", {shape({2, 16, 24})}, {shape({2, 1, 16, 24})});
  CHECK(outcome(single, "d:x2", on).c == "[-, -, -, x2]");
  FactorRule whole = bound("... !k -> ... !k", {shape({4, 8})}, {shape({4, 8})});
  CHECK(mentions(rejection(whole, "k:x0", on), "factor k must be whole"));
  CHECK(mentions(rejection(bound("i i -> i", {shape({4, 4})}, {shape({4})}), "i:x0", on), "two dims of one tensor"));
  // Alone in its dim a factor may be cut unevenly: 16 over 3 is 6 a piece.
  CHECK(localFactorSizes(heads, valueOf(Strategy::parse("s:x2", heads, on)), on)[1] == 6);
}

TEST_CASE("MindSpore: numbers of strategies on 8 devices") {
  Mesh on = Mesh::fromLevels({8});
  auto add = [](std::initializer_list<int64_t> a, std::initializer_list<int64_t> b, std::initializer_list<int64_t> c) {
    return bound("..., ... -> ...", {shape(a), shape(b)}, {shape(c)});
  };
  FactorRule same = add({64, 32}, {64, 32}, {64, 32}), left = add({32}, {64, 32}, {64, 32});
  CHECK(fullUse(same, on).size() == 5);
  for (const Strategy &each : fullUse(same, on))
    CHECK(operandSharding(same, each, 0) == operandSharding(same, each, 1));
  CHECK(fullUse(left, on).size() == 5);
  for (const Strategy &each : fullUse(left, on))
    CHECK(operandSharding(left, each, 0).dims[0] == operandSharding(left, each, 1).dims[1]);
  CHECK(fullUse(add({64, 32}, {32}, {64, 32}), on).size() == 5);
  FactorRule units = add({64, 1}, {1, 32}, {64, 32});
  CHECK(fullUse(units, on).size() == 5);
  for (const Strategy &each : fullUse(units, on)) {
    CHECK(operandSharding(units, each, 0).dims[1].empty());
    CHECK(operandSharding(units, each, 1).dims[0].empty());
  }
  CHECK(fullUse(add({64, 8, 1}, {1, 8, 32}, {64, 8, 32}), on).size() == 11);
  CHECK(fullUse(bound("... -> ...", {shape({64, 32})}, {shape({64, 32})}), on).size() == 5);
  FactorRule unit = add({1, 32}, {64, 8, 32}, {64, 8, 32});
  CHECK(unit.operands[0].dims[0].empty());
  for (const Strategy &each : fullUse(unit, on)) {
    CHECK(operandSharding(unit, each, 0).dims[0].empty());
    CHECK(operandSharding(unit, each, 0).dims[1] == operandSharding(unit, each, 1).dims[2]);
  }
}

TEST_CASE("enumeration offers exactly the legal strategies, once each, in one order") {
  for (llvm::StringRef meshText : {"[2 | 2, 2]", "[3, 2]", "[4]"}) {
    Mesh on = mesh(meshText);
    FactorRule rule = bound("b s (h d), _ -> b h s d", {shape({2, 3, 24}), shape({5})}, {shape({2, 4, 3, 6})});
    rule.linear = {{0}};
    std::vector<RejectedStrategy> rejected;
    std::vector<Strategy> all = enumerateStrategies(rule, on, &rejected);
    size_t possible = 1;
    for (unsigned i = 0; i < on.numAxes(); ++i)
      possible *= rule.numFactors() + rule.linear.size() + 1;
    CHECK(all.size() + rejected.size() == possible);
    std::set<std::string> texts;
    for (const Strategy &each : all) {
      CHECK(errorOf(check(rule, each, on)) == "(no error)");
      CHECK(valueOf(Strategy::parse(each.str(rule, on), rule, on)) == each);
      texts.insert(each.str(rule, on));
    }
    CHECK(texts.size() == all.size());
    for (const RejectedStrategy &each : rejected)
      CHECK(errorOf(check(rule, each.strategy, on)) == each.reason);
    CHECK(all.front().str(rule, on) == "replicated");
    CHECK(enumerateStrategies(rule, on) == all);
  }
}

TEST_CASE("a factor is cut inside parts in every tensor in which it is a dim") {
  Mesh on = mesh("[x0=2 | x1=2]");
  FactorRuleBuilder builder;
  FactorId m = builder.addFactor("m", 8), k = builder.addReduction("k", 6, Combiner::Sum),
           n = builder.addFactor("n", 12);
  builder.addOperand({{m}, {k}}, 32);
  builder.addOperand({{k}, {n}}, 32);
  builder.addResult({{m}, {n}}, 32);
  FactorRule rule = builder.take();
  cutInsideParts(rule, n, {6, 4, 2});
  CHECK(rule.str() == "m k, k n{6 4 2} -> m n{6 4 2} {m=8, k=6 sum, n=12}");
  Strategy strategy = valueOf(Strategy::parse("m:x0 n:x1", rule, on));
  CHECK(operandSharding(rule, strategy, 0).str(on) == "[x0, -]");
  CHECK(operandSharding(rule, strategy, 1).str(on) == "[-, x1{6 4 2}]");
  CHECK(resultSharding(rule, strategy, 0).str(on) == "[x0, x1{6 4 2}]");
  CHECK(resultSharding(rule, valueOf(Strategy::parse("m:x0", rule, on)), 0).str(on) == "[x0, -]");
  CHECK(mentions(errorOf(Strategy::parse("n:(x0 x1)", rule, on)),
                 "has a part that is smaller than the 4 ways in which it is cut"));
  // 6 over 2 devices is even, {3 3} is not: each device has 2 elements of each part, one of them padding.
  Strategy summed = valueOf(Strategy::parse("k:x0", rule, on));
  CHECK(!isPadded(rule, rule.operands[0], 1, k, summed, on));
  cutInsideParts(rule, k, {3, 3});
  CHECK(isPadded(rule, rule.operands[0], 1, k, summed, on));
  CHECK(isPadded(rule, rule.operands[1], 0, k, summed, on));
  CHECK(!isPadded(rule, rule.operands[0], 0, m, strategy, on));
}

TEST_CASE("a strategy is written in the order of the result's dims, sums last") {
  Mesh on = mesh("[2, 2, 2]");
  FactorRule bias =
      valueOf(valueOf(RuleText::parse("..., ... -> ...")).bind({shape({32}), shape({2, 8, 32})}, {shape({2, 8, 32})}));
  CHECK(valueOf(Strategy::parse("b2:x0 b1:x1 b0:x2", bias, on)).str(bias, on) == "b0:x2 b1:x1 b2:x0");
}

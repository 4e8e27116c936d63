// Factor rules: reading, binding, shape inference, the builder, reshapes (MindSpore's among them).
#include "TestSupport.h"

using namespace apc;
using namespace apc::test;

namespace {

std::string bindError(llvm::StringRef text, std::initializer_list<RuleText::BoundShape> operands,
                      std::initializer_list<RuleText::BoundShape> results) {
  return errorOf(valueOf(RuleText::parse(text)).bind(operands, results));
}

std::vector<Dims> inferred(llvm::StringRef text, std::initializer_list<RuleText::BoundShape> operands,
                           llvm::ArrayRef<std::pair<std::string, int64_t>> known = {}) {
  auto shapes = valueOf(valueOf(RuleText::parse(text)).inferResults(operands, known));
  return {shapes.begin(), shapes.end()};
}

std::string reshape(std::initializer_list<int64_t> from, std::initializer_list<int64_t> to) {
  return reshapeRule(shape(from), shape(to)).str();
}

} // namespace

TEST_CASE("MatMul is bound with its leading dims") {
  FactorRule rule =
      bound("... m k, ... k n -> ... m n", {shape({8, 128, 512}), shape({512, 1024})}, {shape({8, 128, 1024})}, 2);
  CHECK(rule.str() == "b0 m k, k n -> b0 m n {b0=8, m=128, k=512 sum, n=1024} flops=2");
  CHECK(rule.flops() == 2.0 * 8 * 128 * 512 * 1024);
  CHECK(rule.operandShape(0) == shape({8, 128, 512}));
  CHECK(rule.resultShape(0) == shape({8, 128, 1024}));
  CHECK(rule.isReduction(FactorId(2)));
  CHECK_FALSE(rule.isReduction(FactorId(3)));
}

TEST_CASE("leading dims broadcast from the right") {
  CHECK(bound("..., ... -> ...", {shape({8, 4, 2}), shape({4, 1})}, {shape({8, 4, 2})}).str() ==
        "b0 b1 b2, b1 1 -> b0 b1 b2 {b0=8, b1=4, b2=2}");
  CHECK(bound("..., ... -> ...", {shape({64, 1}), shape({1, 32})}, {shape({64, 32})}).str() ==
        "b0 1, 1 b1 -> b0 b1 {b0=64, b1=32}");
  CHECK(bound("..., ... -> ...", {shape({1, 3}), shape({1, 3})}, {shape({1, 3})}).str() ==
        "b0 b1, b0 b1 -> b0 b1 {b0=1, b1=3}");
  CHECK(bound("... -> ...", {shape({})}, {shape({})}).str() == " ->  {}");
  CHECK(mentions(bindError("..., ... -> ...", {shape({3}), shape({4})}, {shape({4})}), "operand 1 dim 0: extent 4"));
  CHECK(mentions(bindError("..., ... -> ...", {shape({4}), shape({1})}, {shape({1})}), "result 0 dim 0"));
  CHECK(mentions(bindError("... -> ...", {shape({4, 2})}, {shape({2})}), "result 0 has 1 leading dims"));
}

TEST_CASE("whole factors, combiners, compound dims, ignored and absent tensors") {
  CHECK(bound("... !k, k, k -> ... !k", {shape({4, 8}), shape({8}), std::nullopt}, {shape({4, 8})}).str() ==
        "b0 k, k, _ -> b0 k {b0=4, k=8 !}");
  CHECK(bound("m max:k -> m", {shape({4, 8})}, {shape({4})}).str() == "m k -> m {m=4, k=8 max}");
  CHECK(bound("b s (h d) -> b h s d", {shape({2, 16, 64})}, {shape({2, 4, 16, 16})}).str() ==
        "b s (h d) -> b h s d {b=2, s=16, h=4, d=16}");
  CHECK(bound("... k -> ... 1", {shape({4, 8})}, {shape({4, 1})}).str() == "b0 k -> b0 1 {b0=4, k=8 sum}");
  FactorRule tiled = bound("m, _ -> m", {shape({4}), shape({2, 3})}, {shape({4})}, 5);
  CHECK(tiled.operandShape(1) == shape({2, 3}));
  CHECK(tiled.flops() == 20);
  CHECK(tiled.factor(tiled.operands[1].dims[0][0]).whole);
  CHECK(bound("-> n", {}, {shape({7})}).str() == "-> n {n=7}");
}

TEST_CASE("named factors must agree exactly") {
  CHECK(mentions(bindError("m k, k n -> m n", {shape({4, 8}), shape({9, 2})}, {shape({4, 2})}),
                 "operand 1 dim 0: factor 'k' is 9 here but 8 in operand 0 dim 1"));
  CHECK(mentions(bindError("m k, k n -> m n", {shape({4, 8}), shape({1, 2})}, {shape({4, 2})}), "is 1 here but 8"));
  CHECK(mentions(bindError("m -> m", {shape({4, 8})}, {shape({4})}), "operand 0 has 2 dims; the rule expects 1"));
  CHECK(mentions(bindError("b (h d) -> b h d", {shape({2, 9})}, {shape({2, 2, 3})}), "9 differs from 6"));
  CHECK(mentions(bindError("b (h d) -> b h", {shape({2, 9})}, {shape({2, 2})}), "not divisible by 2"));
  CHECK(mentions(bindError("(h d) -> (h d)", {shape({9})}, {shape({9})}), "'h'"));
  CHECK(mentions(bindError("m -> m", {shape({4}), shape({4})}, {shape({4})}), "more tensors"));
  CHECK(mentions(bindError("m -> m", {shape({-4})}, {shape({4})}), "negative"));
}

TEST_CASE("results are inferred from operands") {
  CHECK(inferred("... m k, ... k n -> ... m n", {shape({7, 1, 4, 8}), shape({3, 8, 2})}) ==
        std::vector<Dims>{{7, 3, 4, 2}});
  CHECK(inferred("b s (h d) -> b h s d", {shape({2, 16, 64})}, {{"h", 4}}) == std::vector<Dims>{{2, 4, 16, 16}});
  CHECK(inferred("b h s d -> b s (h d)", {shape({2, 4, 16, 8})}) == std::vector<Dims>{{2, 16, 32}});
  CHECK(inferred("... k -> ... 1, ...", {shape({5, 6})}) == std::vector<Dims>{{5, 1}, {5}});
  auto heads = valueOf(RuleText::parse("b s (h d) -> b h s d"));
  CHECK(mentions(errorOf(heads.inferResults({shape({2, 16, 64})})), "'h'"));
  CHECK(mentions(errorOf(heads.inferResults({shape({2, 16, 64})}, {{{"h", 5}}})), "not divisible by 5"));
}

TEST_CASE("errors in rules point at the word") {
  for (auto [text, word] :
       {std::pair("m k, k n", "'->'"), std::pair("m 3k -> m", "operand 0: '3k'"), std::pair("(m -> m", "'('"),
        std::pair("m) -> m", "')'"), std::pair("() -> m", "'()'"), std::pair("m mean:k -> m", "'mean:k'"),
        std::pair("m max:k -> m k", "'max:k'"), std::pair("... ... -> ...", "'...' stands twice"),
        std::pair("... b0 -> ...", "'b0'"), std::pair("m -> ! m", "'!'"), std::pair("(... m) -> m", "'...'")})
    CHECK(mentions(errorOf(RuleText::parse(text)), word));
}

TEST_CASE("the builder makes the rule that the text makes") {
  FactorRuleBuilder builder;
  FactorId m = builder.addFactor("m", 4), k = builder.addReduction("k", 8, Combiner::Max);
  builder.addOperand({{m}, {k}}, 32);
  builder.addResult({{m}}, 32);
  builder.setFlopsPerPoint(1);
  CHECK(builder.take() == bound("m max:k -> m", {shape({4, 8})}, {shape({4})}, 1));

  FactorRuleBuilder transpose;
  FactorId i = transpose.addFactor("i", 2), j = transpose.addFactor("j", 3);
  transpose.addOperand({{i}, {j}}, 16);
  transpose.addResult({{j}, {i}}, 16);
  transpose.addLinear({0});
  CHECK(transpose.take().str() == "i j -> j i {i=2, j=3} linear={0}");
}

TEST_CASE("reshapes split dims into common factors") {
  CHECK(reshape({8, 6}, {4, 12}) == "(i0 i1) i2 -> i0 (i1 i2) {i0=4, i1=2, i2=6} linear={0}");
  CHECK(reshape({4, 6}, {3, 8}) == "w0 w3 -> w1 w2 {w0=4 !, w1=3 !, w2=8 !, w3=6 !} linear={0}");
  CHECK(reshape({4, 6, 5}, {3, 8, 5}) == "w0 w3 i4 -> w1 w2 i4 {w0=4 !, w1=3 !, w2=8 !, w3=6 !, i4=5} linear={0}");
  CHECK(reshape({4, 6}, {6, 4}) == "(i0 w1) w3 -> (i0 w2) w4 {i0=2, w1=2 !, w2=3 !, w3=6 !, w4=4 !} linear={0}");
  CHECK(reshape({8, 1, 6}, {8, 6}) == "i0 1 i1 -> i0 i1 {i0=8, i1=6} linear={0}");
  CHECK(reshape({}, {1, 1}) == " -> 1 1 {} linear={0}");
  CHECK(reshape({2, 0}, {0, 3}) == "w0 w1 -> w2 w3 {w0=2 !, w1=0 !, w2=0 !, w3=3 !} linear={0}");
}

TEST_CASE("a reshape's factors multiply to both shapes") {
  const std::vector<Dims> shapes = {{24}, {4, 6}, {3, 8}, {2, 2, 6}, {6, 4}, {1, 24}, {2, 3, 4}, {12, 2}, {8, 3}};
  for (const Dims &from : shapes)
    for (const Dims &to : shapes) {
      FactorRule rule = reshapeRule(TensorShape{from, 16}, TensorShape{to, 16});
      CHECK(rule.operandShape(0).dims == from);
      CHECK(rule.resultShape(0).dims == to);
      CHECK(rule.work == Work::View);
    }
}

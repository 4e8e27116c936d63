// Copies of forward ops in training steps: which there are, who reads them, and that they change no number.
#include "../ValueOf.h"
#include "RecomputedSteps.h"

#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// "l0_active", "l1_active", ... for each of `names`.
std::set<std::string> inLayers(unsigned count, const std::vector<std::string> &names) {
  std::set<std::string> all;
  for (unsigned layer = 0; layer < count; ++layer)
    for (const std::string &name : names)
      all.insert("l" + std::to_string(layer) + "_" + name);
  return all;
}

} // namespace

TEST_CASE("Policies of recomputation have names") {
  for (llvm::StringRef name : recomputeNames())
    CHECK(recomputeName(*parseRecompute(name)) == name);
  CHECK(parseRecompute("full") == RecomputePolicy::Full);
  CHECK_FALSE(parseRecompute("some").has_value());
}

TEST_CASE("Without recomputation no op is copied") {
  Recomputing step(layersText(3), RecomputePolicy::None);
  CHECK(step.copies.empty());
  for (const char *name :
       {"norm1", "query", "turned", "weights", "value", "mixed", "joined", "norm2", "inner", "active"})
    CHECK(step.kept.count(std::string("l1_") + name) == 1);
}

TEST_CASE("Norms recomputes what is made cheaply from one or two kept values") {
  Recomputing step(layersText(3), RecomputePolicy::Norms);
  // The key is not kept, and the transpose of it is not made from a kept value; scores are not, either.
  CHECK(step.copies == inLayers(3, {"norm1", "norm2", "active"}));
  for (const std::string &copied : step.copies)
    CHECK(step.kept.count(copied) == 0);
  CHECK(step.kept.count("l1_joined") == 1);
  CHECK(step.kept.count("l1_weights") == 1);
}

TEST_CASE("Attention recomputes from queries, keys and values to what they give") {
  Recomputing step(layersText(3), RecomputePolicy::Attention);
  CHECK(step.copies == inLayers(3, {"scores", "weights", "mixed"}));
  for (const char *name : {"norm1", "query", "turned", "value", "joined", "active"})
    CHECK(step.kept.count(std::string("l1_") + name) == 1);
  CHECK(step.kept.count("l1_weights") == 0);
}

TEST_CASE("Mlp recomputes what lies behind the attention of a layer") {
  Recomputing step(layersText(3), RecomputePolicy::Mlp);
  CHECK(step.step.layers == 3);
  // The product in front of a layer's end, and the end, are read by no gradient.
  CHECK(step.copies == inLayers(3, {"norm2", "up", "inner", "active"}));
  for (const char *name : {"norm1", "query", "turned", "weights", "value", "mixed", "joined"})
    CHECK(step.kept.count(std::string("l1_") + name) == 1);
  for (const char *name : {"norm2", "inner", "active"})
    CHECK(step.kept.count(std::string("l1_") + name) == 0);
}

TEST_CASE("A policy may hold for the first layers alone") {
  std::string text = layersText(4);
  for (llvm::StringRef name : recomputeNames()) {
    RecomputePolicy policy = *parseRecompute(name);
    std::set<std::string> all = Recomputing(text, policy).copies, none = Recomputing(text, RecomputePolicy::None).kept;
    for (int64_t layers = 1; layers <= 4; ++layers) {
      INFO(name.str() << ":" << layers);
      Recomputing step(text, {policy, layers});
      std::set<std::string> expected;
      for (const std::string &copied : all)
        if (copied[1] - '0' < layers)
          expected.insert(copied);
      CHECK(step.copies == expected);
      for (const std::string &kept : none) // layers behind them keep what they keep without recomputation
        CHECK((kept[1] - '0' < layers || step.kept.count(kept) == 1));
    }
  }
}

TEST_CASE("Layers behind the first ones may have a policy of their own") {
  std::string text = layersText(4);
  const RecomputePolicy policies[] = {RecomputePolicy::Norms, RecomputePolicy::Attention, RecomputePolicy::Mlp,
                                      RecomputePolicy::Branches, RecomputePolicy::Full};
  for (RecomputePolicy first : policies)
    for (RecomputePolicy rest : policies) {
      INFO(recomputeName(first).str() << ":2," << recomputeName(rest).str());
      Recomputing step(text, {first, 2, rest});
      std::set<std::string> copies;
      for (const std::string &copied : Recomputing(text, first).copies)
        if (copied[1] < '2')
          copies.insert(copied);
      for (const std::string &copied : Recomputing(text, rest).copies)
        if (copied[1] >= '2')
          copies.insert(copied);
      CHECK(step.copies == copies);
      std::vector<Tensor> expected = Recomputing(text, RecomputePolicy::None).run(), found = step.run();
      for (size_t result = 0; result < expected.size(); ++result)
        CHECK(found.at(result).floats == expected[result].floats);
    }
}

TEST_CASE("More recomputed layers than there are, are refused") {
  GradientProgram program(layersText(3));
  TrainingOptions options;
  options.loss = "sum";
  options.recompute = RecomputePolicy::Full;
  options.recomputedLayers = 4;
  auto step = buildTrainingStep(*program.module, options);
  REQUIRE(!step);
  CHECK_THAT(llvm::toString(step.takeError()),
             Catch::Contains("--recompute full:4: the model has 3 layers that repeat"));
  options.recomputeRest = RecomputePolicy::Norms;
  auto both = buildTrainingStep(*program.module, options);
  REQUIRE(!both);
  CHECK_THAT(llvm::toString(both.takeError()), Catch::Contains("--recompute full:4,norms: the model has 3 layers"));
}

TEST_CASE("Full keeps what crosses from one layer to the next") {
  Recomputing step(layersText(3), RecomputePolicy::Full);
  CHECK(step.kept == std::set<std::string>{"l0_end", "l1_end"});
  // The product in front of a layer's end, and the end, are read by no gradient.
  CHECK(step.copies == inLayers(3, {"norm1", "query", "key", "turned", "scores", "weights", "value", "mixed", "out",
                                    "joined", "norm2", "up", "inner", "active"}));
}

TEST_CASE("Branches keeps the sums behind attentions, too, and what makes them is not run again") {
  Recomputing step(layersText(3), RecomputePolicy::Branches);
  CHECK(step.kept == std::set<std::string>{"l0_end", "l0_joined", "l1_end", "l1_joined", "l2_joined"});
  CHECK(step.copies == inLayers(3, {"norm1", "query", "key", "turned", "scores", "weights", "value", "mixed", "norm2",
                                    "up", "inner", "active"}));
}

TEST_CASE("A copy stands in front of the first gradient that reads it, and behind the later layers' gradients") {
  Recomputing step(layersText(3), RecomputePolicy::Full);
  PlanNames names = namePlan(mainOf(*step.step.module));
  std::map<std::string, mlir::Operation *> ops;
  for (auto &[op, name] : names.ops)
    ops[name] = op;
  CHECK(ops.at("l1_down.grad")->isBeforeInBlock(ops.at("l0_norm1.recomputed")));
  CHECK(ops.at("l0_active.recomputed")->isBeforeInBlock(ops.at("l0_active.grad")));
  mlir::Value normed = ops.at("l1_norm1.recomputed")->getResult(0);
  CHECK(names.values.at(normed) == names.values.at(ops.at("l1_norm1")->getResult(0)) + ".recomputed");
}

TEST_CASE("Recomputation changes no number") {
  std::string text = layersText(3);
  std::vector<Tensor> expected = Recomputing(text, RecomputePolicy::None).run();
  for (llvm::StringRef name : recomputeNames())
    for (int64_t layers : {1, 2, 3}) {
      std::vector<Tensor> found = Recomputing(text, {*parseRecompute(name), layers}).run();
      REQUIRE(found.size() == expected.size());
      for (size_t result = 0; result < found.size(); ++result)
        CHECK(found[result].floats == expected[result].floats);
    }
}

TEST_CASE("Where no layers repeat, full keeps what norms keeps") {
  Recomputing full(layersText(1), RecomputePolicy::Full), norms(layersText(1), RecomputePolicy::Norms);
  CHECK(full.copies == norms.copies);
  CHECK(full.kept == norms.kept);
  CHECK_FALSE(full.copies.empty());
}

TEST_CASE("A chain of joins is not recomputed back to its first op") {
  ModelText model;
  std::string x = "x";
  constexpr unsigned numBlocks = 9;
  for (unsigned block = 0; block < numBlocks; ++block) {
    std::string at = std::to_string(block);
    std::string active = model.op("gelu", "gelu" + at, {model.product("product" + at, x)});
    x = model.op("gelu", "out" + at, {model.op("add", "add" + at, {x, active})});
  }
  Recomputing step(model.finish(x), RecomputePolicy::Norms);
  std::set<std::string> adds;
  for (const std::string &name : step.kept)
    if (llvm::StringRef(name).starts_with("add"))
      adds.insert(name);
  // The first sum has one kept operand, so the next two make two joins.
  CHECK(adds == std::set<std::string>{"add3", "add6"});
}

TEST_CASE("Numbers that are drawn are kept, and so is the mask") {
  std::string type = activation, mask = "tensor<2x4x8xi1>";
  std::string text = "func.func @main(%x: " + type + ") -> " + type + R"( {
    %w = apc.parameter "w" "initializer" : tensor<8x8xf64>
    %ratio = apc.constant dense<0.5> : tensor<f32>
    %on = apc.constant dense<true> : tensor<i1>
    %p = "apc.matmul"(%x, %w) : ()" +
                     type + ", tensor<8x8xf64>) -> " + type + R"( loc("p")
    %none = apc.none
    %d:2 = "apc.dropout"(%p, %ratio, %on, %none) {opset_version = 13 : i64} : ()" +
                     type + ", tensor<f32>, tensor<i1>, none) -> (" + type + ", " + mask + ") loc(\"d\")\n" +
                     "%g = \"apc.gelu\"(%d#0) : (" + type + ") -> " + type + " loc(\"g\")\n" +
                     "%q = \"apc.matmul\"(%g, %w) : (" + type + ", tensor<8x8xf64>) -> " + type + " loc(\"q\")\n" +
                     "return %q : " + type + "\n}";
  Recomputing step(text, RecomputePolicy::Norms);
  CHECK(step.copies == std::set<std::string>{"g"});
  CHECK(step.kept.count("d") == 1);
}

TEST_CASE("A mask of more bytes than activations have does not make these small") {
  std::string type = "tensor<1x1x256x8xbf16>", weight = "tensor<8x8xbf16>", mask = "tensor<256x256xi1>";
  for (std::string element : {"i1", "bf16"}) {
    INFO(element);
    std::string scores = "tensor<256x256x" + element + ">";
    auto product = [&](const std::string &name, const std::string &x) {
      return "%" + name + " = \"apc.matmul\"(%" + x + ", %w) : (" + type + ", " + weight + ") -> " + type + " loc(\"" +
             name + "\")\n";
    };
    std::string text = "func.func @main(%x: " + type + ") -> " + type + " {\n" +
                       "%w = apc.parameter \"w\" \"initializer\" : " + weight + "\n" + product("q", "x") +
                       product("k", "x") + product("v", "x") + R"(
    %rows = apc.constant dense<1> : tensor<256x1xi64>
    %columns = apc.constant dense<1> : tensor<256xi64>
    %less = "apc.less"(%rows, %columns) : (tensor<256x1xi64>, tensor<256xi64>) -> )" +
                       mask + " loc(\"less\")\n" +
                       "%mask = \"apc.cast\"(%less) {to = " + (element == "i1" ? "9" : "16") + " : i64} : (" + mask +
                       ") -> " + scores + " loc(\"mask\")\n" +
                       "%mixed = \"apc.softmax_attention\"(%q, %k, %v, %mask) {" +
                       (element == "i1" ? "fill = -1.0e+04 : f32, seen = 0 : i64" : "") + "} : (" + type + ", " + type +
                       ", " + type + ", " + scores + ") -> " + type + " loc(\"mixed\")\n" + product("out", "mixed") +
                       "return %out : " + type + "\n}";
    Recomputing step(text, RecomputePolicy::Attention);
    CHECK(step.copies == std::set<std::string>{"mixed"});
    CHECK(step.kept.count("mixed") == 0);
  }
}

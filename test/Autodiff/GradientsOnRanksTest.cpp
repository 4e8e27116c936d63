// Gradients that are made of several ops, run on [2, 2] ranks: each op under every legal strategy while the others are
// whole, and all under strategies by lot, so that operands also arrive cut and partial. Ops of gradients that stand for
// themselves are in test/Interpret/Pieces/gradients.mlir.
#include "../ValueOf.h"
#include "GradientPrograms.h"

#include "apc/Interpret/Compare.h"
#include "apc/Interpret/Grid.h"
#include "apc/Partition/Partition.h"
#include "apc/Partition/VerifyProgram.h"
#include "apc/Planning/PlanStrategies.h"
#include "apc/Transforms/BuildGraph.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

namespace {

/// The reversed program of one op, and its results on one device.
class OnRanks {
public:
  template <typename Text>
  explicit OnRanks(const Text &test) : program(test), reversed(reverse(program)) {
    REQUIRE(reversed.module);
    inputs = program.inputs;
    mlir::func::FuncOp main = reversedMain();
    for (unsigned index = inputs.size(); index < main.getNumArguments(); ++index) {
      Tensor arriving = zeros(main.getArgumentTypes()[index]);
      for (auto [place, value] : llvm::enumerate(arriving.floats))
        value = std::cos(static_cast<double>(place + 7 * index));
      inputs.push_back(std::move(arriving));
    }
    expected = runOn(*reversed.module, inputs);
    mlir::FailureOr<OpGraph> built = buildGraph(*reversed.module);
    REQUIRE(mlir::succeeded(built));
    graph = std::move(*built);
  }

  /// The number of programs that were run.
  size_t check() {
    size_t count = 0;
    for (size_t op = 0; op < graph.ops.size(); ++op) {
      if (graph.ops[op].operands.empty())
        continue; // cut as its users need it
      const FactorRule &rule = graph.ruleOf(OpId(op));
      for (const Strategy &strategy : enumerateStrategies(rule, mesh)) {
        // Nothing that is whole is partial; by lot, operands are.
        if (llvm::any_of(strategy.partialInputs, [](const AxisList &axes) { return !axes.empty(); }))
          continue;
        INFO(graph.ops[op].name << ": " << rule.str() << " under " << strategy.str(rule, mesh));
        std::vector<Strategy> strategies = replicated();
        strategies[op] = strategy;
        compare(std::move(strategies));
        ++count;
      }
    }
    for (uint64_t seed = 0; seed < 16; ++seed, ++count) {
      INFO("by lot " << seed);
      compare(drawStrategies(graph, mesh, seed));
    }
    return count;
  }

private:
  mlir::func::FuncOp reversedMain() { return reversed.module->lookupSymbol<mlir::func::FuncOp>("main"); }

  std::vector<Strategy> replicated() const {
    std::vector<Strategy> strategies(graph.ops.size());
    for (auto [index, strategy] : llvm::enumerate(strategies)) {
      strategy.axes.resize(graph.ruleOf(OpId(index)).numFactors());
      strategy.partialInputs.resize(graph.ruleOf(OpId(index)).linear.size());
    }
    return strategies;
  }

  void compare(std::vector<Strategy> strategies) {
    Plan plan = valueOf(planStrategies(graph, cluster, mesh, std::move(strategies)));
    Program ranks = valueOf(partition(*reversed.module, plan));
    valueOf(verifyProgram(*reversed.module, ranks, plan));
    std::vector<Tensor> results = valueOf(runGrid(ranks, inputs, [](ParameterOp parameter) -> llvm::Expected<Tensor> {
      return inputError("no parameter '{0}'", parameter.getName());
    }));
    REQUIRE(results.size() == expected.size());
    for (size_t i = 0; i < results.size(); ++i)
      CHECK(findDifference(results[i], expected[i], {1e-9, 1e-9}).value_or("") == "");
  }

  GradientProgram program;
  ReversedProgram reversed;
  std::vector<Tensor> inputs, expected;
  OpGraph graph;
  Mesh mesh = valueOf(Mesh::parse("[a=2 | b=2]"));
  Cluster cluster = valueOf(withDevices(valueOf(loadCluster("dgx-a100-80gb")), 4));
};

void checkOnRanks(const OpCase &test) {
  INFO(test.op << " {" << test.attributes << "}");
  CHECK(OnRanks(test).check() > 20);
}

/// `operands` with so many in all, those behind them being absent.
OpCase filledUp(const std::string &op, std::vector<std::string> operands, size_t count, const std::string &attributes) {
  operands.resize(count, "none");
  return {op, std::move(operands), attributes};
}

} // namespace

TEST_CASE("Gradients of running products are the same on ranks, past zeros too") {
  for (const char *attributes : {"", "exclusive = 1 : i64, reverse = 1 : i64"}) {
    checkOnRanks({"apc.cum_prod", {"3x4xf64", "[1] : 1xi64"}, attributes});
    checkOnRanks({"apc.cum_prod", {"= [[1.5, 0.0, -2.0], [0.5, 3.0, 0.0]] : 2x3xf64", "[0] : 1xi64"}, attributes});
  }
}

TEST_CASE("Gradients of scattered factors and extrema are the same on ranks") {
  for (const char *reduction : {"mul", "max", "min"}) {
    std::string how = "reduction = \"" + std::string(reduction) + "\"";
    checkOnRanks({"apc.scatter_elements",
                  {"3x4xf64", "[[1, 0, 1, 2], [0, 0, 1, 2]] : 2x4xi64", "2x4xf64"},
                  "axis = 0 : i64, " + how});
    checkOnRanks({"apc.scatter_nd", {"4x3xf64", "[[1], [3], [1]] : 3x1xi64", "3x3xf64"}, how});
  }
}

TEST_CASE("Gradients of norms of windows and of neighbouring channels are the same on ranks") {
  for (const char *norm : {"p = 1 : i64", "p = 2 : i64", "p = 3 : i64"}) {
    checkOnRanks(
        {"apc.lp_pool", {"2x3x6xf64"}, std::string(norm) + ", kernel_shape = array<i64: 3>, pads = array<i64: 1, 0>"});
    checkOnRanks({"apc.global_lp_pool", {"2x3x4x2xf64"}, norm});
  }
  for (const char *size : {"size = 3 : i64", "size = 4 : i64"})
    checkOnRanks(
        {"apc.lrn", {"2x5x3xf64"}, std::string(size) + ", alpha = 0.5 : f32, beta = 0.75 : f32, bias = 2.0 : f32"});
}

TEST_CASE("Gradients of recurrent cells are the same on ranks, of both directions too") {
  checkOnRanks(
      {"apc.lstm",
       {"3x4x2xf64", "2x8x2xf64", "2x8x2xf64", "2x16xf64", "[2, 3, 1, 3] : 4xi32", "2x4x2xf64", "2x4x2xf64", "2x6xf64"},
       "direction = \"bidirectional\"",
       3});
  for (const char *reset : {"", ", linear_before_reset = 1 : i64"})
    checkOnRanks({"apc.gru",
                  {"4x3x2xf64", "2x6x2xf64", "2x6x2xf64", "2x12xf64", "none", "4x2x2xf64"},
                  "direction = \"bidirectional\", layout = 1 : i64" + std::string(reset),
                  2});
}

TEST_CASE("Gradients of multi-head attention are the same on ranks") {
  std::string heads = "num_heads = 2 : i64";
  checkOnRanks(filledUp("apc.multi_head_attention", {"2x3x4xf64", "2x5x4xf64", "2x5x6xf64", "14xf64"}, 10, heads));
  checkOnRanks(filledUp("apc.multi_head_attention",
                        {"2x3x4xf64", "2x3x4xf64", "2x3x4xf64", "12xf64", "none", "1x2x3x3xf64"}, 10,
                        heads + ", unidirectional = 1 : i64"));
  checkOnRanks(filledUp("apc.multi_head_attention", {"2x3x2x3x2xf64", "none", "none", "12xf64"}, 10, heads));
  checkOnRanks(filledUp("apc.multi_head_attention", {"2x3x12xf64", "none", "none", "12xf64"}, 10, heads));
  checkOnRanks(filledUp("apc.multi_head_attention", {"2x3x4xf64", "2x5x2x2x2xf64", "none", "12xf64"}, 10, heads));
}

TEST_CASE("Gradients of group query attention are the same on ranks, rotated and packed too") {
  std::string heads = "num_heads = 4 : i64, kv_num_heads = 2 : i64";
  std::vector<std::string> lengths = {"none", "none", "[2, 2] : 2xi32", "[3] : 1xi32"};
  std::vector<std::string> apart = {"2x3x8xf64", "2x3x4xf64", "2x3x4xf64"}, packed = {"2x3x16xf64", "none", "none"};
  for (std::vector<std::string> operands : {apart, packed}) {
    operands.insert(operands.end(), lengths.begin(), lengths.end());
    checkOnRanks(filledUp("apc.group_query_attention", operands, 16, heads + ", local_window_size = 2 : i64"));
    operands.insert(operands.end(), {"cut 5x1xf64", "cut 5x1xf64"});
    checkOnRanks(filledUp("apc.group_query_attention", operands, 16, heads + ", do_rotary = 1 : i64"));
    operands.resize(14, "none");
    operands.insert(operands.end(), {"2xf64", "2xf64"});
    checkOnRanks(filledUp("apc.group_query_attention", operands, 16, heads + ", do_rotary = 1 : i64"));
  }
}

TEST_CASE("Gradients of layers and softmaxes in parts are the same on ranks, cut along their rows too") {
  for (const char *centred : {"0", "1"}) {
    std::string attributes = std::string("{centred = ") + centred + " : i64, epsilon = 0.5 : f32}";
    std::string sums = std::string("tensor<3x") + (*centred == '1' ? "2" : "1") + "xf64>";
    CHECK(OnRanks("func.func @main(%x: tensor<3x5xf64>, %g: tensor<5xf64>, %b: tensor<5xf64>) -> tensor<3x5xf64> {\n"
                  "  %none = apc.none\n  %s = \"apc.layer_statistics\"(%x, %none, %none) {centred = " +
                  std::string(centred) + " : i64} : (tensor<3x5xf64>, none, none) -> " + sums +
                  "\n  %y:2 = \"apc.layer_normalize\"(%x, %s, %g, %b, %none, %none) " + attributes +
                  " : (tensor<3x5xf64>, " + sums +
                  ", tensor<5xf64>, tensor<5xf64>, none, none) -> (tensor<3x5xf64>, none)\n"
                  "  return %y#0 : tensor<3x5xf64>\n}")
              .check() > 40);
  }
  CHECK(OnRanks(std::string(R"(func.func @main(%x: tensor<3x5xf64>) -> tensor<3x5xf64> {
  %axes = apc.constant dense<1> : tensor<1xi64>
  %s = "apc.log_sum_exp"(%x, %axes) : (tensor<3x5xf64>, tensor<1xi64>) -> tensor<3x1xf64>
  %y = "apc.softmax_by"(%x, %s) : (tensor<3x5xf64>, tensor<3x1xf64>) -> tensor<3x5xf64>
  return %y : tensor<3x5xf64>
})"))
            .check() > 30);
}

TEST_CASE("Gradients of attention are the same on ranks that share its keys") {
  CHECK(
      OnRanks(
          std::string(
              R"(func.func @main(%q: tensor<2x4x3x2xf64>, %k: tensor<2x2x5x2xf64>, %v: tensor<2x2x5x3xf64>, %m: tensor<4x3x1xf64>) -> tensor<2x4x3x3xf64> {
  %s = "apc.softmax_attention_log_sum"(%q, %k, %m) : (tensor<2x4x3x2xf64>, tensor<2x2x5x2xf64>, tensor<4x3x1xf64>) -> tensor<2x4x3xf64>
  %y = "apc.softmax_attention_by"(%q, %k, %v, %m, %s) : (tensor<2x4x3x2xf64>, tensor<2x2x5x2xf64>, tensor<2x2x5x3xf64>, tensor<4x3x1xf64>, tensor<2x4x3xf64>) -> tensor<2x4x3x3xf64>
  return %y : tensor<2x4x3x3xf64>
})"))
          .check() > 50);
}

TEST_CASE("Gradients of normalisations in parts are the same on ranks that share their rows") {
  auto check = [](const OpCase &test) {
    INFO(test.op << " {" << test.attributes << "}");
    CHECK(OnRanks(textApart(test)).check() > 50);
  };
  check({"apc.instance_normalization", {"2x3x5xf64", "3xf64", "3xf64"}});
  check({"apc.group_normalization", {"2x6x3xf64", "6xf64", "6xf64"}, "num_groups = 2 : i64"});
  check({"apc.mean_variance_normalization", {"2x3x5xf64"}, "axes = array<i64: 0, 2>"});
  check({"apc.lp_normalization", {"3x5xf64"}, "p = 2 : i64"});
  check({"apc.lp_normalization", {"3x5xf64"}, "p = 1 : i64"});
  std::string ids = "2x3xi64 below 5";
  check(
      filledUp("apc.embed_layer_normalization", {ids, ids, "5x5xf64", "3x5xf64", "5x5xf64", "5xf64", "5xf64"}, 9, ""));
}

TEST_CASE("Gradients of attention beside sinks and up to lengths are the same on ranks") {
  std::string heads = "num_heads = 4 : i64, kv_num_heads = 2 : i64";
  std::vector<std::string> apart = {"2x3x8xf64", "2x3x4xf64", "2x3x4xf64", "none", "none", "[1, 2] : 2xi32"};
  std::vector<std::string> beside = apart;
  beside.resize(11, "none");
  beside.push_back("4xf64");
  checkOnRanks(filledUp("apc.group_query_attention", beside, 16, heads + ", softcap = 0.75 : f32"));
  checkOnRanks(filledUp("apc.group_query_attention", apart, 16, heads + ", causal = 0 : i64"));
  checkOnRanks(filledUp("apc.attention",
                        {"2x4x3x2xf64", "2x2x5x2xf64", "2x2x5x3xf64", "none", "none", "none", "[5, 2] : 2xi64"}, 7,
                        "is_causal = 1 : i64"));
}

TEST_CASE("Gradients of attention behind caches are the same on ranks") {
  std::string heads = "num_heads = 4 : i64, kv_num_heads = 2 : i64";
  std::vector<std::string> cached = {"2x3x8xf64",   "2x3x4xf64",      "2x3x4xf64",  "2x2x4x2xf64",
                                     "2x2x4x2xf64", "[4, 3] : 2xi32", "[5] : 1xi32"};
  auto withPresent = [](OpCase test) {
    test.numResults = 3;
    return test;
  };
  checkOnRanks(withPresent(filledUp("apc.group_query_attention", cached, 16, heads)));
  cached.insert(cached.end(), {"cut 6x1xf64", "cut 6x1xf64"});
  checkOnRanks(filledUp("apc.group_query_attention", cached, 16, heads + ", do_rotary = 1 : i64"));
  checkOnRanks(withPresent(filledUp(
      "apc.attention", {"2x4x3x2xf64", "2x2x3x2xf64", "2x2x3x3xf64", "2x1x3x5xf64", "2x2x2x2xf64", "2x2x2x3xf64"}, 7,
      "is_causal = 1 : i64")));
  checkOnRanks(withPresent(
      filledUp("apc.multi_head_attention",
               {"2x3x4xf64", "2x3x4xf64", "2x3x6xf64", "14xf64", "none", "none", "2x2x2x2xf64", "2x2x2x3xf64"}, 10,
               "num_heads = 2 : i64, unidirectional = 1 : i64")));
}

TEST_CASE("Gradients of standard attention are the same on ranks, under masks too") {
  std::vector<std::string> apart = {"2x4x3x2xf64", "2x2x5x2xf64", "2x2x5x3xf64", "4x3x5xf64"};
  checkOnRanks(filledUp("apc.attention", apart, 7, "is_causal = 1 : i64"));
  checkOnRanks(filledUp("apc.attention", apart, 7, "softcap = 0.75 : f32"));
  apart.back() = "[[true, false, false, true, true]] : 1x5xi1";
  checkOnRanks(filledUp("apc.attention", apart, 7, ""));
  checkOnRanks(filledUp("apc.attention", {"2x3x8xf64", "2x5x4xf64", "2x5x6xf64"}, 7,
                        "q_num_heads = 4 : i64, kv_num_heads = 2 : i64"));
}

TEST_CASE("Gradients of Fourier transforms and determinants are the same on ranks") {
  std::string half = "onesided = 1 : i64", back = "inverse = 1 : i64";
  checkOnRanks({"apc.dft", {"4x5x2x2xf64", "none", "[1] : 1xi64"}});
  checkOnRanks({"apc.dft", {"4x2x6x1xf64", "[8] : 1xi64", "[2] : 1xi64"}, half});
  checkOnRanks({"apc.dft", {"4x3x2x2xf64", "none", "[1] : 1xi64"}, half + ", " + back});
  checkOnRanks({"apc.stft", {"4x9x1xf64", "[2] : 1xi64", "5xf64", "none"}});
  checkOnRanks({"apc.stft", {"4x9x2xf64", "[2] : 1xi64", "3xf64", "[4] : 1xi64"}, "onesided = 0 : i64"});
  checkOnRanks({"apc.det", {"4x2x3x3xf64"}});
}

TEST_CASE("Gradients of projected attention and masks of padding are the same on ranks") {
  checkOnRanks(filledUp("apc.projected_attention",
                        {"2x3x4xf64", "4x12xf64", "12xf64", "[2, 3] : 2xi32", "none", "1x2x3x3xf64"}, 7,
                        "num_heads = 2 : i64, unidirectional = 1 : i64"));
  checkOnRanks(filledUp("apc.projected_attention", {"2x3x5xf64", "5x12xf64", "12xf64", "none", "2x2x2x4x2xf64"}, 7,
                        "num_heads = 2 : i64, unidirectional = 1 : i64"));
  checkOnRanks(filledUp("apc.multi_head_attention",
                        {"2x3x4xf64", "2x5x4xf64", "2x5x6xf64", "14xf64", "[[1, 1, 0, 1, 0]] : 1x5xi32"}, 10,
                        "num_heads = 2 : i64"));
}

TEST_CASE("Gradients of states that pass along the positions are the same on ranks") {
  std::string heads = "q_num_heads = 4 : i64, kv_num_heads = 2 : i64";
  checkOnRanks({"apc.linear_attention",
                {"2x3x8xf64", "2x3x4xf64", "2x3x6xf64", "2x2x2x3xf64", "2x3x2xf64 in -0.9 0", "2x3x1xf64"},
                heads,
                2});
  checkOnRanks({"apc.linear_attention",
                {"2x3x2xf64", "2x3x4xf64", "2x3x6xf64", "none", "2x3x4xf64 in -0.9 0", "none"},
                "q_num_heads = 1 : i64, kv_num_heads = 2 : i64, update_rule = \"gated\"",
                2});
  checkOnRanks(
      {"apc.causal_conv_with_state", {"2x4x5xf64", "4x1x3xf64", "4xf64", "2x4x2xf64"}, "activation = \"silu\"", 2});
}

TEST_CASE("Gradients of mixtures of experts are the same on ranks") {
  std::string routes = "k = 2 : i64, normalize_routing_weights = 1 : i64";
  checkOnRanks(filledUp("apc.moe", {"4x4xf64", "4x4xf64", "4x6x4xf64", "4x6xf64", "4x4x6xf64", "4x4xf64"}, 8, routes));
  checkOnRanks(filledUp("apc.moe", {"2x2x4xf64", "4x2xf64", "2x12x4xf64", "2x12xf64", "2x4x6xf64"}, 8,
                        routes + ", activation_type = \"swiglu\", swiglu_fusion = 1 : i64"));
  checkOnRanks({"apc.moe",
                {"4x4xf64", "4x2xf64", "2x4x6xf64", "none", "2x6x4xf64", "none", "2x4x6xf64", "2x6xf64"},
                "activation_type = \"silu\""});
}

TEST_CASE("Gradients of mixtures and products with packed weights are the same on ranks") {
  checkOnRanks(filledUp("apc.qmoe",
                        {"4x4xf64", "4x2xf64", "[[[33, 84], [237, 240]], [[15, 122], [7, 200]]] : 2x2x2xui8",
                         "[[[0.5, 2.0], [1.0, 1.5]], [[1.5, -0.25], [0.5, 0.75]]] : 2x2x2xf64", "2x2xf64",
                         "[[[18], [52], [86], [120]], [[154], [188], [222], [240]]] : 2x4x1xui8",
                         "[[0.5, 2.0, 1.0, 0.25], [1.5, -0.25, 0.5, 1.0]] : 2x4xf64", "2x4xf64"},
                        21, "k = 1 : i64, activation_type = \"silu\", block_size = 2 : i64"));
  std::string sizes = "K = 4 : i64, N = 2 : i64, bits = 4 : i64, block_size = 2 : i64";
  for (const char *zeros : {"none", "[131, 7] : 2xui8"})
    checkOnRanks({"apc.matmul_nbits",
                  {"2x4x4xf64", "= [[[33], [84]], [[237], [240]]] : 2x2x1xui8", "[0.5, 2.0, 1.5, -0.25] : 4xf64", zeros,
                   "none", "2xf64"},
                  sizes});
}

TEST_CASE("Gradients of products with an activation and of caches that are written are the same on ranks") {
  for (const char *activation : {"Relu", "Gelu", "Selu"})
    checkOnRanks({"apc.fused_gemm",
                  {"4x6xf64", "6x4xf64", "4xf64"},
                  "alpha = 0.5 : f32, activation = \"" + std::string(activation) + "\""});
  checkOnRanks({"apc.tensor_scatter", {"2x4x5x2xf64", "2x4x2x2xf64", "= [3, 1] : 2xi64"}});
  checkOnRanks(
      {"apc.tensor_scatter", {"2x4x5xf64", "2x2x5xf64", "[3, 6] : 2xi64"}, "axis = 1 : i64, mode = \"circular\""});
}

TEST_CASE("Gradients of groups with skips, gated halves and 4-bit products are the same on ranks") {
  std::string groups = "groups = 2 : i64, activation = 1 : i64";
  checkOnRanks({"apc.group_norm", {"2x3x4xf64", "4xf64", "4xf64"}, groups});
  checkOnRanks({"apc.group_normalization", {"2x6x3xf64", "3xf64", "3xf64"}, "num_groups = 3 : i64"});
  checkOnRanks({"apc.skip_group_norm", {"2x3x4xf64", "4xf64", "4xf64", "2x4xf64", "4xf64"}, groups});
  checkOnRanks({"apc.bias_split_gelu", {"2x3x8xf64", "8xf64"}});
  checkOnRanks({"apc.bias_add", {"2x3x4xf64", "4xf64", "2x3x4xf64"}});
  checkOnRanks({"apc.swiglu", {"3x4xf64", "3x4xf64"}});
  checkOnRanks({"apc.matmul_bnb4",
                {"2x4x3xf64", "[33, 84, 237, 240, 15, 122, 7, 200, 96] : 9xui8", "[0.5, 2.0, 1.5] : 3xf64"},
                "K = 3 : i64, N = 6 : i64, block_size = 8 : i64, quant_type = 1 : i64"});
}

TEST_CASE("Gradients of sampled maps, grids, columns and places are the same on ranks") {
  checkOnRanks({"apc.grid_sample", {"2x3x3x4xf64", "2x4x2x2xf64"}, "mode = \"cubic\", padding_mode = \"reflection\""});
  checkOnRanks({"apc.grid_sample", {"4x2x5xf64", "4x3x1xf64"}, "padding_mode = \"border\", align_corners = 1 : i64"});
  checkOnRanks({"apc.affine_grid", {"3x2x3xf64", "[3, 5, 3, 4] : 4xi64"}});
  checkOnRanks({"apc.col2im", {"2x12x9xf64", "[4, 4] : 2xi64", "[2, 2] : 2xi64"}});
  checkOnRanks({"apc.max_unpool",
                {"1x2x2xf64", "= [[[0, 3], [5, -1]]] : 1x2x2xi64", "[1, 3, 5] : 3xi64"},
                "kernel_shape = array<i64: 2>, strides = array<i64: 2>"});
}

TEST_CASE("Gradients of pools over regions are the same on ranks that share the regions") {
  std::string boxes = "[[0.4, 0.3, 3.1, 4.2], [-2.0, 1.3, 2.2, 2.9], [1.7, 0.1, 9.0, 7.7]] : 3x4xf64";
  for (const char *mode : {"avg", "max"})
    checkOnRanks({"apc.roi_align",
                  {"2x3x5x4xf64", boxes, "= [1, 0, 1] : 3xi64"},
                  "output_height = 2 : i64, mode = \"" + std::string(mode) + "\""});
  checkOnRanks({"apc.max_roi_pool",
                {"2x3x5x4xf64", "[[1.0, 0.0, 0.0, 3.0, 4.0], [0.0, 1.0, 2.0, 2.0, 3.0]] : 2x5xf64"},
                "pooled_shape = array<i64: 2, 2>"});
}

TEST_CASE("Gradients of convolutions with offsets, sums and activations are the same on ranks") {
  checkOnRanks({"apc.deform_conv", {"2x3x3x4xf64", "3x3x2x2xf64", "2x8x2x3xf64", "3xf64", "2x4x2x3xf64"}});
  checkOnRanks({"apc.deform_conv",
                {"2x4x6xf64", "4x2x3xf64", "2x6x4xf64", "none", "none"},
                "group = 2 : i64, offset_group = 2 : i64"});
  for (const char *activation : {"", "Relu", "Softsign"})
    checkOnRanks({"apc.fused_conv",
                  {"2x4x5xf64", "4x2x3xf64", "4xf64", "2x4x3xf64"},
                  "group = 2 : i64, activation = \"" + std::string(activation) + "\""});
}

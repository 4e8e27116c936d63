// Gradients of normalisations.
#include "GradientPrograms.h"

#include <catch2/catch.hpp>

using namespace apc;

/// A layer of x + skip + bias over its last dims, in parts; both results are returned.
static std::string layerApart(const std::string &x, const std::string &statistics, const std::string &attributes,
                              const std::string &skip) {
  std::string data = "tensor<" + x + "xf64>", sums = "tensor<" + statistics + "xf64>", row = "tensor<4xf64>";
  std::string summands = data + ", tensor<" + skip + "f64>, " + row;
  return "func.func @main(%x: " + data + ", %skip: tensor<" + skip + "f64>, %bias: " + row + ", %g: " + row +
         ", %b: " + row + ") -> (" + data + ", " + data + ") {\n  %s = \"apc.layer_statistics\"(%x, %skip, %bias) {" +
         attributes + "} : (" + summands + ") -> " + sums +
         "\n  %y:2 = \"apc.layer_normalize\"(%x, %s, %g, %b, %skip, %bias) {epsilon = 0.1 : f32, " + attributes +
         "} : (" + data + ", " + sums + ", " + row + ", " + row + ", tensor<" + skip + "f64>, " + row + ") -> (" +
         data + ", " + data + ")\n  return %y#0, %y#1 : " + data + ", " + data + "\n}";
}

TEST_CASE("Softmax and its logarithm reverse, along one dim or, before opset 13, along several") {
  for (const char *op : {"apc.softmax", "apc.log_softmax"}) {
    checkGradients(OpCase{op, {"3x4xf64"}});
    checkGradients({op, {"2x3x2xf64"}, "axis = 1 : i64"});
    checkGradients({op, {"2x3x2xf64"}, "axis = 1 : i64, opset_version = 11 : i64"});
    checkGradients({op, {"2x3xf64"}, "opset_version = 11 : i64"});
  }
}

TEST_CASE("Softmax and its logarithm by way of the logarithmic sum reverse") {
  for (const char *log : {"0", "1"}) {
    std::string text = R"(func.func @main(%x: tensor<3x4x2xf64>) -> tensor<3x4x2xf64> {
  %axes = apc.constant dense<1> : tensor<1xi64>
  %s = "apc.log_sum_exp"(%x, %axes) : (tensor<3x4x2xf64>, tensor<1xi64>) -> tensor<3x1x2xf64>
  %y = "apc.softmax_by"(%x, %s) {log = )" +
                       std::string(log) + R"( : i64} : (tensor<3x4x2xf64>, tensor<3x1x2xf64>) -> tensor<3x4x2xf64>
  return %y : tensor<3x4x2xf64>
})";
    checkGradients(text.c_str());
  }
}

TEST_CASE("Layers by way of their statistics reverse as one, with summands and their sum too") {
  checkGradients(layerApart("2x3x4", "2x3x2", "centred = 1 : i64", "3x4x").c_str());
  checkGradients(layerApart("2x3x4", "2x3x1", "centred = 0 : i64", "3x4x").c_str());
  checkGradients(layerApart("2x3x4", "2x2", "axis = 1 : i64", "4x").c_str());
}

TEST_CASE("Layer normalisation reverses over its last dims") {
  checkGradients({"apc.layer_normalization", {"3x4xf64", "4xf64", "4xf64"}});
  checkGradients({"apc.layer_normalization", {"2x3x4xf64", "3x4xf64", "none"}, "axis = 1 : i64, epsilon = 0.1 : f32"});
  checkGradients({"apc.layer_normalization", {"2x3x4xf64", "3x1xf64", "4xf64"}, "axis = -2 : i64"});
  checkGradients({"apc.rms_normalization", {"2x3x4xf64", "4xf64"}, "epsilon = 0.1 : f32"});
  checkGradients({"apc.simplified_layer_normalization", {"2x3x4xf64", "4xf64"}});
}

TEST_CASE("Normalisations of layers reverse through their statistics too, where those are results") {
  std::string precise = "stash_type = 11 : i64, epsilon = 0.1 : f32";
  for (unsigned numResults : {2, 3})
    checkGradients({"apc.layer_normalization", {"2x3x4xf64", "4xf64", "4xf64"}, precise, numResults});
  checkGradients({"apc.layer_normalization", {"2x3x4xf64", "3x4xf64", "none"}, precise + ", axis = 1 : i64", 3});
  checkGradients({"apc.simplified_layer_normalization", {"2x3x4xf64", "4xf64"}, precise, 2});
}

// Statistics of sums are in f32, too coarse for differences.
TEST_CASE("Statistics of sums reverse as those of a layer that normalises the sum") {
  const std::string scale = "= [1.0, 3.0, 2.0] : 3xf64", skip = "= [[0.5, -1.0, 2.0]] : 1x3xf64";
  const std::vector<std::vector<double>> statistics = {{}, {2}, {-3}};
  const OpCase sum{"apc.layer_normalization",
                   {"= [[1.5, 1.0, 6.0]] : 1x3xf64", scale, "none"},
                   "stash_type = 11 : i64, epsilon = 0.1 : f32",
                   3};
  OpCase skipped{"apc.skip_layer_normalization",
                 {"= [[1.0, 2.0, 4.0]] : 1x3xf64", skip, scale, "none", "none"},
                 "epsilon = 0.1 : f32",
                 3};
  auto found = gradientsOf(skipped, statistics);
  checkClose(found[0], gradientsOf(sum, statistics)[0], 1e-6);
  CHECK(found[1] == found[0]);
  OpCase square = sum;
  square.op = "apc.simplified_layer_normalization";
  square.operands.pop_back();
  square.numResults = 2;
  skipped.op = "apc.skip_simplified_layer_normalization";
  skipped.operands.pop_back();
  found = gradientsOf(skipped, statistics); // the mean is 0, whatever the sum
  checkClose(found[0], gradientsOf(square, {{}, {-3}})[0], 1e-6);
  CHECK(found[1] == found[0]);
}

TEST_CASE("Normalisations of layers reverse for scales of rows, too") {
  for (const char *scale : {"3x4xf64", "2x1x4xf64", "2x3x1xf64", "2x3x4xf64"}) {
    checkGradients({"apc.layer_normalization", {"2x3x4xf64", scale, "3x1xf64"}});
    checkGradients({"apc.rms_normalization", {"2x3x4xf64", scale}, "epsilon = 0.1 : f32"});
  }
}

TEST_CASE("Gradients of rows of a layer normalisation sum to zero") {
  auto gradients =
      gradientsOf({"apc.layer_normalization", {"2x3xf64", "= [1.0, 1.0, 1.0] : 3xf64", "none"}}, {{1, 2, 4, -3, 0, 7}});
  for (int row : {0, 3})
    CHECK(gradients[0][row] + gradients[0][row + 1] + gradients[0][row + 2] == Approx(0).margin(1e-12));
}

TEST_CASE("A layer normalisation of a sum reverses for each summand, the sum being a result or not") {
  checkGradients({"apc.skip_layer_normalization", {"2x3x4xf64", "2x3x4xf64", "4xf64", "4xf64", "4xf64"}});
  checkGradients({"apc.skip_simplified_layer_normalization", {"2x3x4xf64", "3x4xf64", "4xf64", "none"}});
  checkGradients(R"(
    func.func @main(%x: tensor<2x4xf64>, %skip: tensor<2x4xf64>, %scale: tensor<4xf64>) -> (tensor<2x4xf64>, tensor<2x4xf64>) {
      %none = apc.none
      %y:4 = "apc.skip_layer_normalization"(%x, %skip, %scale, %none, %none)
          : (tensor<2x4xf64>, tensor<2x4xf64>, tensor<4xf64>, none, none) -> (tensor<2x4xf64>, none, none, tensor<2x4xf64>)
      return %y#0, %y#3 : tensor<2x4xf64>, tensor<2x4xf64>
    })");
}

TEST_CASE("Instances and groups of channels reverse") {
  checkGradients({"apc.instance_normalization", {"2x3x4xf64", "3xf64", "3xf64"}, "epsilon = 0.1 : f32"});
  checkGradients({"apc.group_normalization", {"2x4x2x2xf64", "4xf64", "4xf64"}, "num_groups = 2 : i64"});
  std::string three = "num_groups = 3 : i64, epsilon = 0.1 : f32";
  for (const char *scale : {"3xf64", "6xf64"})
    for (const char *bias : {"3xf64", "6xf64"})
      checkGradients({"apc.group_normalization", {"2x6x3xf64", scale, bias}, three});
  checkGradients({"apc.group_normalization", {"2x4x3xf64", "1xf64", "1xf64"}, "num_groups = 1 : i64"});
}

TEST_CASE("Batch normalisation with constant statistics reverses for data, scale and bias") {
  checkGradients({"apc.batch_normalization",
                  {"2x3x2xf64", "3xf64", "3xf64", "cut 3xf64", "cut 3xf64 in 0.5 2"},
                  "epsilon = 0.1 : f32"});
}

TEST_CASE("Batch normalisation with statistics of the batch reverses through the statistics") {
  checkGradients(R"(
    func.func @main(%x: tensor<4x3x2xf64>, %scale: tensor<3xf64>, %bias: tensor<3xf64>) -> tensor<4x3x2xf64> {
      %axes = apc.constant dense<[0, 2]> : tensor<2xi64>
      %mean = "apc.reduce_mean"(%x, %axes) {keepdims = 0 : i64} : (tensor<4x3x2xf64>, tensor<2xi64>) -> tensor<3xf64>
      %shape = apc.constant dense<[3, 1]> : tensor<2xi64>
      %column = "apc.reshape"(%mean, %shape) : (tensor<3xf64>, tensor<2xi64>) -> tensor<3x1xf64>
      %centred = "apc.sub"(%x, %column) : (tensor<4x3x2xf64>, tensor<3x1xf64>) -> tensor<4x3x2xf64>
      %square = "apc.mul"(%centred, %centred) : (tensor<4x3x2xf64>, tensor<4x3x2xf64>) -> tensor<4x3x2xf64>
      %variance = "apc.reduce_mean"(%square, %axes) {keepdims = 0 : i64} : (tensor<4x3x2xf64>, tensor<2xi64>) -> tensor<3xf64>
      %y = "apc.batch_normalize"(%x, %scale, %bias, %mean, %variance) {epsilon = 0.1 : f32}
          : (tensor<4x3x2xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>, tensor<3xf64>) -> tensor<4x3x2xf64>
      return %y : tensor<4x3x2xf64>
    })");
}

TEST_CASE("Normalisation by neighbouring channels reverses, of odd and even numbers of them") {
  for (const char *size : {"size = 1 : i64", "size = 3 : i64", "size = 4 : i64", "size = 9 : i64"}) {
    std::string attributes = std::string(size) + ", alpha = 0.5 : f32, beta = 0.75 : f32, bias = 2.0 : f32";
    checkGradients({"apc.lrn", {"2x5xf64"}, attributes});
    checkGradients({"apc.lrn", {"2x5x3xf64"}, attributes});
    checkGradients({"apc.lrn", {"1x4x2x3xf64"}, attributes});
  }
}

TEST_CASE("Normalisations of groups, of any dims, by a norm and of embeddings reverse in parts") {
  std::string epsilon = "epsilon = 0.1 : f32";
  std::vector<OpCase> cases = {
      {"apc.instance_normalization", {"2x3x4xf64", "3xf64", "3xf64"}, epsilon},
      {"apc.instance_normalization", {"2x3xf64", "3xf64", "3xf64"}, epsilon},
      {"apc.group_normalization", {"2x6x3xf64", "6xf64", "6xf64"}, "num_groups = 2 : i64, " + epsilon},
      {"apc.group_normalization", {"2x6x3xf64", "3xf64", "3xf64"}, "num_groups = 3 : i64, " + epsilon},
      {"apc.mean_variance_normalization", {"2x3x4xf64"}, "axes = array<i64: 0, -1>"},
      {"apc.mean_variance_normalization", {"3x4xf64"}, "axes = array<i64: 1>"},
      {"apc.lp_normalization", {"3x4xf64"}, "p = 2 : i64"},
      {"apc.lp_normalization", {"3x4x2xf64"}, "p = 1 : i64, axis = 1 : i64"}};
  for (const OpCase &test : cases) {
    INFO(test.op << " {" << test.attributes << "}");
    checkGradients(textApart(test).c_str());
  }
}

TEST_CASE("Embeddings are normalised in parts, with and without positions, segments and lengths") {
  std::string ids = "2x3xi64 below 5", segments = "2x3xi64 below 2", words = "5x4xf64", epsilon = "epsilon = 0.1 : f32";
  std::string mask = "[[1, 1, 0], [1, 2, 0]] : 2x3xi64";
  auto embed = [&](std::vector<std::string> operands, unsigned numResults) {
    operands.resize(9, "none");
    OpCase test{"apc.embed_layer_normalization", operands, epsilon, numResults};
    INFO(operands[8]);
    checkGradients(textApart(test).c_str());
  };
  embed({ids, "none", words, "3x4xf64", "none", "4xf64", "4xf64"}, 1);
  embed({ids, segments, words, "6x4xf64", "2x4xf64", "4xf64", "4xf64", mask, "[[2, 0, 5]] : 1x3xi64"}, 3);
  embed({ids, segments, words, "6x4xf64", "2x4xf64", "4xf64", "4xf64"}, 3);
}

TEST_CASE("Rows of zeros keep a norm of zero in parts, and a gradient of what arrives") {
  for (const char *norm : {"p = 1 : i64", "p = 2 : i64"}) {
    std::string text = textApart({"apc.lp_normalization", {"= [[0.0, 0.0], [3.0, 4.0]] : 2x2xf64"}, norm});
    GradientProgram apart(text);
    CHECK(runOn(*apart.module, apart.inputs).front().floats[1] == 0);
    ReversedProgram reversed = reverse(apart);
    REQUIRE(reversed.module);
    Tensor arriving = apart.inputs.front();
    arriving.floats = {1, 2, 0, 0};
    Tensor gradient = runOn(*reversed.module, {apart.inputs.front(), arriving}).front();
    CHECK(gradient.floats == std::vector<double>{1, 2, 0, 0});
  }
}

TEST_CASE("Groups of channels reverse with the last dim as channels, an activation, and a skip of either shape") {
  const std::string two = "groups = 2 : i64, epsilon = 0.1 : f32";
  for (const std::string activation : {"0", "1"}) {
    std::string own = two + ", activation = " + activation + " : i64";
    checkGradients({"apc.group_norm", {"2x2x2x4xf64", "4xf64", "4xf64"}, own});
    checkGradients({"apc.group_norm", {"2x4x3xf64", "4xf64", "4xf64"}, own + ", channels_last = 0 : i64"});
    checkGradients({"apc.skip_group_norm", {"2x2x2x4xf64", "4xf64", "4xf64", "2x2x2x4xf64", "4xf64"}, own});
    for (const char *skip : {"2x4xf64", "2x1x1x4xf64"})
      checkGradients({"apc.skip_group_norm", {"2x2x2x4xf64", "4xf64", "4xf64", skip, "none"}, own, 2});
  }
}

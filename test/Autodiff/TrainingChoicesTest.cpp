// Which parameters a training step trains, the losses that it takes, and the requests that it refuses.
#include "TrainingPrograms.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"

#include <catch2/catch.hpp>

using namespace apc;

using Catch::Contains;
using Lines = std::vector<std::string>;

namespace {

TrainingOptions optionsFor(const std::string &loss) {
  TrainingOptions options;
  options.loss = loss;
  return options;
}

/// Outputs of every form: scores [2, 3], a count of integers, a value of one element, and one more of none.
const char *const outputsText = R"(
func.func @main(%x: tensor<2x4xf32> {apc.name = "x"}) -> (tensor<2x3xf32> {apc.name = "scores"},
    tensor<2xi64> {apc.name = "best"}, tensor<f32> {apc.name = "mean"}, tensor<1x1xf32> {apc.name = "most"}) {
  %n = apc.none
  %w = apc.parameter "W" "initializer" : tensor<4x3xf32>
  %p = "apc.matmul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32> loc("product")
  %b = "apc.arg_max"(%p) {axis = 1 : i64, keepdims = 0 : i64} : (tensor<2x3xf32>) -> tensor<2xi64> loc("best")
  %m = "apc.reduce_mean"(%p, %n) {keepdims = 0 : i64} : (tensor<2x3xf32>, none) -> tensor<f32> loc("mean")
  %q = "apc.reduce_max"(%p, %n) {keepdims = 1 : i64} : (tensor<2x3xf32>, none) -> tensor<1x1xf32> loc("most")
  return %p, %b, %m, %q : tensor<2x3xf32>, tensor<2xi64>, tensor<f32>, tensor<1x1xf32>
})";

/// y = x . W0 . W1 . ... with x [2, 4] and `count` parameters [4, 4].
std::string productsText(unsigned count) {
  std::string text =
      "func.func @main(%x: tensor<2x4xf32> {apc.name = \"x\"}) -> (tensor<2x4xf32> {apc.name = \"y\"}) {\n";
  std::string last = "%x";
  for (unsigned index = 0; index < count; ++index) {
    std::string number = std::to_string(index), made = "%y" + number;
    text += "  %w" + number + " = apc.parameter \"W" + number + "\" \"initializer\" : tensor<4x4xf32>\n";
    text += "  " + made + " = \"apc.matmul\"(" + last + ", %w" + number +
            ") : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc(\"" +
            (index + 1 == count ? "y" : "m" + number) + "\")\n";
    last = made;
  }
  return text + "  return " + last + " : tensor<2x4xf32>\n}";
}

/// Three ops without a gradient behind W, one of them beside the loss; a constant before them.
const char *const refusedText = R"(
func.func @main(%x: tensor<2x4xf32> {apc.name = "x"}) -> (tensor<2x4xf32> {apc.name = "y"},
                                                          tensor<2x4xf32> {apc.name = "z"}) {
  %w = apc.parameter "W" "initializer" : tensor<4x4xf32>
  %a = "apc.matmul"(%x, %w) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("a")
  %s = "apc.hardmax"(%w) : (tensor<4x4xf32>) -> tensor<4x4xf32> loc("first")
  %b = "apc.matmul"(%a, %s) : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32> loc("b")
  %c = "apc.hardmax"(%b) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("hard")
  %e = "apc.add"(%b, %c) : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32> loc("e")
  %d = "apc.hardmax"(%a) : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("beside")
  return %e, %d : tensor<2x4xf32>, tensor<2x4xf32>
})";

/// A convolution with weights in 8 bits behind one that is trained.
const char *const integersText = R"(
func.func @main(%x: tensor<2x4x5xf32> {apc.name = "x"}) -> (tensor<2x3x3xf32> {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<4x4x1xf32>
  %q = apc.parameter "Q" "initializer" : tensor<3x4x3xi8>
  %none = apc.none
  %a = "apc.conv"(%x, %w, %none) : (tensor<2x4x5xf32>, tensor<4x4x1xf32>, none) -> tensor<2x4x5xf32> loc("a")
  %b = "apc.conv"(%a, %q, %none) : (tensor<2x4x5xf32>, tensor<3x4x3xi8>, none) -> tensor<2x3x3xf32> loc("quantised")
  return %b : tensor<2x3x3xf32>
})";

} // namespace

TEST_CASE("Products with integers have no gradient") {
  CHECK_THAT(refusalOf(integersText, optionsFor("sum:y")), Contains("'quantised' (conv: it multiplies by integers)"));
}

TEST_CASE("Parameters that match --freeze as a whole stay as they are") {
  TrainingOptions options = optionsFor("sum:y");
  options.freeze = "B|X.*";
  BuiltStep step(linearText, options);
  CHECK(step.trained() == Lines{"W"});
  CHECK(step.untrained() == Lines{"B matches --freeze"});
  CHECK(step.states() == Lines{"W.first 4x3", "W.second 4x3"});
  CHECK(step.tiedTo("B.first").empty());
}

TEST_CASE("An expression of --freeze that matches no parameter is refused with their names") {
  TrainingOptions options = optionsFor("sum:y");
  options.freeze = "[A-Z]x";
  CHECK(refusalOf(linearText, options) ==
        "--freeze '[A-Z]x' matches no whole name of a parameter; parameters are 'B', 'W'");
  options.freeze = "x"; // an input
  CHECK_THAT(refusalOf(productsText(10), options), Contains("are 'W0', 'W1'") && Contains("'W7' and 2 more"));
}

TEST_CASE("Parameters of which each is tied to the next are one, in whatever order the ties stand") {
  Lines untrained = {"W1 is 'W0', stored twice", "W2 is 'W0', stored twice"};
  std::vector<std::vector<TiedParameters>> chains = {{{"W0", "W1"}, {"W1", "W2"}},
                                                     {{"W1", "W2"}, {"W0", "W1"}},
                                                     {{"W0", "W1"}, {"W0", "W2"}},
                                                     {{"W2", "W1"}, {"W0", "W1"}},               // tied twice
                                                     {{"W0", "W1"}, {"W1", "W2"}, {"W2", "W0"}}, // once around
                                                     {{"W0", "W1", true}, {"W1", "W2", true}},
                                                     {{"W1", "W2", true}, {"W0", "W1", true}}};
  for (const std::vector<TiedParameters> &ties : chains) {
    TrainingOptions options = optionsFor("sum:y");
    options.ties = ties;
    BuiltStep step(productsText(3), options);
    CHECK(step.trained() == Lines{"W0"});
    CHECK(step.untrained() == untrained);
    CHECK(step.states() == Lines{"W0.first 4x4", "W0.second 4x4"});
    size_t numTransposed = 0; // reads of W0 by the forward pass
    for (TransposeOp transpose : step.main().getOps<TransposeOp>())
      numTransposed +=
          llvm::isa_and_present<ParameterOp>(transpose.getData().getDefiningOp()) && !transpose->hasAttr(tieAttribute);
    CHECK(numTransposed == (ties.front().transposed ? 1 : 0));
  }
}

TEST_CASE("Parameters that are one by a tie are frozen together") {
  TrainingOptions options = optionsFor("sum:y");
  options.ties = {{"W0", "W1"}};
  options.freeze = "W1";
  CHECK(refusalOf(productsText(3), options) ==
        "--freeze 'W1' matches one of 'W0' and 'W1', which --tie makes one parameter; freeze both or neither");
  options.freeze = "W0";
  CHECK_THAT(refusalOf(productsText(3), options), Contains("freeze both or neither"));
  options.freeze = "W[01]";
  CHECK(BuiltStep(productsText(3), options).trained() == Lines{"W2"});
}

TEST_CASE("Ties that go around and contradict each other are refused") {
  TrainingOptions options = optionsFor("sum:y");
  options.ties = {{"W0", "W1", false}, {"W1", "W0", true}};
  CHECK(refusalOf(productsText(3), options) ==
        "parameters 'W1' and 'W0' cannot be tied transposed: other ties say the opposite");
  options.ties = {{"W0", "W1", true}, {"W1", "W2", false}, {"W2", "W0", false}};
  CHECK(refusalOf(productsText(3), options) ==
        "parameters 'W2' and 'W0' cannot be tied untransposed: other ties say the opposite");
  options.ties = {{"W0", "W1", true}, {"W1", "W0", true}};
  CHECK(BuiltStep(productsText(3), options).trained() == Lines{"W0", "W2"});
}

TEST_CASE("Normalisations that have a gradient in parts alone are trained") {
  for (const char *norm : {"lp_normalization\"(%p) {p = 1 : i64}", "lp_normalization\"(%p)",
                           "mean_variance_normalization\"(%p) {axes = array<i64: 1>}"}) {
    std::string text = R"(
func.func @main(%x: tensor<2x4xf32> {apc.name = "x"}) -> (tensor<2x4xf32> {apc.name = "y"}) {
  %w = apc.parameter "W" "initializer" : tensor<4xf32>
  %p = "apc.mul"(%x, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> loc("p")
  %y = "apc.)" + std::string(norm) +
                       R"( : (tensor<2x4xf32>) -> tensor<2x4xf32> loc("y")
  return %y : tensor<2x4xf32>
})";
    CHECK(BuiltStep(text, optionsFor("mse:y")).trained() == Lines{"W"});
  }
}

TEST_CASE("Parameters that the loss does not depend on say so; whole numbers are no weights") {
  BuiltStep step(R"(func.func @main(%x: tensor<2x4xf32> {apc.name = "x"}) -> (tensor<2x4xf32> {apc.name = "y"},
                                                          tensor<2x4xf32> {apc.name = "z"}) {
  %i = apc.parameter "indices" "initializer" : tensor<2xi64>
  %v = apc.parameter "V" "initializer" : tensor<4xf32>
  %w = apc.parameter "W" "initializer" : tensor<4xf32>
  %y = "apc.mul"(%x, %w) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> loc("y")
  %p = "apc.gather"(%y, %i) : (tensor<2x4xf32>, tensor<2xi64>) -> tensor<2x4xf32> loc("p")
  %z = "apc.mul"(%x, %v) : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32> loc("z")
  return %p, %z : tensor<2x4xf32>, tensor<2x4xf32>
})",
                 optionsFor("sum:y"));
  CHECK(step.trained() == Lines{"W"});
  CHECK(step.untrained() == Lines{"V the loss does not depend on it"});
}

TEST_CASE("Running statistics and rotary tables are not trained, constants of the model neither") {
  const char *text =
      R"(func.func @main(%x: tensor<2x3x4xf32> {apc.name = "x"}) -> (tensor<2x3x4xf32> {apc.name = "y"}) {
  %g = apc.parameter "gain" "initializer" : tensor<3xf32>
  %b = apc.parameter "bias" "initializer" : tensor<3xf32>
  %m = apc.parameter "running_mean" "initializer" : tensor<3xf32>
  %v = apc.parameter "running_var" "initializer" : tensor<3xf32>
  %c = apc.parameter "cos" "initializer" : tensor<3x4xf32>
  %s = apc.parameter "sin" "initializer" : tensor<3x4xf32>
  %k = apc.parameter "scales" "initializer" {apc.role = "constant"} : tensor<4xf32>
  %n:5 = "apc.batch_normalization"(%x, %g, %b, %m, %v) : (tensor<2x3x4xf32>,
     tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
    -> (tensor<2x3x4xf32>, none, none, none, none) loc("norm")
  %r = "apc.rotate_half"(%n#0, %c, %s) :
    (tensor<2x3x4xf32>, tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<2x3x4xf32> loc("rotate")
  %y = "apc.mul"(%r, %k) : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3x4xf32> loc("y")
  return %y : tensor<2x3x4xf32>
})";
  TrainingOptions options = optionsFor("mse:y");
  Lines untrained = {"running_mean holds a table, a mask or statistics, by its use",
                     "running_var holds a table, a mask or statistics, by its use",
                     "cos holds a table, a mask or statistics, by its use",
                     "sin holds a table, a mask or statistics, by its use", "scales is a constant of the model"};
  for (bool freezesBatchNorm : {true, false}) {
    options.freezesBatchNorm = freezesBatchNorm;
    BuiltStep step(text, options);
    CHECK(step.trained() == Lines{"gain", "bias"});
    CHECK(step.untrained() == untrained);
  }
}

TEST_CASE("The mask of an attention is not trained where it is a parameter itself") {
  const char *text =
      R"(func.func @main(%x: tensor<1x2x3x4xf32> {apc.name = "x"}) -> (tensor<1x2x3x4xf32> {apc.name = "y"}) {
  %none = apc.none
  %w = apc.parameter "weight" "initializer" : tensor<4x4xf32>
  %m = apc.parameter "mask" "initializer" : tensor<3x3xf32>
  %q = "apc.matmul"(%x, %w) : (tensor<1x2x3x4xf32>, tensor<4x4xf32>) -> tensor<1x2x3x4xf32> loc("q")
  %y:4 = "apc.attention"(%q, %x, %x, %m, %none, %none, %none) :
    (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<3x3xf32>, none, none, none)
    -> (tensor<1x2x3x4xf32>, none, none, none) loc("y")
  return %y#0 : tensor<1x2x3x4xf32>
})";
  BuiltStep step(text, optionsFor("mse:y"));
  CHECK(step.trained() == Lines{"weight"});
  CHECK(step.untrained() == Lines{"mask holds a table, a mask or statistics, by its use"});
}

TEST_CASE("A loss is an output of one float, the only one where none is named") {
  for (const char *name : {"mean", "most"})
    CHECK(BuiltStep(outputsText, optionsFor(name)).results().front() == "loss");
  CHECK_THAT(refusalOf(outputsText, optionsFor("")), Contains("several outputs are one float") && Contains("'mean'"));
  CHECK_THAT(refusalOf(linearText, optionsFor("")),
             Contains("no output is one float") && Contains("cross-entropy") && Contains("'y' tensor<2x3xf32>"));
}

TEST_CASE("A loss is made of an output, which takes a target where it compares") {
  BuiltStep entropy(outputsText, optionsFor("cross-entropy:scores"));
  CHECK(entropy.argumentNames() == Lines{"x", "target", "step", "learning_rate"});
  CHECK(llvm::range_size(entropy.main().getOps<CrossEntropyOp>()) == 1);
  BuiltStep square(outputsText, optionsFor("mse:scores"));
  CHECK(square.argumentNames() == Lines{"x", "target", "step", "learning_rate"});
  CHECK(dimsOf(square.main().getArgument(1)) == llvm::ArrayRef<int64_t>({2, 3}));
  CHECK(BuiltStep(outputsText, optionsFor("sum:scores")).argumentNames() == Lines{"x", "step", "learning_rate"});
  // Of x = 1 and W = 0: log 3; (0 - 1)^2; 0.
  CHECK(entropy.runOnce(0.1)[0].floats[0] == Approx(std::log(3.0)).epsilon(1e-6));
  CHECK(square.runOnce(0.1)[0].floats[0] == Approx(1));
  CHECK(BuiltStep(linearText, optionsFor("mse")).runOnce(0.1)[0].floats[0] == Approx(1));
}

TEST_CASE("Losses that are not there or have another form are refused with the outputs of the model") {
  const char *outputs = "outputs are 'scores' tensor<2x3xf32>, 'best' tensor<2xi64>, 'mean' tensor<f32>, 'most'";
  CHECK_THAT(refusalOf(outputsText, optionsFor("scores")),
             Contains("output 'scores' is not one float") && Contains(outputs));
  CHECK_THAT(refusalOf(outputsText, optionsFor("nothing")),
             Contains("the model has no output 'nothing' to train on") && Contains(outputs));
  CHECK_THAT(refusalOf(outputsText, optionsFor("mse:best")), Contains("output 'best' is not floats"));
  CHECK_THAT(refusalOf(outputsText, optionsFor("cross-entropy:mean")),
             Contains("output 'mean' is not floats of one dim or more"));
  CHECK_THAT(refusalOf(outputsText, optionsFor("mse")), Contains("several outputs are floats"));
}

TEST_CASE("A step that trains nothing is refused") {
  TrainingOptions options = optionsFor("sum:y");
  options.freeze = ".*";
  CHECK_THAT(refusalOf(linearText, options), Contains("nothing to train"));
}

TEST_CASE("All ops without a gradient on the way to the loss are named at once, others are not") {
  std::string message = refusalOf(refusedText, optionsFor("sum:y"));
  CHECK_THAT(message, Contains("'hard' (hardmax: its results are steps") && Contains("'first' (hardmax: ") &&
                          !Contains("'beside'"));
}

TEST_CASE("Ties of parameters that are not there, of other shapes or without a transpose are refused") {
  TrainingOptions options = optionsFor("sum:y");
  auto refusal = [&](const TiedParameters &tied) {
    options.ties = {tied};
    return refusalOf(linearText, options);
  };
  CHECK_THAT(refusal({"W", "none", false}),
             Contains("the model has no parameter 'none' to tie; parameters are 'B', 'W'"));
  CHECK_THAT(refusal({"none", "W", false}), Contains("the model has no parameter 'none' to tie"));
  CHECK_THAT(refusal({"W", "B", false}),
             Contains("'W' and 'B' cannot be tied: their shapes or element types differ, tensor<"));
  CHECK_THAT(refusal({"B", "W", true}), Contains("'B' cannot be tied transposed: it has 1 dim"));
  CHECK_THAT(refusal({"W", "W", false}), Contains("'W' cannot be tied to itself"));
}

TEST_CASE("A bad expression of --freeze is refused with its problem") {
  TrainingOptions options = optionsFor("sum:y");
  options.freeze = "(W";
  CHECK_THAT(refusalOf(linearText, options), Contains("--freeze '(W' is no regular expression: parentheses"));
  options.freeze = "W)|(B";
  CHECK_THAT(refusalOf(linearText, options), Contains("--freeze 'W)|(B' is no regular expression"));
}

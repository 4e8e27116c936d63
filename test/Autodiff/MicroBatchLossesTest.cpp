// Losses of many forms in micro-batches, against the whole batch.
#include "TrainingPrograms.h"

#include "apc/Autodiff/MixedSamples.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/MainFunction.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

namespace {

constexpr int64_t samples = 8;

/// y = x W for x [8, 3] and W [3, 4], labels [8] and a mask [8]; `body` makes %loss of `type`. S, V, R and Y stand for
/// the types of a number, [4], [8] and y, ROWS for the samples of a micro-batch.
std::string modelText(std::string body, const std::string &type, int64_t rows) {
  std::string text = R"(
func.func @main(%x: tensor<ROWSx3xf64> {apc.batch_dim = 0 : i64, apc.name = "x"}, %labels: tensor<ROWSxi64> {apc.batch_dim = 0 : i64, apc.name = "labels"},
                %mask: R {apc.batch_dim = 0 : i64, apc.name = "mask"}) -> (LOSS {apc.name = "loss"}) {
  %none = apc.none
  %w = apc.parameter "W" "initializer" : tensor<3x4xf64>
  %y = "apc.matmul"(%x, %w) : (tensor<ROWSx3xf64>, tensor<3x4xf64>) -> Y loc("y")
)" + body + "\n  return %loss : LOSS\n}";
  for (auto [name, own] : {std::pair<llvm::StringRef, std::string>("LOSS", type),
                           {" S", " tensor<f64>"},
                           {"(S", "(tensor<f64>"},
                           {" V", " tensor<4xf64>"},
                           {"(V", "(tensor<4xf64>"},
                           {" R ", " tensor<ROWSxf64> "},
                           {" R\n", " tensor<ROWSxf64>\n"},
                           {"(R", "(tensor<ROWSxf64>"},
                           {" R)", " tensor<ROWSxf64>)"},
                           {" Y", " tensor<ROWSx4xf64>"},
                           {"(Y", "(tensor<ROWSx4xf64>"}}) {
    for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + own.size()))
      text.replace(at, name.size(), own);
  }
  for (size_t at = text.find("ROWS"); at != std::string::npos; at = text.find("ROWS"))
    text.replace(at, 4, std::to_string(rows));
  return text;
}

/// The loss, and W after a step of SGD, in so many micro-batches.
std::vector<double> stepIn(int64_t count, const std::string &body, const std::string &type,
                           std::string *unknownSince = nullptr) {
  int64_t rows = samples / count;
  TrainingOptions options;
  options.microBatches = count;
  options.optimizer.kind = OptimizerKind::Sgd;
  BuiltStep step(modelText(body, type, rows), options);
  if (unknownSince)
    *unknownSince = step.lossUnknownSince();
  mlir::Builder builder(step.main().getContext());
  const int64_t classes[] = {-100, -100, -100, -100, 1, -100, 3, 0}; // none counts in the first half
  std::vector<Tensor> inputs;
  for (int64_t first = 0; first < samples; first += rows) {
    Tensor x{{rows, 3}, builder.getF64Type(), {}, {}}, labels{{rows}, builder.getI64Type(), {}, {}},
        mask{{rows}, builder.getF64Type(), {}, {}};
    for (int64_t sample = first; sample < first + rows; ++sample) {
      for (int64_t index = 0; index < 3; ++index)
        x.floats.push_back(std::sin(1.0 + static_cast<double>(3 * sample + index)));
      labels.ints.push_back(classes[sample]);
      mask.floats.push_back(sample < 3 ? 0 : 1);
    }
    inputs.insert(inputs.end(), {x, labels, mask, Tensor{{}, builder.getI64Type(), {1}, {}},
                                 Tensor{{}, builder.getF32Type(), {}, {0.5}}});
  }
  Tensor weights{{3, 4}, builder.getF64Type(), {}, {}};
  for (int64_t index = 0; index < 12; ++index)
    weights.floats.push_back(std::cos(static_cast<double>(index)));
  std::map<std::string, Tensor> held{{"W", weights}};
  std::vector<double> numbers{step.advance(inputs, held).front().floats[0]};
  numbers.insert(numbers.end(), held.at("W").floats.begin(), held.at("W").floats.end());
  return numbers;
}

/// Steps in 2, 4 and 8 micro-batches are that of the whole batch.
void checkParts(const std::string &body, const std::string &type = "tensor<f64>") {
  INFO(body);
  std::vector<double> whole = stepIn(1, body, type);
  for (int64_t count : {2, 4, 8}) {
    INFO(count << " micro-batches");
    std::string unknownSince;
    std::vector<double> parts = stepIn(count, body, type, &unknownSince);
    CHECK(unknownSince.empty());
    for (size_t index = 0; index < whole.size(); ++index)
      CHECK(parts[index] == Approx(whole[index]).epsilon(1e-5));
  }
}

/// Of all squares of y: their sum %sum, their mean %mean; the norm of the weights %norm; a number %two.
const std::string parts = R"(
  %q = "apc.mul"(%y, %y) : (Y, Y) -> Y loc("q")
  %sum = "apc.reduce_sum"(%q, %none) {keepdims = 0 : i64} : (Y, none) -> S loc("sum")
  %mean = "apc.reduce_mean"(%q, %none) {keepdims = 0 : i64} : (Y, none) -> S loc("mean")
  %norm = "apc.reduce_l2"(%w, %none) {keepdims = 0 : i64} : (tensor<3x4xf64>, none) -> S loc("norm")
  %two = apc.constant dense<2.0> : tensor<f64>
)";

/// %above / %below is the mean of the squares of the rows that %mask has.
const std::string masked = parts + R"(  %axes = apc.constant dense<1> : tensor<1xi64>
  %rows = "apc.reduce_sum"(%q, %axes) {keepdims = 0 : i64} : (Y, tensor<1xi64>) -> R loc("rows")
  %m = "apc.mul"(%rows, %mask) : (R, R) -> R loc("m")
  %above = "apc.reduce_sum"(%m, %none) {keepdims = 0 : i64} : (R, none) -> S loc("above")
  %below = "apc.reduce_sum"(%mask, %none) {keepdims = 0 : i64} : (R, none) -> S loc("below")
)";

/// The mean of the cross entropies of labels that are not -100.
std::string counted(const std::string &scores, const std::string &labels) {
  return "\"apc.softmax_cross_entropy_loss\"(" + scores + ", " + labels +
         ", %none) {ignore_index = -100 : i64, reduction = \"mean\"} : (Y, tensor<ROWSxi64>, none) -> (S, none)";
}

const std::string axis = "  %axis = apc.constant dense<0> : tensor<1xi64>\n";

} // namespace

TEST_CASE("Sums over samples are added up, through ops that are linear") {
  checkParts(parts + R"(  %loss = "apc.mul"(%two, %sum) : (S, S) -> S loc("loss"))");
  checkParts(parts + R"(  %loss = "apc.div"(%sum, %two) : (S, S) -> S loc("loss"))");
  checkParts(parts + R"(  %loss = "apc.neg"(%sum) : (S) -> S loc("loss"))");
  checkParts(parts + R"(  %loss = "apc.add"(%sum, %sum) : (S, S) -> S loc("loss"))");
  checkParts(R"(  %loss = "apc.reduce_sum_square"(%y, %none) {keepdims = 0 : i64} : (Y, none) -> S loc("loss"))");
  checkParts(R"(  %loss = "apc.einsum"(%y, %y) {equation = "ij,ij->"} : (Y, Y) -> S loc("loss"))");
}

TEST_CASE("Sums over samples are told from means of sums") {
  checkParts(axis + R"(  %v = "apc.reduce_sum"(%y, %axis) {keepdims = 0 : i64} : (Y, tensor<1xi64>) -> V loc("v")
  %loss = "apc.reduce_mean"(%v, %none) {keepdims = 0 : i64} : (V, none) -> S loc("loss"))");
  checkParts(axis + R"(  %v = "apc.reduce_mean"(%y, %axis) {keepdims = 0 : i64} : (Y, tensor<1xi64>) -> V loc("v")
  %loss = "apc.reduce_sum"(%v, %none) {keepdims = 0 : i64} : (V, none) -> S loc("loss"))");
}

TEST_CASE("Each term of a loss has its own share") {
  checkParts(parts + R"(  %loss = "apc.add"(%sum, %norm) : (S, S) -> S loc("loss"))");
  checkParts(parts + R"(  %loss = "apc.sub"(%mean, %norm) : (S, S) -> S loc("loss"))");
  checkParts(parts + R"(  %a = "apc.add"(%sum, %mean) : (S, S) -> S loc("a")
  %b = "apc.mul"(%a, %two) : (S, S) -> S loc("b")
  %loss = "apc.sum"(%b, %norm, %a) : (S, S, S) -> S loc("loss"))");
}

TEST_CASE("A micro-batch without a label that counts adds nothing to a mean over labels") {
  const std::string loss = counted("%y", "%labels");
  checkParts("  %l:2 = " + loss + " loc(\"loss\")\n  %loss = \"apc.neg\"(%l#0) : (S) -> S loc(\"neg\")");
  checkParts(parts + "  %l:2 = " + loss + " loc(\"loss\")\n" +
             R"(  %loss = "apc.mul"(%l#0, %two) : (S, S) -> S loc("twice"))");
  checkParts("  %l:2 = " + loss + " loc(\"loss\")\n" + R"(  %one = apc.constant dense<1> : tensor<1xi64>
  %loss = "apc.reshape"(%l#0, %one) : (S, tensor<1xi64>) -> tensor<1xf64> loc("one"))",
             "tensor<1xf64>");
}

TEST_CASE("The mean of a mask is divided by what the mask counts in the whole batch") {
  checkParts(masked + R"(  %loss = "apc.div"(%above, %below) : (S, S) -> S loc("loss"))");
  checkParts(masked + R"(  %raised = "apc.add"(%below, %two) : (S, S) -> S loc("raised")
  %d = "apc.div"(%above, %raised) : (S, S) -> S loc("d")
  %loss = "apc.mul"(%d, %two) : (S, S) -> S loc("loss"))");
}

TEST_CASE("A least count bounds that of the whole batch, not that of a micro-batch") {
  auto boundedBy = [&](const std::string &least) {
    return masked + "  %nine = apc.constant dense<9.0> : tensor<f64>\n  %most = \"apc.max\"(%below, " + least +
           R"() : (S, S) -> S loc("most")
  %loss = "apc.div"(%above, %most) : (S, S) -> S loc("loss"))";
  };
  checkParts(boundedBy("%two")); // 5 of the whole batch count, none in the first of 4 micro-batches
  checkParts(boundedBy("%nine"));
  checkParts(masked + R"(  %most = "apc.clip"(%below, %two, %none) : (S, S, none) -> S loc("most")
  %halved = "apc.div"(%above, %most) : (S, S) -> S loc("halved")
  %loss = "apc.mul"(%halved, %two) : (S, S) -> S loc("loss"))");
}

TEST_CASE("Quotients by the same number add up, and what no sample changes beside them") {
  checkParts(masked + R"(  %a = "apc.div"(%above, %below) : (S, S) -> S loc("a")
  %b = "apc.div"(%sum, %below) : (S, S) -> S loc("b")
  %half = "apc.mul"(%norm, %two) : (S, S) -> S loc("half")
  %loss = "apc.sum"(%half, %a, %b) : (S, S, S) -> S loc("loss"))");
  checkParts(parts +
             R"(  %labels2 = "apc.cast"(%labels) {to = 7 : i64} : (tensor<ROWSxi64>) -> tensor<ROWSxi64> loc("l2")
  %z = "apc.mul"(%y, %two) : (Y, S) -> Y loc("z")
  %one:2 = )" +
             counted("%y", "%labels2") + R"( loc("one")
  %labels3 = "apc.cast"(%labels) {to = 7 : i64} : (tensor<ROWSxi64>) -> tensor<ROWSxi64> loc("l3")
  %other:2 = )" +
             counted("%z", "%labels3") + R"( loc("other")
  %both = "apc.add"(%one#0, %other#0) : (S, S) -> S loc("both")
  %loss = "apc.sub"(%both, %norm) : (S, S) -> S loc("loss"))");
}

TEST_CASE("Sums over samples stay sums beside quotients that divide by other numbers") {
  // As many samples count to the divisor in each half of the batch, so that the mean of the quotients is that of all.
  const std::string body = masked + R"(  %zero = apc.constant dense<0.0> : tensor<f64>
  %zeros = "apc.mul"(%mask, %zero) : (R, S) -> R loc("zeros")
  %twos = "apc.add"(%zeros, %two) : (R, S) -> R loc("twos")
  %all = "apc.reduce_sum"(%twos, %none) {keepdims = 0 : i64} : (R, none) -> S loc("all")
  %a = "apc.div"(%above, %all) : (S, S) -> S loc("a")
  %b = "apc.add"(%a, %sum) : (S, S) -> S loc("join")
  %loss = "apc.add"(%b, %norm) : (S, S) -> S loc("loss"))";
  std::vector<double> whole = stepIn(1, body, "tensor<f64>");
  std::string since;
  std::vector<double> halves = stepIn(2, body, "tensor<f64>", &since);
  CHECK(since == "join");
  for (size_t index = 0; index < whole.size(); ++index)
    CHECK(halves[index] == Approx(whole[index]).epsilon(1e-5));
}

TEST_CASE("Numbers that were made from the batch are those of a micro-batch") {
  const std::string count = parts + R"(  %count = "apc.constant"() {value = dense<ROWS.0> : tensor<f64>,
      apc.batch_power = 1 : i64} : () -> S
)";
  checkParts(count + R"(  %loss = "apc.div"(%sum, %count) : (S, S) -> S loc("loss"))");
  checkParts(count + R"(  %loss = "apc.mul"(%count, %mean) : (S, S) -> S loc("loss"))");
  checkParts(count + R"(  %per = "apc.div"(%sum, %count) : (S, S) -> S loc("per")
  %loss = "apc.add"(%per, %norm) : (S, S) -> S loc("loss"))");
  checkParts(count + R"(  %raised = "apc.add"(%count, %two) : (S, S) -> S loc("raised")
  %loss = "apc.div"(%sum, %raised) : (S, S) -> S loc("loss"))");
}

/// The op by which samples of a model with such a body depend on each other.
static std::string mixerIn(const std::string &body) {
  mlir::MLIRContext context;
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(modelText(body, "tensor<f64>", samples), &context);
  REQUIRE(module);
  return mixerOfSamples(mainOf(*module));
}

TEST_CASE("Ops by which samples depend on each other are found where rows of the batch go on") {
  const std::string sum = R"(
  %loss = "apc.reduce_sum"(%z, %none) {keepdims = 0 : i64} : (Y, none) -> S loc("loss"))";
  auto softmaxAlong = [](int axis) {
    return R"(
  %z = "apc.softmax"(%y) {axis = )" +
           std::to_string(axis) + R"( : i64} : (Y) -> Y loc("softmax"))";
  };
  CHECK(mixerIn(softmaxAlong(0) + sum) == "softmax");
  CHECK(mixerIn(softmaxAlong(1) + sum).empty());
  for (const char *kind : {"mean", "sum", "max", "l2"})
    CHECK(mixerIn(R"(
  %axes = apc.constant dense<0> : tensor<1xi64>
  %m = "apc.reduce_)" +
                  std::string(kind) + R"("(%y, %axes) {keepdims = 0 : i64} : (Y, tensor<1xi64>) -> V loc("m")
  %z = "apc.sub"(%y, %m) : (Y, V) -> Y loc("centred"))" +
                  sum) == "centred");
  CHECK(mixerIn(R"(
  %axes = apc.constant dense<1> : tensor<1xi64>
  %m = "apc.reduce_mean"(%y, %axes) {keepdims = 1 : i64} : (Y, tensor<1xi64>) -> tensor<ROWSx1xf64> loc("m")
  %z = "apc.sub"(%y, %m) : (Y, tensor<ROWSx1xf64>) -> Y loc("centred"))" +
                sum)
            .empty());
}

TEST_CASE("A step says which op makes its loss neither a sum nor a mean over samples") {
  auto sinceOf = [](const std::string &body) {
    std::string since;
    stepIn(2, body, "tensor<f64>", &since);
    return since;
  };
  CHECK(sinceOf(parts + R"(  %r = "apc.sqrt"(%mean) : (S) -> S loc("root")
  %loss = "apc.neg"(%r) : (S) -> S loc("loss"))") == "root");
  CHECK(sinceOf(R"(  %loss = "apc.reduce_max"(%y, %none) {keepdims = 0 : i64} : (Y, none) -> S loc("most"))") ==
        "most");
  CHECK(sinceOf(parts + R"(  %loss = "apc.mul"(%sum, %mean) : (S, S) -> S loc("product"))") == "product");
  CHECK(sinceOf(parts + R"(  %loss = "apc.div"(%sum, %mean) : (S, S) -> S loc("ratio"))") == "ratio");
  CHECK(sinceOf(parts + R"(  %loss = "apc.mul"(%sum, %two) : (S, S) -> S loc("loss"))").empty());
}

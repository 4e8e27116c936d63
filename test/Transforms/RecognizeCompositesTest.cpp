// Composites are recognised in their arithmetic; arithmetic that only looks like one is left alone.
#include "apc/Transforms/RecognizeComposites.h"
#include "OpText.h"
#include "apc/IR/Apc.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// A model that is read from text and recognised.
struct RecognizedModel {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module;
  RecognizedComposites counts;

  explicit RecognizedModel(const std::string &text, bool trains = false, SharesRows shares = nullptr) {
    context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    REQUIRE(module);
    counts = recognizeComposites(*module, trains, shares);
    REQUIRE(mlir::succeeded(mlir::verify(*module)));
  }

  /// Of the ops that are left, constants and absent operands apart: "softmax_by", or "softmax_by log" for a logarithm.
  std::vector<std::string> names() {
    std::vector<std::string> found;
    module->walk([&](OperatorInterface op) {
      auto log = op->getAttrOfType<mlir::IntegerAttr>("log");
      std::string kind = log && log.getInt() != 0 ? " log" : "";
      if (!llvm::isa<ConstantOp, NoneOp>(op.getOperation()))
        found.push_back(op->getName().stripDialect().str() + kind);
    });
    return found;
  }
};

/// The names of the ops left in a function of one tensor<4x8xf32> argument %x and one of tensor<8xf32>, %w, after
/// recognition.
std::vector<std::string> recognized(const std::string &body, RecognizedComposites &counts) {
  RecognizedModel model("func.func @main(%x: tensor<4x8xf32>, %w: tensor<8xf32>) -> tensor<4x8xf32> {\n" + body +
                        "  return %y : tensor<4x8xf32>\n}\n");
  counts = model.counts;
  std::vector<std::string> names;
  model.module->walk([&](OperatorInterface op) { names.push_back(op->getName().stripDialect().str()); });
  return names;
}

constexpr const char *full = "tensor<4x8xf32>";
constexpr const char *scalar = "tensor<4x8xf32>, tensor<f32>";
constexpr const char *pair = "tensor<4x8xf32>, tensor<4x8xf32>";

std::string geluByErf(double half, double root) {
  return constant("r", root) + constant("one", 1) + constant("h", half) + op("d", "div", "%x, %r", scalar) +
         op("e", "erf", "%d", full) + op("s", "add", "%e, %one", scalar) + op("p", "mul", "%x, %s", pair) +
         op("y", "mul", "%p, %h", scalar);
}

std::string meanSquare(const std::string &x) {
  return "  %axes = apc.constant dense<-1> : tensor<1xi64>\n" + constant("two", 2) + constant("eps", 1e-5) +
         op("q", "pow", x + ", %two", scalar) +
         op("m", "reduce_mean", "%q, %axes", "tensor<4x8xf32>, tensor<1xi64>", "tensor<4x1xf32>") +
         op("a", "add", "%m, %eps", "tensor<4x1xf32>, tensor<f32>", "tensor<4x1xf32>") +
         op("root", "sqrt", "%a", "tensor<4x1xf32>", "tensor<4x1xf32>");
}

bool contains(const std::vector<std::string> &names, const std::string &name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

} // namespace

TEST_CASE("x * 0.5 * (1 + erf(x / sqrt 2)) is GELU") {
  RecognizedComposites counts;
  CHECK(recognized(geluByErf(0.5, 1.4142135), counts) == std::vector<std::string>{"gelu"});
  CHECK(counts.gelu == 1);
}

TEST_CASE("other constants are no GELU") {
  RecognizedComposites counts;
  CHECK(contains(recognized(geluByErf(0.25, 1.4142135), counts), "erf"));
  CHECK(contains(recognized(geluByErf(0.5, 2), counts), "erf"));
  CHECK(counts.gelu == 0);
}

TEST_CASE("x * 0.5 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) is GELU by tanh") {
  RecognizedComposites counts;
  std::string body = constant("three", 3) + constant("c", 0.044715) + constant("k", 0.7978845608) + constant("one", 1) +
                     constant("h", 0.5) + op("p", "pow", "%x, %three", scalar) + op("cp", "mul", "%p, %c", scalar) +
                     op("t", "add", "%x, %cp", pair) + op("u", "mul", "%t, %k", scalar) + op("v", "tanh", "%u", full) +
                     op("s", "add", "%v, %one", scalar) + op("hx", "mul", "%x, %h", scalar) +
                     op("y", "mul", "%hx, %s", pair);
  CHECK(recognized(body, counts) == std::vector<std::string>{"gelu"});
}

TEST_CASE("x * sigmoid(x) is swish, x * sigmoid(of another) is not") {
  RecognizedComposites counts;
  CHECK(recognized(op("s", "sigmoid", "%x", full) + op("y", "mul", "%s, %x", pair), counts) ==
        std::vector<std::string>{"swish"});
  recognized(op("n", "neg", "%x", full) + op("s", "sigmoid", "%n", full) + op("y", "mul", "%s, %x", pair), counts);
  CHECK(counts.swish == 0);
}

TEST_CASE("a gate that is used elsewhere stays") {
  RecognizedComposites counts;
  std::string body = op("s", "sigmoid", "%x", full) + op("g", "mul", "%s, %x", pair) + op("y", "add", "%g, %s", pair);
  CHECK(contains(recognized(body, counts), "sigmoid"));
  CHECK(counts.swish == 0);
}

TEST_CASE("x / sqrt(mean(x^2) + eps) * w is RMS normalisation") {
  RecognizedComposites counts;
  std::string normalized = op("n", "div", "%x, %root", "tensor<4x8xf32>, tensor<4x1xf32>");
  std::string scaled = op("y", "mul", "%n, %w", "tensor<4x8xf32>, tensor<8xf32>");
  CHECK(recognized(meanSquare("%x") + normalized + scaled, counts) == std::vector<std::string>{"rms_normalization"});
  std::string inverse = constant("one", 1) +
                        op("i", "div", "%one, %root", "tensor<f32>, tensor<4x1xf32>", "tensor<4x1xf32>") +
                        op("n", "mul", "%i, %x", "tensor<4x1xf32>, tensor<4x8xf32>");
  CHECK(recognized(meanSquare("%x") + inverse + scaled, counts) == std::vector<std::string>{"rms_normalization"});
}

TEST_CASE("(x - mean) / sqrt(mean of squares + eps) * w + b is layer normalisation") {
  RecognizedComposites counts;
  std::string body = "  %last = apc.constant dense<1> : tensor<1xi64>\n" +
                     op("mu", "reduce_mean", "%x, %last", "tensor<4x8xf32>, tensor<1xi64>", "tensor<4x1xf32>") +
                     op("d", "sub", "%x, %mu", "tensor<4x8xf32>, tensor<4x1xf32>") + meanSquare("%d") +
                     op("n", "div", "%d, %root", "tensor<4x8xf32>, tensor<4x1xf32>") +
                     op("s", "mul", "%n, %w", "tensor<4x8xf32>, tensor<8xf32>") +
                     op("y", "add", "%s, %w", "tensor<4x8xf32>, tensor<8xf32>");
  CHECK(recognized(body, counts) == std::vector<std::string>{"layer_normalization"});
  CHECK(counts.layerNorm == 1);
}

TEST_CASE("a mean over another dim is no normalisation of the last") {
  RecognizedComposites counts;
  std::string body = meanSquare("%x") + op("n", "div", "%x, %root", "tensor<4x8xf32>, tensor<4x1xf32>") +
                     op("y", "mul", "%n, %w", "tensor<4x8xf32>, tensor<8xf32>");
  size_t axis = body.find("dense<-1>");
  REQUIRE(axis != std::string::npos);
  body.replace(axis, 9, "dense<0>");
  // Over dim 0 the mean has shape [1, 8].
  for (size_t at = body.find("tensor<4x1xf32>"); at != std::string::npos; at = body.find("tensor<4x1xf32>"))
    body.replace(at, 15, "tensor<1x8xf32>");
  CHECK(contains(recognized(body, counts), "reduce_mean"));
  CHECK(counts.rmsNorm == 0);
}

namespace {

/// A loss over the 8 classes of %x, made of `scores`.
std::string lossOf(const std::string &name, const std::string &results, const std::string &scores,
                   const std::string &types) {
  return "  %labels = apc.constant dense<[0, 7, 3, 1]> : tensor<4xi64>\n  %none = apc.none\n" +
         op(results, name, scores + ", %labels, %none", "tensor<4x8xf32>, tensor<4xi64>, none", types);
}

} // namespace

TEST_CASE("losses of a softmax become a cross entropy by way of the logarithmic sum") {
  using Names = std::vector<std::string>;
  Names parts = {"log_sum_exp", "cross_entropy", "mul"};
  auto namesOf = [](const std::string &body, RecognizedComposites &counts) {
    Names names = recognized(body, counts);
    llvm::erase_if(names, [](const std::string &name) { return name == "constant" || name == "none"; });
    return names;
  };
  RecognizedComposites counts;
  std::string scaled = op("y", "mul", "%x, %l#0", scalar);
  std::string softmaxLoss = lossOf("softmax_cross_entropy_loss", "l:2", "%x", "(tensor<f32>, none)");
  CHECK(namesOf(softmaxLoss + scaled, counts) == parts);
  CHECK(counts.crossEntropy == 1);
  std::string likelihood = op("p", "log_softmax", "%x", full) +
                           lossOf("negative_log_likelihood_loss", "l", "%p", "tensor<f32>") +
                           op("y", "mul", "%x, %l", scalar);
  CHECK(namesOf(likelihood, counts) == parts);
  SECTION("not where the log probabilities are read") {
    std::string both = lossOf("softmax_cross_entropy_loss", "l:2", "%x", "(tensor<f32>, tensor<4x8xf32>)") +
                       op("y", "mul", "%l#1, %l#0", scalar);
    CHECK(namesOf(both, counts) == Names{"softmax_cross_entropy_loss", "mul"});
    std::string read = likelihood;
    read.replace(read.rfind("%x, %l"), 2, "%p");
    CHECK(namesOf(read, counts) == Names{"log_softmax", "negative_log_likelihood_loss", "mul"});
  }
  SECTION("not where the softmax is over another dim") {
    std::string other = likelihood;
    other.replace(other.find("(%x) {}"), 7, "(%x) {axis = 0 : i64}");
    CHECK(namesOf(other, counts) == Names{"log_softmax", "negative_log_likelihood_loss", "mul"});
  }
}

TEST_CASE("a cross entropy of flattened scores takes them in the dims that they had") {
  auto namesOf = [](const std::string &labels, const std::string &flatLabels, const std::string &reduction) {
    const std::string result = reduction == "none" ? "tensor<8xf32>" : "tensor<f32>";
    return RecognizedModel("func.func @main(%x: tensor<2x4x6xf32>, %labels: " + labels + ") -> " + result + R"( {
  %two = apc.constant dense<[8, 6]> : tensor<2xi64>
  %one = apc.constant dense<8> : tensor<1xi64>
  %none = apc.none
  %s = "apc.reshape"(%x, %two) : (tensor<2x4x6xf32>, tensor<2xi64>) -> tensor<8x6xf32>
)" + flatLabels + R"(
  %l:2 = "apc.softmax_cross_entropy_loss"(%s, %t, %none) {reduction = ")" +
                           reduction + R"("} : (tensor<8x6xf32>, tensor<8xi64>, none) -> ()" + result +
                           ", none)\n  return %l#0 : " + result + "\n}\n")
        .names();
  };
  using Names = std::vector<std::string>;
  const std::string flat = R"(%t = "apc.reshape"(%labels, %one) : (tensor<2x4xi64>, tensor<1xi64>) -> tensor<8xi64>)";
  CHECK(namesOf("tensor<2x4xi64>", flat, "mean") == Names{"log_sum_exp", "cross_entropy"});
  CHECK(namesOf("tensor<2x4xi64>", flat, "sum") == Names{"log_sum_exp", "cross_entropy"});
  SECTION("not where each row has a loss, in the order of the rows") {
    CHECK(namesOf("tensor<2x4xi64>", flat, "none") == Names{"reshape", "reshape", "log_sum_exp", "cross_entropy"});
  }
  SECTION("not where labels have other dims") {
    std::string other = flat;
    other.replace(other.find("2x4"), 3, "4x2");
    CHECK(namesOf("tensor<4x2xi64>", other, "mean") == Names{"reshape", "reshape", "log_sum_exp", "cross_entropy"});
  }
}

TEST_CASE("softmaxes of rows that no multiprocessor holds are taken by way of the logarithmic sum") {
  auto namesOf = [](const std::string &name, const std::string &attributes, int64_t columns, bool turned) {
    std::string size = std::to_string(columns),
                type = turned ? "tensor<" + size + "x2xf32>" : "tensor<2x" + size + "xf32>";
    std::string text = "func.func @main(%x: " + type + ") -> " + type + " {\n  %y = \"apc." + name + "\"(%x) {" +
                       attributes + "} : (" + type + ") -> " + type + "\n  return %y : " + type + "\n}\n";
    return RecognizedModel(text).names();
  };
  using Names = std::vector<std::string>;
  CHECK(namesOf("softmax", "", 58369, false) == Names{"log_sum_exp", "softmax_by"});
  CHECK(namesOf("log_softmax", "axis = 0 : i64", 58369, true) == Names{"log_sum_exp", "softmax_by log"});
  CHECK(namesOf("softmax", "", 58368, false) == Names{"softmax"});
  // Before opset 13 both dims are one row.
  CHECK(namesOf("softmax", "axis = 0 : i64, opset_version = 11 : i64", 58369, true) == Names{"softmax"});
}

namespace {

/// The names of the ops of a function of x [4, 8], of its copy v and of weights w [8, 8] and g [8], constants apart.
std::vector<std::string> opsOf(const std::string &body) {
  RecognizedModel model("func.func @main(%x: tensor<4x8xf32>, %v: tensor<4x8xf32>) -> tensor<4x8xf32> {\n"
                        "  %w = apc.parameter \"w\" \"initializer\" : tensor<8x8xf32>\n"
                        "  %g = apc.parameter \"g\" \"initializer\" : tensor<8xf32>\n" +
                        body + "  return %y : tensor<4x8xf32>\n}\n");
  CHECK(recognizeComposites(*model.module).shared == 0);
  std::vector<std::string> names;
  for (OperatorInterface op : model.module->lookupSymbol<mlir::func::FuncOp>("main").getOps<OperatorInterface>())
    if (!llvm::isa<ConstantOp, NoneOp, ParameterOp>(op.getOperation()))
      names.push_back(op->getName().stripDialect().str());
  return names;
}

std::string matmul(const std::string &result, const std::string &operand) {
  return op(result, "matmul", operand + ", %w", "tensor<4x8xf32>, tensor<8x8xf32>");
}

std::string norm(const std::string &result, const std::string &operand) {
  return op(result, "rms_normalization", operand + ", %g", "tensor<4x8xf32>, tensor<8xf32>");
}

} // namespace

TEST_CASE("normalisations and softmaxes are taken apart where their rows come out of contractions alone") {
  using Names = std::vector<std::string>;
  CHECK(opsOf(matmul("m", "%x") + norm("y", "%m")) == Names{"matmul", "layer_statistics", "layer_normalize"});
  CHECK(opsOf(matmul("m", "%x") + op("y", "softmax", "%m", full)) == Names{"matmul", "log_sum_exp", "softmax_by"});
  // Through ops that keep the dim, a gate and a bias among them; and through one that was taken apart before.
  CHECK(opsOf(matmul("a", "%x") + matmul("b", "%v") + op("p", "mul", "%a, %b", pair) +
              op("q", "add", "%p, %g", "tensor<4x8xf32>, tensor<8xf32>") + norm("n", "%q") +
              op("y", "log_softmax", "%n", full)) ==
        Names{"matmul", "matmul", "mul", "add", "layer_statistics", "layer_normalize", "log_sum_exp", "softmax_by"});
  // The input, or its sum with what a contraction makes, comes as it comes.
  CHECK(opsOf(norm("y", "%x")) == Names{"rms_normalization"});
  CHECK(opsOf(matmul("m", "%x") + op("s", "add", "%m, %x", pair) + norm("y", "%s")) ==
        Names{"matmul", "add", "rms_normalization"});
  // Another reader, of a residual stream.
  CHECK(opsOf(matmul("m", "%x") + norm("n", "%m") + op("y", "add", "%m, %n", pair)) ==
        Names{"matmul", "rms_normalization", "add"});
  // Rows of the softmax are those of the contraction; the dim of a head lies below that of the heads.
  CHECK(opsOf(matmul("m", "%x") +
              "  %shape = apc.constant dense<[4, 2, 4]> : tensor<3xi64>\n"
              "  %back = apc.constant dense<[4, 8]> : tensor<2xi64>\n" +
              op("h", "reshape", "%m, %shape", "tensor<4x8xf32>, tensor<3xi64>", "tensor<4x2x4xf32>") +
              op("n", "softmax", "%h", "tensor<4x2x4xf32>", "tensor<4x2x4xf32>") +
              op("y", "reshape", "%n, %back", "tensor<4x2x4xf32>, tensor<2xi64>")) ==
        Names{"matmul", "reshape", "softmax", "reshape"});
}

TEST_CASE("weights that are read many times on the way to a norm are looked at once") {
  std::string body = matmul("m", "%x") + op("d0", "add", "%g, %g", "tensor<8xf32>, tensor<8xf32>", "tensor<8xf32>");
  for (unsigned index = 1; index < 64; ++index) {
    std::string before = "%d" + std::to_string(index - 1);
    body +=
        op("d" + std::to_string(index), "add", before + ", " + before, "tensor<8xf32>, tensor<8xf32>", "tensor<8xf32>");
  }
  body += op("s", "add", "%m, %d63", "tensor<4x8xf32>, tensor<8xf32>") + norm("y", "%s");
  std::vector<std::string> names = opsOf(body);
  CHECK(llvm::ArrayRef(names).take_back(2) == llvm::ArrayRef<std::string>{"layer_statistics", "layer_normalize"});
}

namespace {

/// How many of two norms, `a` and `b`, of `dims` of an input are taken apart; the second run changes nothing.
unsigned numShared(const std::string &dims, const std::string &length, bool trains = true,
                   SharesRows shares = nullptr) {
  std::string data = "tensor<" + dims + "xf32>", row = "tensor<" + length + "xf32>";
  std::string types = " : (" + data + ", " + row + ") -> " + data;
  std::string text = "func.func @main(%x: " + data + ", %g: " + row + ") -> (" + data + ", " + data +
                     ") {\n  %a = \"apc.rms_normalization\"(%x, %g)" + types +
                     " loc(\"a\")\n  %b = \"apc.rms_normalization\"(%x, %g)" + types +
                     " loc(\"b\")\n  return %a, %b : " + data + ", " + data + "\n}\n";
  RecognizedModel model(text, trains, shares);
  CHECK(recognizeComposites(*model.module).shared == 0);
  return model.counts.shared;
}

} // namespace

TEST_CASE(
    "normalisations of a model that is trained are taken apart where rows are long and no more than their elements") {
  CHECK(numShared("512x512", "512") == 2); // 1 MiB
  CHECK(numShared("2x256x512", "512") == 2);
  CHECK(numShared("512x512", "512", /*trains=*/false) == 0);
  CHECK(numShared("511x512", "512") == 0); // less than 1 MiB
  CHECK(numShared("513x512", "512") == 0); // more rows
}

TEST_CASE("a plan says which normalisations are taken apart") {
  CHECK(numShared("4x8", "8", false, [](llvm::StringRef op) { return op == "b"; }) == 1);
  CHECK(numShared("512x512", "512", true, [](llvm::StringRef) { return false; }) == 0);
}

TEST_CASE("attentions are taken apart where keys and values are more than twice the results") {
  auto isSplit = [](int64_t queries, int64_t keys) {
    std::string q = "tensor<1x2x" + std::to_string(queries) + "x64xf32>",
                k = "tensor<1x2x" + std::to_string(keys) + "x64xf32>";
    std::string text = "func.func @main(%q: " + q + ", %k: " + k + ", %v: " + k + ") -> " + q +
                       " {\n  %none = apc.none\n  %y = \"apc.softmax_attention\"(%q, %k, %v, %none) : (" + q + ", " +
                       k + ", " + k + ", none) -> " + q + " loc(\"att\")\n  return %y : " + q + "\n}\n";
    return RecognizedModel(text).counts.shared == 1;
  };
  CHECK(isSplit(64, 1024)); // 1 MiB of keys and values
  CHECK_FALSE(isSplit(64, 1023));
  CHECK(isSplit(1024, 1025));
  CHECK_FALSE(isSplit(1024, 1024)); // as many bytes
}

TEST_CASE("ONNX's own attention is taken apart where its queries see all keys but for a mask over all of them") {
  auto opsOf = [](const std::string &arguments, const std::string &operands, const std::string &types,
                  const std::string &attributes = "") {
    std::string q = "tensor<1x8x4x64xf32>", k = "tensor<1x2x1024x64xf32>";
    std::string text = "func.func @main(%q: " + q + ", %k: " + k + ", %v: " + k + arguments + ") -> " + q +
                       " {\n  %none = apc.none\n  %y, %a, %b, %c = \"apc.attention\"(%q, %k, %v, " + operands + ") {" +
                       attributes + "} : (" + q + ", " + k + ", " + k + ", " + types + ") -> (" + q +
                       ", none, none, none) loc(\"att\")\n  return %y : " + q + "\n}\n";
    return RecognizedModel(text).names();
  };
  const std::vector<std::string> parts = {"softmax_attention_log_sum", "softmax_attention_by"}, whole = {"attention"};
  CHECK(opsOf("", "%none, %none, %none, %none", "none, none, none, none") == parts);
  std::string mask = ", %m: tensor<4x1024xi1>", masked = "%m, %none, %none, %none";
  CHECK(opsOf(mask, masked, "tensor<4x1024xi1>, none, none, none") == parts);
  // A mask of fewer keys hides those behind it; a causal mask and bounds of scores are the operator's own.
  std::string few = ", %m: tensor<4x512xi1>";
  CHECK(opsOf(few, masked, "tensor<4x512xi1>, none, none, none") == whole);
  CHECK(opsOf("", "%none, %none, %none, %none", "none, none, none, none", "is_causal = 1 : i64") == whole);
  CHECK(opsOf("", "%none, %none, %none, %none", "none, none, none, none", "softcap = 2.0 : f32") == whole);
}

TEST_CASE("normalisations of channels, over any dims and by a norm are taken apart where it can pay") {
  auto isApart = [](const std::string &name, const std::string &attributes, const std::string &parameters,
                    bool trains) {
    std::string data = "tensor<4x64x64x64xf32>", channel = ", tensor<64xf32>";
    std::string operands = parameters.empty() ? "" : ", %g, %g", types = parameters.empty() ? "" : channel + channel;
    std::string text =
        "func.func @main(%x: " + data + ", %w: tensor<64x64x3x3xf32>, %g: tensor<64xf32>) -> " + data +
        " {\n  %none = apc.none\n  %c = \"apc.conv\"(%x, %w, %none) {pads = array<i64: 1, 1, 1, 1>} : (" + data +
        ", tensor<64x64x3x3xf32>, none) -> " + data + "\n  %y = \"apc." + name + "\"(%c" + operands + ") {" +
        attributes + "} : (" + data + types + ") -> " + data + " loc(\"norm\")\n  return %y : " + data + "\n}\n";
    return RecognizedModel(text, trains).counts.shared == 1;
  };
  // Channels are cut by whole groups first, and no weight is as large as the rows.
  CHECK_FALSE(isApart("group_normalization", "num_groups = 32 : i64", "g", /*trains=*/false));
  CHECK_FALSE(isApart("group_normalization", "num_groups = 32 : i64", "g", /*trains=*/true));
  CHECK(isApart("group_normalization", "num_groups = 1 : i64", "g", /*trains=*/false)); // the convolution cuts channels
  CHECK_FALSE(isApart("instance_normalization", "", "g", /*trains=*/true));
  CHECK(isApart("mean_variance_normalization", "axes = array<i64: 0, 2, 3>", "", /*trains=*/false)); // images do
  CHECK_FALSE(isApart("mean_variance_normalization", "axes = array<i64: 2, 3>", "", /*trains=*/false));
  CHECK(isApart("lp_normalization", "axis = 1 : i64", "", /*trains=*/false));
}

// Models of given sizes: their parameters by closed forms, and that their parts are recognised.
#include "apc/Measure/Transformer.h"
#include "apc/IR/Apc.h"
#include "apc/IR/Ops/Attention/Attention.h"
#include "apc/IR/Program/Statistics.h"
#include "apc/Import/Import.h"
#include "apc/Interpret/Compare.h"
#include "apc/Interpret/DrawTensor.h"
#include "apc/Interpret/Run.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "ValueOf.h"

#include "mlir/IR/MLIRContext.h"

using namespace apc;

namespace {

struct Imported {
  std::shared_ptr<mlir::MLIRContext> context;
  ImportedModel model;
  TransformerShape shape;

  explicit Imported(const TransformerShape &shape,
                    std::shared_ptr<mlir::MLIRContext> known = std::make_shared<mlir::MLIRContext>())
      : context(std::move(known)), shape(shape) {
    ImportOptions options;
    options.dims["batch"] = 2;
    model = valueOf(importOnnxBytes(writeTransformer(shape), "made", options, *context));
  }

  /// By the importer, which has to agree with the closed forms.
  int64_t parameters() {
    const int64_t counted = statistics(*model.module).parameters;
    CHECK(countParameters(shape).all == static_cast<double>(counted));
    return counted;
  }
  /// Logits of random tokens by random weights, both drawn by their names.
  Tensor logits() {
    auto parameters = [](ParameterOp op) -> llvm::Expected<Tensor> {
      return drawTensor(op.getName(), llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType()));
    };
    auto main = model.module->lookupSymbol<mlir::func::FuncOp>("main");
    auto tokens = llvm::cast<mlir::RankedTensorType>(main.getArgumentTypes()[0]);
    return valueOf(run(*model.module, {drawTensor("tokens", tokens, shape.vocabulary)}, parameters)).front();
  }
  RecognizedComposites recognize() { return recognizeComposites(*model.module, /*trains=*/true); }
};

TransformerShape gpt() {
  TransformerShape shape;
  shape.layers = 3, shape.hidden = 64, shape.heads = shape.keyHeads = 4, shape.headSize = 16, shape.inner = 256;
  shape.vocabulary = 1000, shape.sequence = 32;
  return shape;
}

TransformerShape llama() {
  TransformerShape shape = gpt();
  shape.keyHeads = 2, shape.inner = 160;
  shape.activation = TransformerActivation::GatedSwish;
  shape.positions = TransformerPositions::Rotary;
  shape.hasRmsNorm = true;
  shape.hasBias = shape.isTied = false;
  return shape;
}

} // namespace

TEST_CASE("a GPT has 12 L h^2 + 13 L h + (V + s + 2) h parameters") {
  Imported model(gpt());
  CHECK(model.parameters() == 12 * 3 * 64 * 64 + 13 * 3 * 64 + (1000 + 32 + 2) * 64);
  RecognizedComposites found = model.recognize();
  CHECK(found.attention == 3);
}

TEST_CASE("a Llama has products of queries, keys, values and three of its inner size") {
  Imported model(llama());
  int64_t layer = 64 * 64 * 2 + 64 * 32 * 2 + 3 * 64 * 160 + 2 * 64;
  CHECK(model.parameters() == 3 * layer + 2 * 1000 * 64 + 64);
  RecognizedComposites found = model.recognize();
  CHECK(found.attention == 3);
  CHECK(found.rmsNorm == 7);
  CHECK(found.swish == 3);
  CHECK(found.rotation == 6);
}

TEST_CASE("attention of sequences of any length is causal") {
  for (int64_t sequence : {32, 2048, 65536, 65537, 131072, 1 << 20})
    for (TransformerShape shape : {gpt(), llama()}) {
      CAPTURE(sequence, shape.hasRmsNorm);
      shape.sequence = sequence;
      Imported model(shape);
      REQUIRE(model.recognize().attention == 3);
      model.model.module->walk([&](SoftmaxAttentionOp op) {
        mlir::FailureOr<FactorRule> rule = op.getRule();
        REQUIRE(mlir::succeeded(rule));
        REQUIRE(rule->attention);
        CHECK(rule->attention->causal);
        CHECK_FALSE(rule->attention->masked);
      });
    }
}

TEST_CASE("tables hold words, positions and, where they are not tied, logits") {
  CHECK(countParameters(gpt()).ofTables == (1000 + 32) * 64);
  CHECK(countParameters(llama()).ofTables == 2 * 1000 * 64);
}

TEST_CASE("heads may be wider than the rows of the model together") {
  TransformerShape shape = llama();
  shape.headSize = 32;
  Imported model(shape);
  int64_t layer = 64 * 128 * 2 + 64 * 64 * 2 + 3 * 64 * 160 + 2 * 64;
  CHECK(model.parameters() == 3 * layer + 2 * 1000 * 64 + 64);
  CHECK(model.recognize().attention == 3);
}

TEST_CASE("an encoder has a layer in front of its logits") {
  TransformerShape shape = gpt();
  shape.kind = TransformerKind::Encoder;
  Imported model(shape);
  int64_t head = 64 * 64 + 3 * 64;
  CHECK(model.parameters() == 12 * 3 * 64 * 64 + 13 * 3 * 64 + (1000 + 32 + 2) * 64 + head);
  CHECK(model.recognize().attention == 3);
}

TEST_CASE("a decoder that reads an encoder has a second attention") {
  TransformerShape shape = gpt();
  shape.kind = TransformerKind::EncoderDecoder;
  shape.decoderLayers = 2, shape.decoderSequence = 16;
  Imported model(shape);
  int64_t layer = 12 * 64 * 64 + 13 * 64, cross = 4 * 64 * 64 + 4 * 64 + 2 * 64;
  CHECK(model.parameters() == 5 * layer + 2 * cross + 1000 * 64 + (32 + 16) * 64 + 4 * 64);
  CHECK(model.recognize().attention == 3 + 2 * 2);
}

TEST_CASE("experts have weights of their own, a router, and one that all tokens pass") {
  TransformerShape shape = llama();
  shape.experts = 4, shape.chosenExperts = 2, shape.sharedInner = 48;
  Imported model(shape);
  int64_t layer = 64 * 64 * 2 + 64 * 32 * 2 + 2 * 64 + 4 * 3 * 64 * 160 + 64 * 4 + 3 * 64 * 48;
  CHECK(model.parameters() == 3 * layer + 2 * 1000 * 64 + 64);
}

TEST_CASE("experts that all tokens choose give one result, whichever way tokens come to them") {
  TransformerShape shape = llama();
  shape.layers = 1;
  shape.experts = shape.chosenExperts = 4;
  shape.dispatch = ExpertDispatch::OneHot;
  Imported oneHot(shape);
  Tensor expected = oneHot.logits();
  REQUIRE(largestMagnitude(expected) > 0);
  shape.dispatch = ExpertDispatch::ByIndex;
  for (int64_t parts : {1, 4}) {
    CAPTURE(parts);
    shape.routedParts = parts;
    CHECK(findDifference(Imported(shape, oneHot.context).logits(), expected, onnxTolerance(expected, /*numOps=*/8))
              .value_or("") == "");
  }
}

TEST_CASE("choices that fill no equal seats leave some empty") {
  TransformerShape shape = llama();
  shape.layers = 1;
  shape.experts = 6, shape.chosenExperts = 2; // 64 choices, 66 seats
  Imported made(shape);
  Tensor logits = made.logits();
  CHECK(llvm::ArrayRef<int64_t>(logits.dims) == llvm::ArrayRef<int64_t>{2, 32, 1000});
  CHECK(largestMagnitude(logits) > 0);
}

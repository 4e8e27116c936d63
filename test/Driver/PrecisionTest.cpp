// Values that weights and masters of a step in low precision begin with.
#include "../ValueOf.h"
#include "TinySteps.h"

#include "apc/Driver/ExecuteProgram.h"
#include "apc/Driver/GraphOfStep.h"
#include "apc/Driver/PlannedProgram.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"

#include <catch2/catch.hpp>

#include <cmath>

using namespace apc;

TEST_CASE("A master begins as the file's weight, the weight in bf16 as that rounded") {
  PlanRequest request = requestOf({.model = "tiny/mixer/model.onnx"});
  request.mode = StepMode::Train;
  request.loss = "cross-entropy";
  request.precision = PrecisionChoice::Bf16;
  PlannedProgram planned = valueOf(buildProgram(valueOf(planModel(request, controlOf()))));
  ModelData data = valueOf(ModelData::open(request.modelPath));
  ParameterSource begin = parametersOf(data, &planned.folded);
  unsigned masters = 0, rounded = 0;
  std::map<std::string, Tensor> held;
  for (ParameterOp parameter : mainOf(*planned.original).getOps<ParameterOp>())
    held[parameter.getName().str()] = valueOf(begin(parameter));
  for (const auto &[name, master] : held) {
    llvm::StringRef weight = name;
    if (!weight.consume_back(masterSuffix))
      continue;
    ++masters;
    Tensor file = valueOf(data.tensor(weight, *planned.context));
    CHECK(master.floats == file.floats);
    for (auto [own, wanted] : llvm::zip_equal(held.at(weight.str()).floats, file.floats)) {
      CHECK(std::abs(own - wanted) <= std::abs(wanted) * 0x1p-8); // bf16 keeps 8 bits
      rounded += own != wanted;
    }
  }
  CHECK(masters == 24);
  CHECK(rounded > 0);
}

/// Products of layers, forwards and for both gradients.
TEST_CASE("Under fp8 products of layers take 8 bits, attentions and products of logits 16") {
  struct Case {
    const char *model;
    size_t linears;
  };
  for (const Case &own : {Case{"gpt", 8}, Case{"llama", 14}}) {
    INFO(own.model);
    PlanRequest request = requestOfStep({.model = own.model, .precision = PrecisionChoice::Fp8});
    OpGraph graph = valueOf(graphAsRun(importedStep(request).graph, request));
    size_t narrow = 0, products = 0;
    for (auto [index, op] : llvm::enumerate(graph.ops)) {
      const FactorRule &rule = graph.ruleOf(OpId(index));
      narrow += op.format == NumberFormat::F8;
      products += rule.work == Work::Contraction && !rule.attention;
      CHECK(op.kernel.narrows.empty() == (op.format != NumberFormat::F8));
    }
    CHECK(narrow == 3 * own.linears);
    CHECK(products == narrow + 3); // of the logits
  }
}

// Text of ops, and what gradients of a step read.
#include "RecomputedSteps.h"

#include "../ValueOf.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Interpret/Run.h"

#include <catch2/catch.hpp>

namespace apc {

std::string ModelText::parameter(const std::string &name, const std::string &type) {
  return add("apc.parameter \"" + name + "\" \"initializer\" : " + type, name, type);
}

std::string ModelText::op(const std::string &kind, const std::string &name, const std::vector<std::string> &operands,
                          const std::string &attributes, const std::string &type) {
  std::string read, from;
  for (const std::string &operand : operands) {
    read += (read.empty() ? "%" : ", %") + operand;
    from += (from.empty() ? "" : ", ") + types.at(operand);
  }
  return add("\"apc." + kind + "\"(" + read + ") {" + attributes + "} : (" + from + ") -> " + type, name, type);
}

std::string ModelText::norm(const std::string &name, const std::string &x) {
  std::string scale = parameter(name + "_scale", vector), bias = parameter(name + "_bias", vector);
  std::string operands = "%" + x + ", %" + scale + ", %" + bias;
  body += "%" + name + ":3 = \"apc.layer_normalization\"(" + operands + ") : (" + activation + ", " + vector + ", " +
          vector + ") -> (" + activation + ", none, none) loc(\"" + name + "\")\n";
  types[name + "#0"] = activation;
  return name + "#0";
}

std::string ModelText::product(const std::string &name, const std::string &x) {
  return op("matmul", name, {x, parameter(name + "_weight", square)});
}

std::string ModelText::cast(const std::string &name, const std::string &x, const std::string &element) {
  const std::map<std::string, std::string> numbers = {{"f32", "1"}, {"i1", "9"}, {"f64", "11"}, {"bf16", "16"}};
  return op("cast", name, {x}, "to = " + numbers.at(element) + " : i64", "tensor<2x4x8x" + element + ">");
}

std::string ModelText::finish(const std::string &result) const {
  return "func.func @main(%x: " + std::string(activation) + ") -> " + types.at(result) + " {\n" + body + "return %" +
         result + " : " + types.at(result) + "\n}";
}

std::string ModelText::add(const std::string &text, const std::string &name, const std::string &type) {
  body += "%" + name + " = " + text + " loc(\"" + name + "\")\n";
  types[name] = type;
  return name;
}

std::string addLayer(ModelText &model, const std::string &x, const std::string &layer) {
  std::string normed = model.norm(layer + "norm1", x);
  std::string query = model.product(layer + "query", normed), key = model.product(layer + "key", normed);
  std::string turned =
      model.op("transpose", layer + "turned", {key}, "perm = array<i64: 0, 2, 1>", "tensor<2x8x4xf64>");
  std::string scores = model.op("matmul", layer + "scores", {query, turned}, "", "tensor<2x4x4xf64>");
  std::string weights = model.op("softmax", layer + "weights", {scores}, "axis = -1 : i64", "tensor<2x4x4xf64>");
  std::string value = model.product(layer + "value", normed);
  std::string mixed = model.op("matmul", layer + "mixed", {weights, value});
  std::string joined = model.op("add", layer + "joined", {x, model.product(layer + "out", mixed)});
  std::string again = model.norm(layer + "norm2", joined);
  std::string bias = model.parameter(layer + "bias", vector);
  std::string inner = model.op("add", layer + "inner", {model.product(layer + "up", again), bias});
  std::string active = model.op("gelu", layer + "active", {inner});
  return model.op("add", layer + "end", {joined, model.product(layer + "down", active)});
}

std::string layersText(unsigned count) {
  ModelText model;
  std::string x = "x";
  for (unsigned layer = 0; layer < count; ++layer)
    x = addLayer(model, x, "l" + std::to_string(layer) + "_");
  return model.finish(x);
}

Recomputing::Recomputing(const std::string &text, const RecomputeOf &how) : program(text) {
  TrainingOptions options;
  options.loss = "sum";
  options.recompute = how.policy;
  options.recomputedLayers = how.layers;
  options.recomputeRest = how.rest;
  options.returnsGradients = true;
  step = valueOf(buildTrainingStep(*program.module, options));
  PlanNames names = namePlan(mainOf(*step.module));
  for (auto &[op, name] : names.ops) {
    auto tie = op->getAttrOfType<mlir::StringAttr>(tieAttribute);
    bool isCopy = llvm::StringRef(name).ends_with(".recomputed");
    if (isCopy)
      CHECK(copies.insert(tie.getValue().str()).second);
    if (!tie)
      continue;
    for (mlir::Value operand : op->getOperands())
      if (mlir::Operation *maker = operand.getDefiningOp(); maker && names.ops.contains(maker))
        if (!maker->hasAttr(tieAttribute))
          kept.insert(names.ops.at(maker));
  }
}

std::vector<Tensor> Recomputing::run() const {
  std::vector<Tensor> inputs = program.inputs;
  mlir::Builder builder(program.context.get());
  inputs.push_back({{}, builder.getI64Type(), {1}, {}});
  inputs.push_back({{}, builder.getF32Type(), {}, {0.125}});
  return valueOf(apc::run(*step.module, inputs, [](ParameterOp parameter) -> llvm::Expected<Tensor> {
    Tensor tensor = zeros(llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType()));
    if (parameter.getSource() != zerosSource)
      for (auto [index, number] : llvm::enumerate(tensor.floats))
        number = 0.0625 * static_cast<double>((index * 7 + parameter.getName().size()) % 13) - 0.375;
    return tensor;
  }));
}

} // namespace apc

// Building training steps from text.
#include "TrainingPrograms.h"

#include "../ValueOf.h"
#include "GradientPrograms.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/Interpret/Run.h"

#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace apc {

namespace {

llvm::Expected<TrainingStep> build(const std::string &text, const TrainingOptions &options,
                                   mlir::MLIRContext &context) {
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  return buildTrainingStep(*module, options);
}

std::string textOf(mlir::Attribute attribute) {
  auto text = llvm::dyn_cast_if_present<mlir::StringAttr>(attribute);
  return text ? text.str() : "";
}

} // namespace

const char *const linearText = R"(
func.func @main(%x: tensor<2x4xf32> {apc.name = "x"}) -> (tensor<2x3xf32> {apc.name = "y"}) {
  %b = apc.parameter "B" "initializer" : tensor<3xf32>
  %w = apc.parameter "W" "initializer" : tensor<4x3xf32>
  %p = "apc.matmul"(%x, %w) : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32> loc("product")
  %y = "apc.add"(%p, %b) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32> loc("add")
  return %y : tensor<2x3xf32>
})";

std::string headText(const std::string &table, const std::string &head, const std::string &result) {
  std::string tableType = "tensor<" + table + "xf32>", headType = "tensor<" + head + "xf32>",
              resultType = "tensor<" + result + "xf32>";
  return "func.func @main(%ids: tensor<2xi64> {apc.name = \"ids\"}) -> (" + resultType + " {apc.name = \"y\"}) {\n" +
         "%t = apc.parameter \"table\" \"initializer\" : " + tableType + "\n" +
         "%h = apc.parameter \"head\" \"initializer\" : " + headType + "\n" + "%e = \"apc.gather\"(%t, %ids) : (" +
         tableType + ", tensor<2xi64>) -> tensor<2x4xf32> loc(\"embed\")\n" +
         "%y = \"apc.matmul\"(%e, %h) : (tensor<2x4xf32>, " + headType + ") -> " + resultType + " loc(\"y\")\n" +
         "return %y : " + resultType + "\n}";
}

std::string productText(const std::string &type) {
  std::string tensor = "tensor<" + type + ">";
  return "func.func @main(%x: " + tensor + " {apc.name = \"x\"}) -> (" + tensor + " {apc.name = \"y\"}) {\n" +
         "%w = apc.parameter \"W\" \"initializer\" : " + tensor + "\n" + "%y = \"apc.mul\"(%x, %w) : (" + tensor +
         ", " + tensor + ") -> " + tensor + " loc(\"y\")\n" + "return %y : " + tensor + "\n}";
}

Tensor vectorOf(std::vector<double> values, mlir::Type element) {
  return {{static_cast<int64_t>(values.size())}, element, {}, {values.begin(), values.end()}};
}

BuiltStep::BuiltStep(const std::string &text, const TrainingOptions &options)
    : context(makeContext()), step(valueOf(build(text, options, *context))) {}

mlir::func::FuncOp BuiltStep::main() const {
  auto function = step.module.get().lookupSymbol<mlir::func::FuncOp>("main");
  REQUIRE(function);
  return function;
}

std::vector<std::string> BuiltStep::argumentNames() const {
  std::vector<std::string> names;
  for (unsigned index = 0; index < main().getNumArguments(); ++index)
    names.push_back(textOf(main().getArgAttr(index, nameAttribute)));
  return names;
}

std::vector<std::string> BuiltStep::results() const {
  std::vector<std::string> lines;
  for (unsigned index = 0; index < main().getNumResults(); ++index) {
    std::string replaced = textOf(main().getResultAttr(index, replacesAttribute)),
                leader = textOf(main().getResultAttr(index, tieAttribute));
    lines.push_back(textOf(main().getResultAttr(index, nameAttribute)) +
                    (replaced.empty() ? "" : " for " + replaced + ", tied to " + leader));
  }
  return lines;
}

std::vector<std::string> BuiltStep::states() const {
  std::vector<std::string> lines;
  for (ParameterOp parameter : main().getOps<ParameterOp>())
    if (parameter.getSource() == zerosSource)
      lines.push_back(
          parameter.getName().str() + " " +
          llvm::join(llvm::map_range(dimsOf(parameter.getOutput()), [](int64_t dim) { return std::to_string(dim); }),
                     "x"));
  llvm::sort(lines);
  return lines;
}

std::vector<std::string> BuiltStep::trained() const {
  std::vector<std::string> names;
  for (const ParameterUse &use : step.parameters)
    if (use.isTrained)
      names.push_back(use.name);
  return names;
}

std::vector<std::string> BuiltStep::untrained() const {
  std::vector<std::string> lines;
  for (const ParameterUse &use : step.parameters)
    if (!use.isTrained)
      lines.push_back(use.name + " " + use.reason);
  return lines;
}

std::vector<std::string> BuiltStep::tiedTo(llvm::StringRef leader) const {
  std::vector<std::string> lines;
  for (mlir::Operation &op : main().front()) {
    if (textOf(op.getAttr(tieAttribute)) != leader || llvm::isa<ParameterOp>(op))
      continue;
    std::string line = op.getName().stripDialect().str() + ":";
    if (auto factors = op.getAttrOfType<mlir::ArrayAttr>(factorsAttribute))
      for (mlir::Attribute factor : factors)
        line += " " + (textOf(factor).empty() ? std::string("-") : textOf(factor));
    lines.push_back(line);
  }
  return lines;
}

std::vector<Tensor> BuiltStep::runOnce(double learningRate) const {
  std::vector<Tensor> inputs;
  for (mlir::BlockArgument argument : main().getArguments()) {
    Tensor &input = inputs.emplace_back(zeros(argument.getType()));
    input.floats.assign(input.floats.size(), 1);
    input.ints.assign(input.ints.size(), 1);
  }
  inputs.back().floats.assign(1, learningRate);
  return valueOf(run(*step.module, inputs, [](ParameterOp parameter) -> llvm::Expected<Tensor> {
    return zeros(parameter.getOutput().getType());
  }));
}

std::vector<Tensor> BuiltStep::runOnWaves() const {
  auto wave = [](mlir::Type type, double phase) {
    Tensor tensor = zeros(type);
    for (double &value : tensor.floats)
      value = std::sin(phase += 1);
    tensor.ints.assign(tensor.ints.size(), 1);
    roundToElement(tensor);
    return tensor;
  };
  std::vector<Tensor> inputs;
  for (mlir::BlockArgument argument : main().getArguments())
    inputs.push_back(wave(argument.getType(), 0));
  return valueOf(run(*step.module, inputs, [&](ParameterOp parameter) -> llvm::Expected<Tensor> {
    return wave(parameter.getOutput().getType(),
                static_cast<double>(parameter.getName().size() + parameter.getName().front()));
  }));
}

std::vector<Tensor> BuiltStep::advance(llvm::ArrayRef<Tensor> inputs, std::map<std::string, Tensor> &held) const {
  auto results = valueOf(run(*step.module, inputs, [&](ParameterOp parameter) -> llvm::Expected<Tensor> {
    auto found = held.find(parameter.getName().str());
    return found == held.end() ? zeros(parameter.getOutput().getType()) : found->second;
  }));
  for (auto [index, result] : llvm::enumerate(results))
    if (std::string replaced = textOf(main().getResultAttr(static_cast<unsigned>(index), replacesAttribute));
        !replaced.empty())
      held[replaced] = result;
  return results;
}

std::string refusalOf(const std::string &text, const TrainingOptions &options) {
  auto context = makeContext();
  llvm::Expected<TrainingStep> step = build(text, options, *context);
  if (step)
    FAIL("a step is built where a refusal is expected");
  auto [fault, message] = takeMessage(step.takeError());
  CHECK(fault == Fault::Input);
  return message;
}

std::string nameOfResult(mlir::Operation *op) {
  auto names = op->getAttrOfType<mlir::ArrayAttr>(valuesAttribute);
  return names && names.size() == 1 ? textOf(names[0]) : "";
}

} // namespace apc

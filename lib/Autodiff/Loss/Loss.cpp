// Losses: outputs of the model, or ops on an output.
#include "Loss.h"

#include "../NamedOp.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Gradient.h"
#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Ops/Loss/Loss.h"
#include "apc/IR/Ops/Movement/Movement.h"
#include "apc/IR/Ops/Reduction/Reduction.h"
#include "apc/Support/Error.h"
#include "apc/Support/SomeOf.h"

namespace apc {

int64_t numElements(mlir::Value value) { return llvm::cast<mlir::RankedTensorType>(value.getType()).getNumElements(); }

namespace {

/// Ops of a loss, each named after what it makes.
class LossBuilder {
public:
  LossBuilder(mlir::func::FuncOp main, mlir::Value output, llvm::StringRef name)
      : main(main), output(output), name(name), builder(main.getContext()) {
    builder.setInsertionPoint(main.front().getTerminator());
  }

  /// Minus the logarithm of the softmax over the last dim at each target, its mean.
  mlir::Value crossEntropy();
  mlir::Value meanSquare();
  mlir::Value sum();

private:
  /// Null where it is not known: a target has the dims of the output in their order, all or but the last.
  mlir::IntegerAttr batchDimOfOutput();
  mlir::Value addTarget(llvm::ArrayRef<int64_t> dims, mlir::Type element);
  template <typename Op>
  mlir::Value make(llvm::StringRef suffix, mlir::Type type, mlir::ValueRange operands,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  mlir::Value shaped(mlir::Value value, llvm::ArrayRef<int64_t> dims, llvm::StringRef suffix);
  mlir::Type scalarType() const {
    return mlir::RankedTensorType::get({}, mlir::getElementTypeOrSelf(output.getType()));
  }

  mlir::func::FuncOp main;
  mlir::Value output;
  llvm::StringRef name;
  mlir::OpBuilder builder;
};

mlir::IntegerAttr LossBuilder::batchDimOfOutput() {
  for (mlir::OpOperand &result : main.front().getTerminator()->getOpOperands())
    if (result.get() == output)
      return main.getResultAttrOfType<mlir::IntegerAttr>(result.getOperandNumber(), batchDimAttribute);
  return {};
}

mlir::Value LossBuilder::addTarget(llvm::ArrayRef<int64_t> dims, mlir::Type element) {
  unsigned index = main.getNumArguments();
  mlir::NamedAttrList attributes(builder.getNamedAttr(nameAttribute, builder.getStringAttr("target")));
  mlir::IntegerAttr batchDim = batchDimOfOutput();
  if (batchDim && batchDim.getInt() < static_cast<int64_t>(dims.size()))
    attributes.set(batchDimAttribute, batchDim);
  (void)main.insertArgument(index, mlir::RankedTensorType::get(dims, element),
                            attributes.getDictionary(main.getContext()), output.getLoc());
  return main.getArgument(index);
}

template <typename Op>
mlir::Value LossBuilder::make(llvm::StringRef suffix, mlir::Type type, mlir::ValueRange operands,
                              llvm::ArrayRef<mlir::NamedAttribute> attributes) {
  return makeNamed<Op>(builder, name + "." + suffix, type, operands, attributes);
}

mlir::Value LossBuilder::shaped(mlir::Value value, llvm::ArrayRef<int64_t> dims, llvm::StringRef suffix) {
  Tensor wanted{{static_cast<int64_t>(dims.size())}, builder.getI64Type(), {dims.begin(), dims.end()}, {}};
  mlir::Value list = ConstantOp::create(builder, output.getLoc(), wanted.toAttribute());
  return make<ReshapeOp>(suffix, mlir::RankedTensorType::get(dims, mlir::getElementTypeOrSelf(value)), {value, list},
                         builder.getNamedAttr("allowzero", builder.getI64IntegerAttr(1)));
}

mlir::Value LossBuilder::crossEntropy() {
  llvm::ArrayRef<int64_t> dims = dimsOf(output);
  mlir::Value scores = output, target = addTarget(dims.drop_back(), builder.getI64Type());
  if (dims.size() < 2) {
    scores = shaped(output, {1, dims.back()}, "scores");
    target = shaped(target, 1, "targets");
  }
  mlir::Value absent = NoneOp::create(builder, output.getLoc());
  const int64_t last = std::max<int64_t>(1, static_cast<int64_t>(dims.size()) - 1);
  return createCrossEntropy(builder, (name + ".cross_entropy").str(), {scores, target, absent}, {}, last);
}

mlir::Value LossBuilder::meanSquare() {
  mlir::Value target = addTarget(dimsOf(output), mlir::getElementTypeOrSelf(output));
  mlir::Value difference = make<SubOp>("error", output.getType(), {output, target});
  mlir::Value squares = make<MulOp>("squares", output.getType(), {difference, difference});
  mlir::Value absent = NoneOp::create(builder, output.getLoc());
  return make<ReduceMeanOp>("mse", scalarType(), {squares, absent},
                            builder.getNamedAttr("keepdims", builder.getI64IntegerAttr(0)));
}

mlir::Value LossBuilder::sum() {
  mlir::Value absent = NoneOp::create(builder, output.getLoc());
  return make<ReduceSumOp>("sum", scalarType(), {output, absent},
                           builder.getNamedAttr("keepdims", builder.getI64IntegerAttr(0)));
}

/// Some of the outputs with their types, and how many more there are.
std::string listOutputs(llvm::ArrayRef<std::string> names, mlir::ValueRange outputs) {
  constexpr size_t maxNamed = 8;
  std::vector<std::string> lines;
  for (auto [name, output] : llvm::zip_equal(names, outputs)) {
    std::string type;
    llvm::raw_string_ostream(type) << output.getType();
    lines.push_back("'" + name + "' " + type);
  }
  return someOf(lines, maxNamed);
}

/// The output called `name`, or the only one that `fits`.
llvm::Expected<std::pair<mlir::Value, std::string>> findOutput(mlir::func::FuncOp main, llvm::StringRef name,
                                                               bool (*fits)(mlir::Value), llvm::StringRef what) {
  PlanNames names = namePlan(main);
  mlir::OperandRange outputs = main.front().getTerminator()->getOperands();
  std::optional<std::pair<mlir::Value, std::string>> found;
  for (auto [own, output] : llvm::zip_equal(names.outputValues, outputs)) {
    if (!name.empty() ? own != name : !fits(output))
      continue;
    if (found)
      return inputError("several outputs are {0}: name the one to train on with --loss; outputs are {1}", what,
                        listOutputs(names.outputValues, outputs));
    found.emplace(output, own);
  }
  if (!found && name.empty())
    return inputError("no output is {0}: --loss cross-entropy:NAME, mse:NAME or sum:NAME makes a loss of the output "
                      "NAME, and --mode infer takes the forward pass alone; outputs are {1}",
                      what, listOutputs(names.outputValues, outputs));
  if (!found)
    return inputError("the model has no output '{0}' to train on; outputs are {1}", name,
                      listOutputs(names.outputValues, outputs));
  if (!fits(found->first))
    return inputError("output '{0}' is not {1}, as the loss needs it; outputs are {2}", found->second, what,
                      listOutputs(names.outputValues, outputs));
  return *found;
}

/// One row for each loss on an output.
struct LossKind {
  llvm::StringLiteral name, needs;
  bool (*fits)(mlir::Value);
  mlir::Value (LossBuilder::*build)();
};

const LossKind kinds[] = {
    {"cross-entropy", "floats of one dim or more",
     [](mlir::Value value) { return isFloat(value) && !dimsOf(value).empty(); }, &LossBuilder::crossEntropy},
    {"mse", "floats", [](mlir::Value value) { return isFloat(value); }, &LossBuilder::meanSquare},
    {"sum", "floats", [](mlir::Value value) { return isFloat(value); }, &LossBuilder::sum},
};

} // namespace

bool isLossOfOutput(llvm::StringRef wanted) {
  llvm::StringRef name = wanted.split(':').first;
  return llvm::any_of(kinds, [&](const LossKind &kind) { return kind.name == name; });
}

llvm::Expected<mlir::Value> findLoss(mlir::func::FuncOp main, llvm::StringRef wanted) {
  auto [kindName, outputName] = wanted.split(':');
  for (const LossKind &kind : kinds) {
    if (kindName != kind.name)
      continue;
    auto output = findOutput(main, outputName, kind.fits, kind.needs);
    if (!output)
      return output.takeError();
    LossBuilder loss(main, output->first, output->second);
    return (loss.*kind.build)();
  }
  auto output = findOutput(
      main, wanted, [](mlir::Value value) { return isFloat(value) && numElements(value) == 1; }, "one float");
  if (!output)
    return output.takeError();
  return output->first;
}

} // namespace apc

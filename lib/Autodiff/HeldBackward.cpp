// Gradients among the outputs of a model, by names, dims and what they are made from.
#include "apc/Autodiff/HeldBackward.h"

#include "Loss/Loss.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/Gradient.h"
#include "apc/IR/Program/PlanNames.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace apc {

namespace {

constexpr llvm::StringLiteral gradientWords[] = {"grad", "grads", "gradient", "gradients", "d"};
constexpr llvm::StringLiteral updateWords[] = {"new", "next", "updated"};

/// The words of `text`, which are runs of letters and digits.
llvm::SmallVector<std::string, 2> wordsOf(llvm::StringRef text) {
  llvm::SmallVector<std::string, 2> words(1);
  for (char letter : text)
    if (llvm::isAlnum(letter))
      words.back() += llvm::toLower(letter);
    else if (!words.back().empty())
      words.emplace_back();
  if (words.back().empty())
    words.pop_back();
  return words;
}

/// Is `output` the name `parameter` with words of `accepted` around it, one at least, and nothing else?
bool isNamedAfter(llvm::StringRef output, llvm::StringRef parameter, llvm::ArrayRef<llvm::StringLiteral> accepted) {
  for (size_t at = output.find(parameter); at != llvm::StringRef::npos; at = output.find(parameter, at + 1)) {
    llvm::SmallVector<std::string, 2> words = wordsOf(output.take_front(at));
    llvm::append_range(words, wordsOf(output.drop_front(at + parameter.size())));
    if (!words.empty() &&
        llvm::all_of(words, [&](const std::string &word) { return llvm::is_contained(accepted, word); }))
      return true;
  }
  return false;
}

/// The ops of `main` on the way to one of its outputs, and those made from them.
class LossChain {
public:
  LossChain(mlir::func::FuncOp main, mlir::Value loss) {
    llvm::SmallVector<mlir::Value> left{loss};
    while (!left.empty()) {
      mlir::Value value = left.pop_back_val();
      if (!values.insert(value).second)
        continue;
      if (mlir::Operation *op = value.getDefiningOp())
        llvm::append_range(left, op->getOperands());
    }
    for (mlir::Operation &op : main.front().without_terminator())
      if (llvm::any_of(op.getOperands(), [&](mlir::Value operand) { return reads(operand); }))
        readers.insert(op.result_begin(), op.result_end());
  }

  bool contains(mlir::Value value) const { return values.contains(value); }
  /// Is `value` made from values of the chain, and no part of it?
  bool isBehind(mlir::Value value) const { return !contains(value) && readers.contains(value); }

private:
  bool reads(mlir::Value operand) const {
    mlir::Operation *op = operand.getDefiningOp();
    bool isFixed = op && (op->getNumOperands() == 0 || isAbsent(operand)); // parameters and constants
    return readers.contains(operand) || (values.contains(operand) && !isFixed);
  }

  llvm::DenseSet<mlir::Value> values, readers;
};

class HeldFinder {
public:
  explicit HeldFinder(mlir::func::FuncOp main) : main(main), names(namePlan(main)) {
    for (ParameterOp parameter : main.getOps<ParameterOp>())
      if (isFloat(parameter.getOutput()))
        parameters.push_back(parameter);
    outputs = main.front().getTerminator()->getOperands();
  }

  std::optional<HeldBackward> find(llvm::StringRef loss);

private:
  std::optional<unsigned> findLossOutput(llvm::StringRef loss) const;
  void findNamed(HeldBackward &held, const LossChain &chain) const;
  void findOrdered(HeldBackward &held, const LossChain &chain) const;
  bool isNamedGradient(unsigned output, ParameterOp parameter) const {
    return dimsOf(outputs[output]) == dimsOf(parameter.getOutput()) &&
           isNamedAfter(names.outputValues[output], parameter.getName(), gradientWords);
  }

  mlir::func::FuncOp main;
  PlanNames names;
  std::vector<ParameterOp> parameters; ///< of floats
  mlir::OperandRange outputs{nullptr, 0};
};

std::optional<unsigned> HeldFinder::findLossOutput(llvm::StringRef loss) const {
  std::optional<unsigned> found;
  for (auto [index, output] : llvm::enumerate(outputs)) {
    auto position = static_cast<unsigned>(index);
    bool fits = isFloat(output) && llvm::cast<mlir::RankedTensorType>(output.getType()).getNumElements() == 1;
    bool isOther = loss.empty()
                       ? llvm::any_of(parameters, [&](ParameterOp each) { return isNamedGradient(position, each); })
                       : names.outputValues[index] != loss;
    if (!fits || isOther)
      continue;
    if (found)
      return std::nullopt;
    found = position;
  }
  return found;
}

void HeldFinder::findNamed(HeldBackward &held, const LossChain &chain) const {
  bool anyBehind = false;
  for (auto [index, output] : llvm::enumerate(outputs)) {
    auto position = static_cast<unsigned>(index);
    if (position == held.loss || !isFloat(output) || chain.contains(output))
      continue;
    auto gradient = llvm::find_if(parameters, [&](ParameterOp each) { return isNamedGradient(position, each); });
    auto update = llvm::find_if(parameters, [&](ParameterOp each) {
      return output.getType() == each.getOutput().getType() && chain.isBehind(output) &&
             isNamedAfter(names.outputValues[position], ParameterOp(each).getName(), updateWords);
    });
    if (gradient != parameters.end()) {
      held.gradients.push_back({position, ParameterOp(*gradient).getName().str(), false});
      anyBehind |= chain.isBehind(output);
    } else if (update != parameters.end()) {
      ParameterOp parameter = *update;
      held.updates.push_back({position, parameter.getName().str(), !chain.contains(parameter.getOutput())});
    }
  }
  if (!anyBehind)
    held.gradients.clear();
}

void HeldFinder::findOrdered(HeldBackward &held, const LossChain &chain) const {
  std::vector<ParameterOp> ofLoss;
  for (ParameterOp parameter : parameters)
    if (chain.contains(parameter.getOutput()) && !parameter->hasAttr(roleAttribute))
      ofLoss.push_back(parameter);
  if (ofLoss.size() < 2 || ofLoss.size() + 1 != outputs.size())
    return;
  std::vector<HeldOutput> found;
  for (auto [index, output] : llvm::enumerate(outputs)) {
    if (index == held.loss)
      continue;
    ParameterOp parameter = ofLoss[found.size()];
    if (!isFloat(output) || !chain.isBehind(output) || dimsOf(output) != dimsOf(parameter.getOutput()))
      return;
    found.push_back({static_cast<unsigned>(index), parameter.getName().str(), false});
  }
  held.rule = HeldRule::Order;
  held.gradients = std::move(found);
}

std::optional<HeldBackward> HeldFinder::find(llvm::StringRef loss) {
  std::optional<unsigned> output = findLossOutput(loss);
  if (!output)
    return std::nullopt;
  HeldBackward held;
  held.loss = *output;
  LossChain chain(main, outputs[*output]);
  findNamed(held, chain);
  if (held.gradients.empty() && held.updates.empty())
    findOrdered(held, chain);
  if (held.gradients.empty() && held.updates.empty())
    return std::nullopt;
  return held;
}

} // namespace

std::optional<HeldBackward> findHeldBackward(mlir::func::FuncOp main, llvm::StringRef loss) {
  bool hasOthers = main.getNumResults() > 1;
  if (!hasOthers || isLossOfOutput(loss))
    return std::nullopt;
  return HeldFinder(main).find(loss);
}

std::string describeHeld(mlir::func::FuncOp main, const HeldBackward &held) {
  llvm::ArrayRef<HeldOutput> outputs = held.updatesWeights() ? held.updates : held.gradients;
  return llvm::formatv(
      "outputs are {0} of {1}, by their {2}, as '{3}' of '{4}'", held.updatesWeights() ? "new values" : "gradients",
      counted(static_cast<int64_t>(outputs.size()), "parameter"), held.rule == HeldRule::Names ? "names" : "order",
      namePlan(main).outputValues[outputs.front().index], outputs.front().parameter);
}

double heldBackwardFlops(mlir::func::FuncOp main, unsigned loss) {
  LossChain chain(main, main.front().getTerminator()->getOperand(loss));
  double sum = 0;
  for (mlir::Operation &each : main.front().without_terminator()) {
    auto op = llvm::dyn_cast<OperatorInterface>(each);
    if (!op || each.getNumResults() == 0 ||
        llvm::any_of(each.getResults(), [&](mlir::Value result) { return chain.contains(result); }))
      continue;
    if (mlir::FailureOr<FactorRule> rule = op.getRule(); mlir::succeeded(rule))
      sum += rule->flops();
  }
  return sum;
}

} // namespace apc

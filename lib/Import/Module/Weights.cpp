// Weights by name and by use.
#include "Weights.h"

#include "apc/Support/Error.h"

#include "mlir/IR/TypeUtilities.h"

#include "llvm/Support/Regex.h"

#include <map>

namespace apc::onnx {

namespace {

enum class Evidence { None, Vector, Strong };

bool isReadOff(const DimFactors &dim, FactorId factor) { return llvm::is_contained(dim, factor); }

/// The first dim of the first operand that may be cut; a sequence, which recurrent ops may have in front, may not.
const DimFactors &batchDim(const FactorRule &rule) {
  const auto &dims = rule.operands[0].dims;
  auto isWhole = [&](FactorId factor) { return rule.factor(factor).whole; };
  auto found = llvm::find_if(dims, [&](const DimFactors &dim) { return llvm::none_of(dim, isWhole); });
  return found == dims.end() ? dims.front() : *found;
}

/// A weight of a contraction shares no factor with the batch of the first operand.
bool isContractionWeight(const FactorRule &rule, unsigned operand) {
  if (rule.work != Work::Contraction || operand == 0 || rule.operands[0].absent || rule.operands[0].dims.empty())
    return false;
  const DimFactors &leading = batchDim(rule);
  bool leadsResult = llvm::any_of(leading, [&](FactorId factor) { return !rule.isReduction(factor); });
  for (const DimFactors &dim : rule.operands[operand].dims)
    for (FactorId factor : dim)
      if (leadsResult && isReadOff(leading, factor))
        return false;
  return !rule.operands[operand].dims.empty();
}

bool isVector(llvm::ArrayRef<int64_t> dims) {
  return llvm::count_if(dims, [](int64_t dim) { return dim != 1; }) == 1;
}

/// The only operand of `op` that is neither constant nor absent is operand `index`, and its elements pass through as
/// they are.
bool passesThrough(mlir::Operation *op, unsigned index, const FactorRule &rule) {
  for (mlir::OpOperand &operand : op->getOpOperands())
    if (operand.getOperandNumber() != index && !isAbsent(operand.get()) && !constantOf(operand.get()))
      return false;
  auto from = shapeOf(op->getOperand(index)), to = op->getNumResults() == 1 ? shapeOf(op->getResult(0)) : std::nullopt;
  return from && to && from->numElements() == to->numElements() &&
         (rule.flops() == 0 || from->elementBits != to->elementBits);
}

Evidence evidenceOf(mlir::Value value, unsigned depth = 0) {
  constexpr unsigned maxDepth = 4;
  Evidence best = Evidence::None;
  for (mlir::OpOperand &use : value.getUses()) {
    auto op = llvm::dyn_cast<OperatorInterface>(use.getOwner());
    if (!op)
      continue;
    auto rule = op.getRule();
    unsigned index = use.getOperandNumber();
    if (mlir::failed(rule) || index >= rule->operands.size())
      continue;
    if (isContractionWeight(*rule, index) ||
        (index == 0 && rule->operands[0].sparse && use.getOwner()->getNumOperands() > 1))
      return Evidence::Strong;
    if (depth < maxDepth && passesThrough(use.getOwner(), index, *rule))
      best = std::max(best, evidenceOf(use.getOwner()->getResult(0), depth + 1));
    mlir::Value first = use.getOwner()->getOperand(0);
    if (index > 0 && rule->work == Work::Stream && !isAbsent(first) && isVector(dimsOf(value)) &&
        shapeOf(first)->numElements() > shapeOf(value)->numElements())
      best = std::max(best, Evidence::Vector);
  }
  return best;
}

bool mayBeWeight(mlir::Value value) { return !isAbsent(value) && !isCountingType(mlir::getElementTypeOrSelf(value)); }

std::string listNames(llvm::ArrayRef<std::string> names) {
  constexpr size_t maxNamed = 4;
  std::string text;
  for (const std::string &name : names.take_front(maxNamed))
    text += (text.empty() ? "'" : ", '") + name + "'";
  return names.size() > maxNamed ? text + ", ..." : text;
}

void moveToParameters(ImportState &state, llvm::ArrayRef<bool> isWeight) {
  std::vector<std::string> kept, moved;
  llvm::BitVector erased(state.body->getNumArguments());
  for (mlir::BlockArgument argument : state.body->getArguments()) {
    unsigned index = argument.getArgNumber();
    std::string &name = state.inputNames[index];
    if (!isWeight[index]) {
      kept.push_back(std::move(name));
      continue;
    }
    erased.set(index);
    argument.replaceAllUsesWith(
        state.addParameter(llvm::cast<mlir::RankedTensorType>(argument.getType()), name, "input"));
    moved.push_back(std::move(name));
  }
  state.body->eraseArguments(erased);
  state.inputNames = std::move(kept);
  if (!moved.empty())
    state.report.notes.push_back(
        llvm::formatv("{0} graph input(s) are taken for parameters: {1}; say --parameters REGEX to choose",
                      moved.size(), listNames(moved)));
}

bool isMadeFromStoredShape(const ImportState &state, mlir::Operation &op) {
  if (op.getNumOperands() != 1 || op.getNumResults() != 1 ||
      !state.storedConstants.contains(op.getOperand(0).getDefiningOp()))
    return false;
  auto ints = constantInts(op.getOperand(0));
  return ints && llvm::ArrayRef(*ints) == dimsOf(op.getResult(0));
}

/// A constant that is used as a weight, unless only some weight beside it makes it one (`Evidence::Vector`).
struct Candidate {
  mlir::Value value;
  Evidence evidence;
};

llvm::SmallVector<Candidate> findCandidates(const ImportState &state) {
  llvm::SmallVector<Candidate> candidates;
  for (mlir::Operation &op : *state.body) {
    bool isStored = op.hasAttr(valuesAttribute) && state.storedConstants.contains(&op);
    if ((!isStored && !isMadeFromStoredShape(state, op)) || op.use_empty())
      continue;
    mlir::Value value = op.getResult(0);
    if (!mayBeWeight(value) || shapeOf(value)->numElements() <= 1)
      continue;
    Evidence evidence = evidenceOf(value);
    if (evidence != Evidence::None)
      candidates.push_back({value, evidence});
  }
  return candidates;
}

} // namespace

void noteTiedCopies(ImportState &state) {
  std::map<std::pair<int64_t, int64_t>, llvm::StringRef> tables;
  llvm::SmallVector<ParameterOp> copies;
  for (auto parameter : state.body->getOps<ParameterOp>()) {
    llvm::ArrayRef<int64_t> dims = dimsOf(parameter.getOutput());
    if (dims.size() != 2)
      continue;
    if (parameter.getName().starts_with("onnx::")) {
      if (!state.options.tied.count(parameter.getName().str()))
        copies.push_back(parameter);
    } else if (evidenceOf(parameter.getOutput()) == Evidence::Strong)
      tables.try_emplace({dims[1], dims[0]}, parameter.getName());
  }
  for (ParameterOp copy : copies) {
    llvm::ArrayRef<int64_t> dims = dimsOf(copy.getOutput());
    auto table = tables.find({dims[0], dims[1]});
    // Square and small matrices match by chance.
    if (table != tables.end() && std::max(dims[0], dims[1]) >= 8 * std::min(dims[0], dims[1]))
      state.report.notes.push_back(llvm::formatv("'{0}' may be a transposed copy of '{1}' (tied weights that the "
                                                 "exporter stored twice): {2} parameters are then "
                                                 "counted twice",
                                                 copy.getName(), table->second, dims[0] * dims[1]));
  }
  state.takeDiagnostic();
}

llvm::Error findInputWeights(ImportState &state, llvm::ArrayRef<bool> symbolic) {
  llvm::SmallVector<bool> isWeight(state.inputNames.size());
  if (state.options.parameters) {
    llvm::Regex pattern("^(" + *state.options.parameters + ")$");
    std::string problem;
    if (!pattern.isValid(problem))
      return inputError("--parameters '{0}' is no regular expression: {1}", *state.options.parameters, problem);
    for (auto [index, name] : llvm::enumerate(state.inputNames))
      isWeight[index] = pattern.match(name);
    moveToParameters(state, isWeight);
    return llvm::Error::success();
  }
  llvm::SmallVector<bool> isVectorOnly(state.inputNames.size());
  for (auto [index, argument] : llvm::enumerate(state.body->getArguments())) {
    if (symbolic[index] || !mayBeWeight(argument))
      continue;
    isWeight[index] = isWeightName(state.inputNames[index]);
    if (isWeight[index] || index == 0)
      continue;
    Evidence evidence = evidenceOf(argument);
    isWeight[index] = evidence == Evidence::Strong;
    isVectorOnly[index] = evidence == Evidence::Vector;
  }
  if (llvm::is_contained(isWeight, true))
    for (auto [weight, vector] : llvm::zip_equal(isWeight, isVectorOnly))
      weight |= vector;
  moveToParameters(state, isWeight);
  state.takeDiagnostic();
  return llvm::Error::success();
}

/// Stored integers, of which `op` makes as many floats: quantized weights.
static bool dequantizesStored(const ImportState &state, mlir::Operation *op) {
  if (op->getNumResults() != 1 || !mayBeWeight(op->getResult(0)) || op->getNumOperands() == 0)
    return false;
  mlir::Value first = op->getOperand(0);
  return !isAbsent(first) && !mayBeWeight(first) && state.storedConstants.contains(first.getDefiningOp()) &&
         shapeOf(first) && shapeOf(first)->dims == shapeOf(op->getResult(0))->dims;
}

bool rearrangesStored(const ImportState &state, mlir::Operation *op) {
  if (dequantizesStored(state, op))
    return true;
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  int64_t numStored = 0;
  std::optional<unsigned> bits;
  for (mlir::Value operand : op->getOperands()) {
    if (isAbsent(operand) || !mayBeWeight(operand) || shapeOf(operand)->numElements() <= 1)
      continue;
    if (!interface || !state.storedConstants.contains(operand.getDefiningOp()))
      return false;
    numStored += shapeOf(operand)->numElements();
    bits = shapeOf(operand)->elementBits;
  }
  if (!bits) // of scalars
    return false;
  auto rule = interface.getRule();
  return mlir::succeeded(rule) && llvm::all_of(op->getResults(), [&](mlir::Value result) {
           auto shape = shapeOf(result);
           return shape && shape->numElements() <= numStored && (rule->flops() == 0 || shape->elementBits != *bits);
         });
}

void findConstantWeights(ImportState &state) {
  llvm::SmallVector<Candidate> candidates = findCandidates(state);
  if (llvm::none_of(candidates, [](const Candidate &candidate) { return candidate.evidence == Evidence::Strong; }))
    return;
  std::vector<std::string> names;
  for (const Candidate &candidate : candidates) {
    mlir::Value value = candidate.value;
    mlir::Operation *op = value.getDefiningOp();
    names.push_back(
        llvm::cast<mlir::StringAttr>(op->getAttrOfType<mlir::ArrayAttr>(valuesAttribute)[0]).getValue().str());
    mlir::Value parameter = state.addParameter(llvm::cast<mlir::RankedTensorType>(value.getType()), names.back(),
                                               llvm::isa<ConstantOp>(op) ? "initializer" : "fill");
    value.replaceAllUsesWith(parameter);
    if (mlir::DenseElementsAttr data = constantOf(value))
      state.folded.try_emplace(names.back(), data);
  }
  state.report.notes.push_back(
      llvm::formatv("{0} constant(s) are taken for parameters: {1}; say --freeze REGEX to keep "
                    "them as they are",
                    names.size(), listNames(names)));
  state.takeDiagnostic();
}

} // namespace apc::onnx

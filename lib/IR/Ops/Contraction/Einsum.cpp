// Einsum: from the equation to the text of a rule.
#include "apc/IR/Ops/Contraction/Contraction.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

namespace apc {

namespace {

/// The names of one tensor's dims: "i", "j"; the dims of an ellipsis are "e0", "e1", ... aligned at the end.
using Term = llvm::SmallVector<std::string, 6>;

/// An equation bound to the numbers of dims of its operands.
class Equation {
public:
  /// Empty after an error at `op`.
  static std::optional<Equation> parse(mlir::Operation *op, llvm::StringRef text);

  std::string rule() const;
  /// True when a label of the operands is not in the result.
  bool sums() const;

private:
  explicit Equation(mlir::Operation *op) : op(op) {}
  bool fail(const llvm::Twine &message) const { return op->emitOpError(message), false; }
  bool readInput(llvm::StringRef text, unsigned operand);
  bool readOutput(llvm::StringRef text);
  void implyOutput();
  bool expand(llvm::StringRef text, size_t numEllipsis, llvm::StringRef place, Term &term) const;
  bool bindSizes();
  std::string textOf(const Term &term, unsigned operand) const;

  mlir::Operation *op;
  size_t maxEllipsis = 0;
  llvm::SmallVector<Term, 3> inputs;
  Term output;
  std::map<std::string, int64_t> sizes;
};

size_t numLabels(llvm::StringRef text) { return llvm::count_if(text, llvm::isAlpha); }

bool Equation::expand(llvm::StringRef text, size_t numEllipsis, llvm::StringRef place, Term &term) const {
  bool hasEllipsis = false;
  while (!text.empty()) {
    if (text.consume_front("...")) {
      if (std::exchange(hasEllipsis, true))
        return fail(place + " of the equation has two ellipses; one is accepted");
      for (size_t i = 0; i < numEllipsis; ++i)
        term.push_back("e" + std::to_string(maxEllipsis - numEllipsis + i));
      continue;
    }
    if (!llvm::isAlpha(text.front()))
      return fail("equation has '" + text.take_front() + "'; letters, '...', ',' and '->' are accepted");
    term.push_back(text.take_front().str());
    text = text.drop_front();
  }
  return true;
}

bool Equation::readInput(llvm::StringRef text, unsigned operand) {
  size_t numDims = dimsOf(op->getOperand(operand)).size(), labels = numLabels(text);
  bool fits = text.contains("...") ? labels <= numDims : labels == numDims;
  if (!fits)
    return fail("operand " + llvm::Twine(operand) + " has " + llvm::Twine(numDims) +
                " dims, but the equation gives it '" + text + "'");
  inputs.emplace_back();
  return expand(text, numDims - labels, "operand " + std::to_string(operand), inputs.back());
}

bool Equation::readOutput(llvm::StringRef text) {
  if (!expand(text, maxEllipsis, "the result", output))
    return false;
  for (size_t i = 0; i < output.size(); ++i) {
    if (!sizes.count(output[i]))
      return fail("label '" + output[i] + "' of the result is in no operand of the equation");
    if (llvm::is_contained(llvm::ArrayRef<std::string>(output).take_front(i), output[i]))
      return fail("label '" + output[i] + "' stands twice in the result of the equation");
  }
  return true;
}

/// Without "->": the ellipsis, then the labels that stand once, in alphabetical order.
void Equation::implyOutput() {
  std::map<std::string, unsigned> counts;
  for (const Term &term : inputs)
    for (const std::string &label : term)
      ++counts[label];
  for (size_t i = 0; i < maxEllipsis; ++i)
    output.push_back("e" + std::to_string(i));
  for (const auto &[label, count] : counts)
    if (label.size() == 1 && count == 1)
      output.push_back(label);
}

/// The extent of each label; 1 broadcasts.
bool Equation::bindSizes() {
  for (auto [operand, term] : llvm::enumerate(inputs))
    for (auto [label, extent] : llvm::zip_equal(term, dimsOf(op->getOperand(operand)))) {
      int64_t &size = sizes.try_emplace(label, extent).first->second;
      if (size != extent && size != 1 && extent != 1)
        return fail("label '" + label + "' of the equation is " + llvm::Twine(size) + " and " + llvm::Twine(extent));
      size = size == 1 ? extent : size;
    }
  return true;
}

std::optional<Equation> Equation::parse(mlir::Operation *op, llvm::StringRef text) {
  std::string compact;
  llvm::copy_if(text, std::back_inserter(compact), [](char c) { return c != ' '; });
  auto [left, right] = llvm::StringRef(compact).split("->");
  llvm::SmallVector<llvm::StringRef> terms;
  left.split(terms, ',');
  Equation equation(op);
  if (terms.size() != op->getNumOperands()) {
    equation.fail("equation '" + text + "' has " + llvm::Twine(terms.size()) + " operands, but " +
                  llvm::Twine(op->getNumOperands()) + " are given");
    return std::nullopt;
  }
  for (auto [operand, term] : llvm::enumerate(terms)) {
    size_t numDims = dimsOf(op->getOperand(operand)).size(), labels = numLabels(term);
    if (term.contains("...") && labels < numDims)
      equation.maxEllipsis = std::max(equation.maxEllipsis, numDims - labels);
  }
  for (auto [operand, term] : llvm::enumerate(terms))
    if (!equation.readInput(term, operand))
      return std::nullopt;
  if (!equation.bindSizes())
    return std::nullopt;
  if (!llvm::StringRef(compact).contains("->"))
    equation.implyOutput();
  else if (!equation.readOutput(right))
    return std::nullopt;
  return equation;
}

bool Equation::sums() const {
  return llvm::any_of(sizes, [&](const auto &entry) { return !llvm::is_contained(output, entry.first); });
}

std::string Equation::textOf(const Term &term, unsigned operand) const {
  std::string text;
  for (auto [label, extent] : llvm::zip_equal(term, dimsOf(op->getOperand(operand)))) {
    // A diagonal walks two dims at once, so no device may hold less than all of both.
    bool diagonal = llvm::count(term, label) > 1;
    text += extent == 1 && sizes.at(label) != 1 ? " 1" : (diagonal ? " !" : " ") + label;
  }
  return text;
}

std::string Equation::rule() const {
  // A lone scalar has no dims to write down.
  if (inputs.size() == 1 && inputs.front().empty())
    return "... -> ...";
  std::string text;
  for (auto [operand, term] : llvm::enumerate(inputs))
    text += (operand == 0 ? "" : ",") + textOf(term, operand);
  text += " ->";
  for (const std::string &label : output)
    text += " " + label;
  return text;
}

} // namespace

mlir::LogicalResult EinsumOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  std::optional<Equation> equation = Equation::parse(*this, getEquation());
  if (!equation)
    return mlir::failure();
  return inferTypesFromRule(*this, equation->rule(), operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> EinsumOp::getRule() {
  std::optional<Equation> equation = Equation::parse(*this, getEquation());
  if (!equation)
    return mlir::failure();
  // Products of all operands for each point, and one addition where points are summed.
  bool sums = equation->sums();
  double flops = static_cast<double>(getNumOperands()) - 1 + (sums ? 1 : 0);
  RuleTraits traits{sums && getNumOperands() > 1 ? Work::Contraction : Work::Stream, flops, {}, {}};
  if (getNumOperands() == 1)
    traits.linear = {{0}};
  return bindRule(*this, equation->rule(), traits);
}

} // namespace apc

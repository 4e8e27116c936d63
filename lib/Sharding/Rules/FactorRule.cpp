// Factor rules: what is read off them, their text form, and the builder.
#include "apc/Sharding/FactorRule.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace apc {

namespace {

bool contains(llvm::ArrayRef<RuleTensor> tensors, FactorId id) {
  return llvm::any_of(tensors, [&](const RuleTensor &tensor) {
    return llvm::any_of(tensor.dims, [&](const DimFactors &dim) { return llvm::is_contained(dim, id); });
  });
}

TensorShape shapeOf(const FactorRule &rule, const RuleTensor &tensor) {
  TensorShape shape;
  shape.elementBits = tensor.elementBits;
  for (const DimFactors &dim : tensor.dims)
    shape.dims.push_back(rule.dimSize(dim));
  return shape;
}

/// `1` for a dim of no factor, `m`, or `(h d)`.
void printDim(llvm::raw_ostream &os, const FactorRule &rule, const DimFactors &dim) {
  if (dim.empty()) {
    os << '1';
    return;
  }
  os << (dim.size() > 1 ? "(" : "");
  llvm::interleave(dim, os, [&](FactorId id) { os << rule.factor(id).name; }, " ");
  os << (dim.size() > 1 ? ")" : "");
}

void printTensors(llvm::raw_ostream &os, const FactorRule &rule, llvm::ArrayRef<RuleTensor> tensors) {
  llvm::interleave(
      tensors, os,
      [&](const RuleTensor &tensor) {
        if (tensor.absent)
          os << '_';
        llvm::interleave(
            llvm::enumerate(tensor.dims), os,
            [&](auto dim) {
              printDim(os, rule, dim.value());
              os << partsText(partsOf(tensor.parted, static_cast<unsigned>(dim.index())));
            },
            " ");
      },
      ", ");
}

} // namespace

bool FactorRule::isReduction(FactorId id) const { return contains(operands, id) && !contains(results, id); }

bool FactorRule::isRearrangement() const {
  if (work != Work::Stream || flopsPerPoint != 0 || operands.size() != 1 || operands[0].absent)
    return false;
  const RuleTensor &operand = operands[0];
  for (const RuleTensor &result : results) {
    if (result.absent || result.dims.size() != operand.dims.size() || result.elementBits != operand.elementBits)
      return false;
    if (results.size() == 1 && !std::is_permutation(result.dims.begin(), result.dims.end(), operand.dims.begin()))
      return false;
  }
  return true;
}

double FactorRule::numPoints() const {
  double points = 1;
  for (const Factor &factor : factors)
    points *= static_cast<double>(factor.size);
  return points;
}

int64_t FactorRule::dimSize(const DimFactors &dim) const {
  int64_t size = 1;
  for (FactorId id : dim)
    size *= factor(id).size;
  return size;
}

TensorShape FactorRule::operandShape(unsigned index) const { return shapeOf(*this, operands[index]); }

TensorShape FactorRule::resultShape(unsigned index) const { return shapeOf(*this, results[index]); }

std::string FactorRule::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  printTensors(os, *this, operands);
  os << (operands.empty() ? "-> " : " -> ");
  printTensors(os, *this, results);
  os << " {";
  for (unsigned i = 0; i < numFactors(); ++i) {
    os << (i == 0 ? "" : ", ") << factors[i].name << '=' << factors[i].size;
    if (factors[i].whole)
      os << " !";
    else if (isReduction(FactorId(i)))
      os << ' ' << combinerName(factors[i].combiner);
  }
  os << '}';
  if (!linear.empty()) {
    os << " linear={";
    llvm::interleave(linear, os, [&](const auto &group) { llvm::interleave(group, os, " "); }, "|");
    os << '}';
  }
  if (flopsPerPoint != 0)
    os << " flops=" << llvm::format("%g", flopsPerPoint);
  if (attention)
    os << " attention={d=" << attention->headSize << " t=" << attention->keys << (attention->causal ? " causal" : "")
       << (attention->masked ? " masked}" : "}");
  if (steps > 1)
    os << " steps=" << steps;
  return text;
}

void cutInsideParts(FactorRule &rule, FactorId factor, llvm::ArrayRef<int64_t> sizes) {
  auto mark = [&](llvm::MutableArrayRef<RuleTensor> tensors) {
    for (RuleTensor &tensor : tensors)
      for (auto [dim, factors] : llvm::enumerate(tensor.dims))
        if (factors.size() == 1 && factors.front() == factor)
          setParts(tensor.parted, static_cast<unsigned>(dim), sizes);
  };
  mark(rule.operands);
  mark(rule.results);
}

FactorId FactorRuleBuilder::addFactor(llvm::StringRef name, int64_t size) {
  Factor factor;
  factor.name = name.str();
  factor.size = size;
  rule.factors.push_back(std::move(factor));
  return FactorId(rule.factors.size() - 1);
}

FactorId FactorRuleBuilder::addWhole(llvm::StringRef name, int64_t size) {
  FactorId id = addFactor(name, size);
  rule.factors[id.index()].whole = true;
  return id;
}

FactorId FactorRuleBuilder::addReduction(llvm::StringRef name, int64_t size, Combiner combiner) {
  FactorId id = addFactor(name, size);
  rule.factors[id.index()].combiner = combiner;
  return id;
}

llvm::SmallVector<DimFactors, 4> FactorRuleBuilder::addFactors(llvm::StringRef prefix, llvm::ArrayRef<int64_t> dims) {
  llvm::SmallVector<DimFactors, 4> result;
  for (size_t i = 0; i < dims.size(); ++i)
    result.push_back({addFactor((prefix + llvm::Twine(i)).str(), dims[i])});
  return result;
}

void FactorRuleBuilder::addOperand(llvm::SmallVector<DimFactors, 4> dims, unsigned elementBits) {
  RuleTensor tensor;
  tensor.dims = std::move(dims);
  tensor.elementBits = elementBits;
  rule.operands.push_back(std::move(tensor));
}

void FactorRuleBuilder::addResult(llvm::SmallVector<DimFactors, 4> dims, unsigned elementBits) {
  RuleTensor tensor;
  tensor.dims = std::move(dims);
  tensor.elementBits = elementBits;
  rule.results.push_back(std::move(tensor));
}

llvm::SmallVector<DimFactors, 4> FactorRuleBuilder::addFactorsApart(llvm::ArrayRef<int64_t> sizes) {
  llvm::SmallVector<DimFactors, 4> dims;
  for (int64_t size : sizes) {
    dims.push_back({addWhole("w" + std::to_string(rule.factors.size()), size)});
    pointsApart *= static_cast<double>(std::max<int64_t>(size, 1));
  }
  return dims;
}

void FactorRuleBuilder::addReplicatedOperand(const TensorShape &shape) {
  addOperand(addFactorsApart(shape.dims), shape.elementBits);
}

void FactorRuleBuilder::addReplicatedResult(const TensorShape &shape) {
  addResult(addFactorsApart(shape.dims), shape.elementBits);
}

void FactorRuleBuilder::addAbsentOperand() {
  RuleTensor tensor;
  tensor.absent = true;
  rule.operands.push_back(std::move(tensor));
}

void FactorRuleBuilder::addAbsentResult() {
  RuleTensor tensor;
  tensor.absent = true;
  rule.results.push_back(std::move(tensor));
}

void FactorRuleBuilder::addLinear(llvm::SmallVector<unsigned, 2> operands) {
  rule.linear.push_back(std::move(operands));
}

void FactorRuleBuilder::setFlopsPerPoint(double flops) { rule.flopsPerPoint = flops; }

void FactorRuleBuilder::setWork(Work work) { rule.work = work; }
void FactorRuleBuilder::setAttention(FusedAttention attention) {
  rule.work = Work::Contraction;
  rule.attention = std::move(attention);
}

void FactorRuleBuilder::setSteps(int64_t steps) { rule.steps = steps; }

void FactorRuleBuilder::markSparse() { rule.operands.back().sparse = true; }

FactorRule FactorRuleBuilder::take() {
  rule.flopsPerPoint /= pointsApart;
  return std::move(rule);
}

} // namespace apc

// Contractions whose rule text depends on attributes or on the number of dims.
#include "../Attributes.h"
#include "apc/IR/Ops/Contraction/Contraction.h"

namespace apc {

namespace {

/// How matMulRule writes one operand: "... m k" in pieces.
struct MatMulText {
  std::string a, b, y;
  std::string str() const { return a + ", " + b + " -> " + y; }
};

MatMulText matMulText(size_t numDimsA, size_t numDimsB) {
  if (numDimsA == 1 && numDimsB == 1)
    return {"k", "k", ""};
  if (numDimsA == 1)
    return {"k", "... k n", "... n"};
  return numDimsB == 1 ? MatMulText{"... m k", "k", "... m"} : MatMulText{"... m k", "... k n", "... m n"};
}

/// A scale or zero point beside a matrix whose own factor is `name`: a scalar or [1] is whole, [M] has the factor, and
/// [..., M, 1] (or [..., 1, N]) has it where its extent is not 1.
std::string parameterText(mlir::Value value, llvm::StringRef name, bool beforeUnit) {
  llvm::ArrayRef<int64_t> dims = dimsOf(value);
  if (dims.empty() || llvm::all_of(dims, [](int64_t dim) { return dim == 1; }))
    return "_";
  if (dims.size() == 1)
    return name.str();
  return ("... " + (beforeUnit ? name + " 1" : "1 " + name)).str();
}

std::string scaleA(mlir::Value value) { return parameterText(value, "m", /*beforeUnit=*/true); }
std::string scaleB(mlir::Value value) { return parameterText(value, "n", /*beforeUnit=*/false); }

} // namespace

std::string matMulRule(mlir::Operation *op) {
  return matMulText(dimsOf(op->getOperand(0)).size(), dimsOf(op->getOperand(1)).size()).str();
}

std::string gemmRule(mlir::Operation *op, bool transposeA, bool transposeB, bool wholeK) {
  std::string k = wholeK ? "!k" : "k";
  std::string text = (transposeA ? k + " m, " : "m " + k + ", ") + (transposeB ? "n " + k + ", " : k + " n, ");
  llvm::ArrayRef<int64_t> a = dimsOf(op->getOperand(0)), b = dimsOf(op->getOperand(1)), c = dimsOf(op->getOperand(2));
  if (a.size() == 2 && b.size() == 2 && c.size() <= 2) {
    int64_t extents[2] = {a[transposeA ? 1 : 0], b[transposeB ? 0 : 1]};
    const char *names[2] = {"m ", "n "};
    for (size_t i = 0; i < c.size(); ++i) {
      size_t position = 2 - c.size() + i;
      text += c[i] == 1 && extents[position] != 1 ? "1 " : names[position];
    }
  }
  return text + "-> m n";
}

namespace {

/// One operand of FusedMatMul: `first` and `second` are its matrix factors once transposed back ("m", "k"). Batch dims
/// are aligned at the end; one of extent 1 broadcasts.
std::string storedText(llvm::ArrayRef<int64_t> dims, size_t numBatch, StoredTransposed stored, std::string first,
                       std::string second, llvm::ArrayRef<int64_t> batchExtents) {
  if (dims.size() < 2)
    return second;
  std::string batch;
  size_t own = dims.size() - 2;
  for (size_t i = 0; i < own; ++i) {
    size_t position = numBatch - own + i;
    int64_t extent = dims[stored.batch ? i + 1 : i];
    batch += extent == 1 && batchExtents[position] != 1 ? "1 " : "g" + std::to_string(position) + " ";
  }
  if (stored.matrix)
    std::swap(first, second);
  return stored.batch ? first + " " + batch + second : batch + first + " " + second;
}

} // namespace

std::string fusedMatMulRule(mlir::Operation *op, StoredTransposed a, StoredTransposed b) {
  llvm::ArrayRef<int64_t> dimsA = dimsOf(op->getOperand(0)), dimsB = dimsOf(op->getOperand(1));
  // A vector has nothing to transpose.
  if (dimsA.size() < 2 || dimsB.size() < 2)
    return matMulRule(op);
  size_t numBatch = std::max(dimsA.size(), dimsB.size()) - 2;
  llvm::SmallVector<int64_t> extents(numBatch, 1);
  auto widen = [&](llvm::ArrayRef<int64_t> dims, StoredTransposed stored) {
    size_t own = dims.size() - 2;
    for (size_t i = 0; i < own; ++i)
      if (int64_t extent = dims[stored.batch ? i + 1 : i]; extent != 1)
        extents[numBatch - own + i] = extent;
  };
  widen(dimsA, a);
  widen(dimsB, b);
  std::string result;
  for (size_t i = 0; i < numBatch; ++i)
    result += "g" + std::to_string(i) + " ";
  return storedText(dimsA, numBatch, a, "m", "k", extents) + ", " + storedText(dimsB, numBatch, b, "k", "n", extents) +
         " -> " + result + "m n";
}

std::string matMulIntegerRule(mlir::Operation *op) {
  MatMulText text = matMulText(dimsOf(op->getOperand(0)).size(), dimsOf(op->getOperand(1)).size());
  return text.a + ", " + text.b + ", " + scaleA(op->getOperand(2)) + ", " + scaleB(op->getOperand(3)) + " -> " + text.y;
}

std::string matMulIntegerToFloatRule(mlir::Operation *op) {
  MatMulText text = matMulText(dimsOf(op->getOperand(0)).size(), dimsOf(op->getOperand(1)).size());
  std::string operands = text.a + ", " + text.b;
  for (unsigned a : {2u, 4u})
    operands += ", " + scaleA(op->getOperand(a)) + ", " + scaleB(op->getOperand(a + 1));
  return operands + ", n -> " + text.y;
}

std::string dynamicQuantizeMatMulRule(mlir::Operation *op) {
  return "!... !m !k, k n, " + scaleB(op->getOperand(2)) + ", " + scaleB(op->getOperand(3)) + ", n -> !... !m n";
}

std::string qlinearMatMulRule(mlir::Operation *op) {
  MatMulText text = matMulText(dimsOf(op->getOperand(0)).size(), dimsOf(op->getOperand(3)).size());
  // The sum over k is requantised, so k stays whole.
  auto whole = [](std::string tensor) {
    tensor.insert(tensor.rfind('k'), "!");
    return tensor;
  };
  return whole(text.a) + ", " + scaleA(op->getOperand(1)) + ", " + scaleA(op->getOperand(2)) + ", " + whole(text.b) +
         ", " + scaleB(op->getOperand(4)) + ", " + scaleB(op->getOperand(5)) + ", " + scaleA(op->getOperand(6)) + ", " +
         scaleA(op->getOperand(7)) + " -> " + text.y;
}

void localizeIntegerProduct(LocalOp &local) {
  bool hasZeros = true;
  for (llvm::StringRef name : {"a_zero_point", "b_zero_point"})
    for (unsigned i = 0; i < local.operands.size(); ++i)
      hasZeros = hasZeros && (operandName(local.original, i) != name || !isAbsent(local.operands[i]));
  auto dim = static_cast<unsigned>(local.operandDims(0).size()) - 1;
  int64_t size = local.rule.operandShape(0).dims[dim];
  if (!hasZeros || size % local.mesh.size(local.operandAxes(0, dim)) == 0)
    return;
  local.operands.push_back(local.offsetOf(0, dim));
  local.setInt("k_size", size);
}

} // namespace apc

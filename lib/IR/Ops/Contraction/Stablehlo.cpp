// Contractions in StableHLO.
#include "apc/IR/Hlo/HloWriter.h"
#include "apc/IR/Ops/Contraction/Contraction.h"

namespace apc {

namespace hlo {
namespace {

HloList gemm(GemmOp op, HloWriter &h) {
  std::string equation =
      std::string(op.getTransA() != 0 ? "km" : "mk") + (op.getTransB() != 0 ? ",nk" : ",kn") + "->mn";
  Hlo product = einsum(equation, {h(op.getA()), h(op.getB())}) * op.getAlpha().convertToDouble(), c = h(op.getC());
  return c ? product + c * op.getBeta().convertToDouble() : product;
}

HloList fusedMatMul(FusedMatMulOp op, HloWriter &h) {
  if (op.getTransBatchA() != 0 || op.getTransBatchB() != 0)
    return h.refuse("transposed batches");
  Hlo a = h(op.getA()), b = h(op.getB());
  return matmul(op.getTransA() != 0 ? flip(a) : a, op.getTransB() != 0 ? flip(b) : b) * op.getAlpha().convertToDouble();
}

HloList einsumOf(EinsumOp op, HloWriter &h) {
  HloList operands;
  for (mlir::Value operand : op.getInputs())
    operands.push_back(h(operand));
  return einsum(op.getEquation(), operands);
}

constexpr HloLowering rows[] = {
    hloBinary<MatMulOp, matmul>(),
    hloRow<GemmOp, gemm>(),
    hloRow<FusedMatMulOp, fusedMatMul>(),
    hloRow<EinsumOp, einsumOf>(),
};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloContraction();
llvm::ArrayRef<HloLowering> hloContraction() { return hlo::rows; }

} // namespace apc

// Recurrent operators in StableHLO: a loop over positions.
#include "Recurrence.h"

#include "apc/IR/Hlo/HloWriter.h"

namespace apc {

namespace {

/// The operator's tensors for `Recurrence`.
class HloSource {
public:
  HloSource(mlir::Operation *op, HloWriter &h) : op(op), h(h), element(precise(h(op->getOperand(0))).element()) {}

  Hlo operand(unsigned index) const {
    Hlo given = h(op->getOperand(index));
    return given ? precise(given) : given;
  }
  Hlo first() const {
    unsigned declared = llvm::cast<OperatorInterface>(op).getNumDeclaredOperands();
    if (op->getNumOperands() <= declared)
      return {};
    Hlo offset = convert(h(op->getOperand(declared)), h.i64());
    return reshape(offset.numDims() == 1 ? slice(offset, 0, 0, 1) : offset, {});
  }
  Hlo lengths() const {
    Hlo given = h(op->getOperand(recurrent::Lengths));
    return given ? convert(given, h.i64()) : given;
  }
  Hlo integers(llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> values) const {
    return h.constant(mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(dims, h.i64()), values));
  }
  Hlo zeros(llvm::ArrayRef<int64_t> dims) const { return filled(h, element, dims, 0); }
  template <typename Body>
  Scanned<Hlo> scan(int64_t count, bool isBackward, llvm::ArrayRef<Hlo> states, llvm::ArrayRef<Hlo> sequences,
                    Body body) const {
    auto found =
        h.addScan(count, isBackward, states, sequences, [&](llvm::ArrayRef<Hlo> own, llvm::ArrayRef<Hlo> given) {
          Scanned<Hlo> round = body(own, given);
          return HloScan{HloList(llvm::ArrayRef(round.states)), HloList(llvm::ArrayRef(round.elements))};
        });
    return {llvm::SmallVector<Hlo, 3>(llvm::ArrayRef(found.states)),
            llvm::SmallVector<Hlo, 3>(llvm::ArrayRef(found.elements))};
  }

private:
  mlir::Operation *op;
  HloWriter &h;
  mlir::Type element;
};

/// Results in the types that the op has.
HloList resultsOf(mlir::Operation *op, llvm::ArrayRef<Hlo> found) {
  HloList results;
  for (auto [result, value] : llvm::zip_equal(op->getResults(), found))
    results.push_back(isAbsent(result) || !value
                          ? Hlo()
                          : convert(value, llvm::cast<mlir::RankedTensorType>(result.getType()).getElementType()));
  return results;
}

template <Cell cell>
HloList forwardOf(mlir::Operation *op, HloWriter &h) {
  RecurrentSizes sizes = *readRecurrent(op, cell);
  HloSource source(op, h);
  return resultsOf(op, Recurrence<Hlo, HloSource>(op, sizes, source).run());
}

template <Cell cell>
HloList backwardOf(mlir::Operation *op, HloWriter &h) {
  RecurrentSizes sizes = *readRecurrent(op, cell);
  HloSource source(op, h);
  return resultsOf(op, Recurrence<Hlo, HloSource>(op, sizes, source).runBackward());
}

constexpr HloLowering rows[] = {
    {RNNOp::getOperationName(), forwardOf<Cell::Rnn>},   {RNNGradOp::getOperationName(), backwardOf<Cell::Rnn>},
    {GRUOp::getOperationName(), forwardOf<Cell::Gru>},   {GRUGradOp::getOperationName(), backwardOf<Cell::Gru>},
    {LSTMOp::getOperationName(), forwardOf<Cell::Lstm>}, {LSTMGradOp::getOperationName(), backwardOf<Cell::Lstm>},
};

} // namespace

llvm::ArrayRef<HloLowering> hloRecurrent();
llvm::ArrayRef<HloLowering> hloRecurrent() { return rows; }

} // namespace apc

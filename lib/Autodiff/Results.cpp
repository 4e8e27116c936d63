// Results of `main` in the place of those of the model.
#include "Results.h"

#include "apc/IR/AttributeNames.h"

#include "mlir/IR/Builders.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

namespace apc {

void returnLoss(mlir::func::FuncOp main, mlir::Value loss, mlir::ValueRange others) {
  mlir::Operation *end = main.front().getTerminator();
  (void)main.eraseResults(llvm::BitVector(main.getNumResults(), true));
  llvm::SmallVector<mlir::Value> values{loss};
  llvm::append_range(values, others);
  end->setOperands(values);
  mlir::Builder builder(main.getContext());
  auto name = builder.getNamedAttr(nameAttribute, builder.getStringAttr("loss"));
  llvm::SmallVector<mlir::DictionaryAttr> attributes(values.size(), builder.getDictionaryAttr({}));
  attributes.front() = builder.getDictionaryAttr(name);
  llvm::SmallVector<unsigned> indices(values.size(), 0);
  (void)main.insertResults(indices, llvm::to_vector(mlir::ValueRange(values).getTypes()), attributes);
}

void eraseDead(mlir::func::FuncOp main) {
  std::vector<mlir::Operation *> ops;
  for (mlir::Operation &op : main.front().without_terminator())
    ops.push_back(&op);
  for (mlir::Operation *op : llvm::reverse(ops))
    if (op->use_empty() && op->getNumResults() > 0)
      op->erase();
}

} // namespace apc

// The number of a draw, for all ops that need one.
#include "RandomDraws.h"

#include "apc/IR/AttributeNames.h"
#include "apc/IR/NumberInputs.h"
#include "apc/IR/Random.h"

#include "mlir/IR/Builders.h"

namespace apc {

void addDraws(mlir::func::FuncOp main) {
  std::vector<mlir::Operation *> drawing;
  main.walk([&](mlir::Operation *op) {
    if (isRandom(op))
      drawing.push_back(op);
  });
  if (drawing.empty())
    return;
  mlir::Builder builder(main.getContext());
  mlir::NamedAttribute attributes[] = {builder.getNamedAttr(nameAttribute, builder.getStringAttr("draw")),
                                       builder.getNamedAttr(numberAttribute, builder.getStringAttr("draw")),
                                       builder.getNamedAttr(drawAttribute, builder.getUnitAttr())};
  unsigned index = main.getNumArguments();
  (void)main.insertArgument(index, mlir::RankedTensorType::get({}, builder.getI64Type()),
                            builder.getDictionaryAttr(attributes), main.getLoc());
  for (mlir::Operation *op : drawing)
    numberDraws(op, main.getArgument(index));
}

} // namespace apc

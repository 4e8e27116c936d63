// Loops of StableHLO.
#include "apc/IR/Hlo/HloWriter.h"

namespace apc {

using namespace hlo;

mlir::Block *HloWriter::begin(mlir::Region *region, llvm::ArrayRef<mlir::Type> types) {
  return builder.createBlock(region, {}, types, llvm::SmallVector<mlir::Location>(types.size(), loc));
}

HloScan HloWriter::addScan(int64_t count, bool isBackward, llvm::ArrayRef<Hlo> states, llvm::ArrayRef<Hlo> sequences,
                           llvm::function_ref<HloScan(llvm::ArrayRef<Hlo>, llvm::ArrayRef<Hlo>)> body) {
  mlir::OperationState loop(loc, "stablehlo.while");
  mlir::Region *condition = loop.addRegion(), *round = loop.addRegion();
  auto scalar = mlir::RankedTensorType::get({}, i64());
  llvm::SmallVector<mlir::Type> types = {scalar};
  for (Hlo state : states)
    types.push_back(state.type());
  {
    mlir::OpBuilder::InsertionGuard guard(builder);
    mlir::Block *block = begin(round, types);
    Hlo index{block->getArgument(0), this}, place = index;
    if (isBackward)
      place = static_cast<double>(count - 1) - index;
    HloList own, given;
    for (mlir::Value argument : block->getArguments().drop_front())
      own.push_back({argument, this});
    for (Hlo sequence : sequences)
      given.push_back(reshape(dynamicSlice(sequence, 0, place, 1), sequence.dims().drop_front()));
    HloScan found = body(own, given);
    HloList next = {index + 1};
    next.append(found.states.begin(), found.states.end());
    // Elements of the rounds so far are further values of the loop, whose types the body has told.
    for (Hlo element : found.elements) {
      HloDims dims(element.dims()), one(element.dims());
      dims.insert(dims.begin(), count), one.insert(one.begin(), 1);
      types.push_back(mlir::RankedTensorType::get(dims, element.element()));
      next.push_back(dynamicUpdate({block->addArgument(types.back(), loc), this}, 0, place, reshape(element, one)));
    }
    create(stateOf("stablehlo.return", next, {}, {}));
    begin(condition, types);
    Hlo number{condition->front().getArgument(0), this};
    create(stateOf("stablehlo.return", {compare(number, "LT", static_cast<double>(count))}, {}, {}));
  }
  loop.addTypes(types);
  loop.addOperands(filled(*this, i64(), {}, 0).value);
  for (Hlo state : states)
    loop.addOperands(state.value);
  for (mlir::Type type : llvm::ArrayRef(types).drop_front(1 + states.size())) {
    auto sequence = llvm::cast<mlir::RankedTensorType>(type);
    loop.addOperands(filled(*this, sequence.getElementType(), sequence.getShape(), 0).value);
  }
  HloList results = create(loop);
  llvm::ArrayRef<Hlo> all = llvm::ArrayRef(results).drop_front();
  return {HloList(all.take_front(states.size())), HloList(all.drop_front(states.size()))};
}

} // namespace apc

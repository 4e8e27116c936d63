// Collectives, and ops that depend on the rank, as calls of collectives.py.
#include "FoldLists.h"
#include "Statements.h"

#include "apc/IR/CollectivePlaces.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

std::string axesText(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  std::vector<std::string> names;
  for (AxisId axis : axes)
    names.push_back(pythonString(mesh.axis(axis).name));
  return "(" + llvm::join(names, ", ") + (names.size() == 1 ? ",)" : ")");
}

/// `0`, or `(0, [256, 128])`: a dim of pieces, and the sizes of its parts before it is cut, or once it is joined. Sizes
/// are left out where the dim is one part and divides evenly.
std::string dimText(const CollectivePlace &place, int64_t ways) {
  if (place.parts.size() == 1 && place.parts.front() % ways == 0)
    return std::to_string(place.dim);
  return "(" + std::to_string(place.dim) + ", " + pythonList(place.parts) + ")";
}

/// The words that follow a tensor in a call: `dim=0`, `from_dim=1, to_dim=(0, [5])`, `to=[0, 2, 1, 3]`.
std::string placeText(const CoalescedCollective &collective, const CoalescedCollective::Value &value,
                      const Mesh &mesh) {
  int64_t ways = mesh.size(collective.axes);
  auto joined = [&] { return dimText(joinedPlace(value, mesh), ways); };
  auto cut = [&] { return dimText(cutPlace(value, mesh), ways); };
  switch (collective.kind) {
  case CollectiveKind::AllGather:
    return joined();
  case CollectiveKind::Slice:
  case CollectiveKind::ReduceScatter:
    return cut();
  case CollectiveKind::AllToAll:
    return joined() + ", " + cut();
  case CollectiveKind::AllReduce:
    return "";
  case CollectiveKind::Permute:
    return pythonCounted(permuteTargets(collective, value, mesh));
  }
  llvm_unreachable("every collective has a place");
}

llvm::StringRef functionOf(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::Slice:
    return "keep_part";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::Permute:
    return "permute";
  }
  llvm_unreachable("every collective has a function");
}

} // namespace

/// Bytes of the piece of a rank, with its padding.
static double bytesOfPiece(mlir::RankedTensorType type) {
  constexpr unsigned bitsOfByte = 8;
  return static_cast<double>(type.getNumElements()) * std::max(type.getElementTypeBitWidth() / bitsOfByte, 1U);
}

llvm::Error Statements::addCollective(CollectiveInterface op) {
  const CoalescedCollective &collective = op.getCollective().getValue();
  const Mesh &mesh = text.mesh;
  if (collective.kind != CollectiveKind::Slice && !llvm::is_contained(text.groups, collective.axes))
    text.groups.push_back(collective.axes);
  std::vector<ListedTensor> listed;
  std::vector<std::string> results = assignedNames(*op);
  for (auto [value, operand, result] : llvm::zip_equal(collective.values, op->getOperands(), results))
    listed.push_back({tensorText(operand), placeText(collective, value, mesh), result});
  bool isList = listed.size() > 1;
  listed = foldLists(listed);
  std::vector<std::string> tensors, places, left;
  for (const ListedTensor &tensor : listed) {
    tensors.push_back(tensor.text);
    places.push_back(collective.kind == CollectiveKind::AllToAll && isList ? "(" + tensor.place + ")" : tensor.place);
    left.push_back(tensor.result);
  }
  auto inList = [&](llvm::ArrayRef<std::string> texts) {
    return isList ? "[" + llvm::join(texts, ", ") + "]" : texts.front();
  };
  std::string call =
      (functionOf(collective.kind) + "(rank, " + axesText(collective.axes, mesh) + ", " + inList(tensors)).str();
  // One place stands for all where they are equal.
  if (!places.front().empty())
    call += ", " + (llvm::all_equal(places) ? places.front() : inList(places));
  if (isReduction(collective.kind))
    call += ", " + pythonString(combinerName(collective.values.front().from.combiner));
  lines.push_back((isList && left.size() == 1 ? inList(left) : llvm::join(left, ", ")) + " = " + call + ")  # " +
                  commentOn(op));
  return llvm::Error::success();
}

/// The shardings of the first tensor, the bytes that a rank brings of all tensors, and the predicted time, where the
/// plan has it for this collective alone: "[-] sum{device} -> [-] of [24], 96 bytes, 28.6 us".
std::string Statements::commentOn(CollectiveInterface op) const {
  const CoalescedCollective &collective = op.getCollective().getValue();
  const CoalescedCollective::Value &first = collective.values.front();
  std::string comment = first.from.str(text.mesh) + " -> " + first.to.str(text.mesh) + " of " + pythonList(first.dims);
  if (collective.kind == CollectiveKind::Slice)
    return comment;
  double bytes = 0;
  for (mlir::Value operand : op->getOperands())
    bytes += bytesOfPiece(llvm::cast<mlir::RankedTensorType>(operand.getType()));
  comment += ", " + formatBytes(bytes);
  mlir::Operation *maker = op->getOperand(0).getDefiningOp();
  Collective alike;
  alike.kind = collective.kind;
  alike.axes = collective.axes;
  auto seconds = text.collectiveSeconds.find(collectiveKey(maker ? opName(maker) : "", alike.str(text.mesh)));
  return seconds == text.collectiveSeconds.end() ? comment : comment + ", " + formatSeconds(seconds->second);
}

llvm::Error Statements::addOnRank(mlir::Operation &op) {
  const Mesh &mesh = text.mesh;
  if (auto padded = llvm::dyn_cast<MaskPaddingOp>(op)) {
    std::string call = "mask_padding(rank, " + axesText(padded.getAxes().getValue(), mesh) + ", " +
                       tensorText(padded.getInput()) + ", " + std::to_string(padded.getDim()) + ", " +
                       pythonList(padded.getPartSizes()) + ", " +
                       pythonString(combinerName(padded.getCombiner().getValue())) + ")";
    return addLine(op, call), llvm::Error::success();
  }
  if (auto kept = llvm::dyn_cast<KeepOnFirstOp>(op)) {
    std::string call =
        "keep_on_first(rank, " + axesText(kept.getAxes().getValue(), mesh) + ", " + tensorText(kept.getInput()) + ")";
    return addLine(op, call), llvm::Error::success();
  }
  if (auto offset = llvm::dyn_cast<ShardOffsetOp>(op)) {
    bool isRange = llvm::cast<mlir::RankedTensorType>(offset.getType()).getNumElements() == 2;
    std::string call = "rank.offset(" + axesText(offset.getAxes().getValue(), mesh) + ", " +
                       std::to_string(offset.getSize()) + ")" + (isRange ? "" : "[0]");
    return addLine(op, call), llvm::Error::success();
  }
  return inputError("{0} has no form in PyTorch yet", op.getName().getStringRef());
}

} // namespace apc

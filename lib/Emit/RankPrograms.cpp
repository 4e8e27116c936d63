// Programs of single ranks: one text for each structure, filled in with the numbers of a rank.
#include "RankPrograms.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Verifier.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace apc {

namespace {

/// On the module: the rank that a program is for.
constexpr llvm::StringLiteral rankAttribute = "apc.rank";
/// On a collective: the ranks of the group, in order.
constexpr llvm::StringLiteral groupAttribute = "apc.ranks";
/// On a permute: the rank whose piece this rank gets, and the rank that gets its piece; of several values a list.
constexpr llvm::StringLiteral receiveAttribute = "apc.receive_from";
constexpr llvm::StringLiteral sendAttribute = "apc.send_to";

/// The mark of number i; no number of a program is near it.
int64_t markOf(size_t number) { return 6100000000000000000 + static_cast<int64_t>(number); }

bool isCollective(mlir::Operation *op) { return llvm::isa<CollectiveInterface>(op) && !isResolvedByRank(op); }

llvm::SmallVector<mlir::Operation *> dependentOps(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation *> dependent;
  module.walk([&](mlir::Operation *op) {
    if (isResolvedByRank(op) || llvm::isa<CollectiveInterface>(op))
      dependent.push_back(op);
  });
  return dependent;
}

/// Ops in the places of those that depend on the rank, in their order: collectives as they are, and the ops that others
/// became.
struct Resolved : mlir::OpBuilder::Listener {
  void notifyOperationInserted(mlir::Operation *op, mlir::OpBuilder::InsertPoint) override { ops.push_back(op); }

  llvm::SmallVector<mlir::Operation *> ops;
};

mlir::FailureOr<llvm::SmallVector<mlir::Operation *>> resolveAll(mlir::ModuleOp module, const Mesh &mesh,
                                                                 int64_t rank) {
  Resolved resolved;
  mlir::OpBuilder builder(module.getContext(), &resolved);
  for (mlir::Operation *op : dependentOps(module)) {
    if (isCollective(op)) {
      resolved.ops.push_back(op);
      continue;
    }
    builder.setInsertionPoint(op);
    auto values = resolveOnRank(builder, op, mesh, rank);
    if (mlir::failed(values))
      return mlir::failure();
    op->replaceAllUsesWith(*values);
    op->erase();
  }
  return std::move(resolved.ops);
}

/// The constant of an op that holds places or counts; null for others.
mlir::DenseIntElementsAttr placesOf(mlir::Operation *op) {
  auto constant = llvm::dyn_cast<ConstantOp>(op);
  auto value = constant ? llvm::dyn_cast<mlir::DenseIntElementsAttr>(constant.getValue()) : nullptr;
  return value && value.getElementType().isInteger(64) ? value : nullptr;
}

/// As it stands within `dense<>`: "64", "[0, 3]".
std::string textOf(mlir::DenseIntElementsAttr value) {
  if (value.isSplat())
    return std::to_string(value.getSplatValue<int64_t>());
  auto numbers = llvm::map_range(value.getValues<int64_t>(), [](int64_t number) { return std::to_string(number); });
  return "[" + llvm::join(numbers, ", ") + "]";
}

void printStructure(mlir::Operation *op, llvm::raw_ostream &os) {
  os << op->getName() << op->getResultTypes();
  if (!placesOf(op) && !isCollective(op))
    os << op->getAttrDictionary();
}

} // namespace

RankPrograms::RankPrograms(mlir::ModuleOp program, const Mesh &mesh) : program(program), mesh(mesh) {
  mlir::OpBuilder builder(program.getContext());
  skeleton = mlir::ModuleOp::create(program.getLoc());
  (*skeleton)->setAttrs(program->getAttrDictionary());
  builder.setInsertionPointToEnd(skeleton->getBody());
  auto function =
      mlir::func::FuncOp::create(builder, program.getLoc(), "ops", builder.getFunctionType(mlir::TypeRange(), {}));
  mlir::Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  for (mlir::Operation *op : dependentOps(program)) {
    mlir::IRMapping mapping;
    for (mlir::Value operand : op->getOperands())
      if (!mapping.contains(operand))
        mapping.map(operand, body->addArgument(operand.getType(), op->getLoc()));
    builder.clone(*op, mapping);
  }
}

void RankPrograms::addGroup(CollectiveInterface op, int64_t rank, Numbers &numbers) {
  const CoalescedCollective &collective = op.getCollective().getValue();
  llvm::SmallVector<int64_t, 4> first = mesh.coordinates(rank);
  for (AxisId axis : collective.axes)
    first[axis.index()] = 0;
  auto [entry, isNew] = groups.try_emplace({op.getCollective().getAsOpaquePointer(), mesh.rankOf(first)});
  Group &group = entry->second;
  bool isPermute = collective.kind == CollectiveKind::Permute;
  if (isNew) {
    auto members =
        llvm::map_to_vector(mesh.group(rank, collective.axes), [](int64_t each) { return std::to_string(each); });
    group.ranks = llvm::join(members, ", ");
    for (const CoalescedCollective::Value &value : collective.values)
      if (isPermute)
        group.peers.push_back(permutePeers(collective.axes, value.from, value.to, mesh, rank));
  }
  numbers.push_back(group.ranks);
  if (!isPermute)
    return;
  auto here = static_cast<size_t>(mesh.indexInGroup(rank, collective.axes));
  auto peers = [&](int64_t PermutePeers::*peer) {
    return llvm::join(llvm::map_range(group.peers, [&](const auto &list) { return std::to_string(list[here].*peer); }),
                      ", ");
  };
  numbers.push_back(peers(&PermutePeers::receiveFrom));
  numbers.push_back(peers(&PermutePeers::sendTo));
}

mlir::FailureOr<std::string> RankPrograms::resolve(int64_t rank, Numbers &numbers) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = skeleton->clone();
  auto resolved = resolveAll(*copy, mesh, rank);
  if (mlir::failed(resolved))
    return mlir::failure();
  numbers.push_back(std::to_string(rank));
  std::string structure;
  llvm::raw_string_ostream os(structure);
  for (mlir::Operation *op : *resolved) {
    printStructure(op, os);
    if (mlir::DenseIntElementsAttr places = placesOf(op))
      numbers.push_back(textOf(places));
    else if (isCollective(op))
      addGroup(llvm::cast<CollectiveInterface>(op), rank, numbers);
  }
  return structure;
}

mlir::FailureOr<RankPrograms::Template> RankPrograms::makeTemplate(int64_t rank) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = program.clone();
  auto resolved = resolveAll(*copy, mesh, rank);
  if (mlir::failed(resolved) || mlir::failed(mlir::verify(*copy)))
    return mlir::failure();
  mlir::Builder builder(program.getContext());
  size_t numMarks = 0;
  auto mark = [&] { return builder.getI64IntegerAttr(markOf(numMarks++)); };
  (*copy)->setAttr(rankAttribute, mark());
  for (mlir::Operation *op : *resolved) {
    if (mlir::DenseIntElementsAttr places = placesOf(op)) {
      llvm::cast<ConstantOp>(op).setValueAttr(mlir::DenseElementsAttr::get(places.getType(), mark().getValue()));
    } else if (isCollective(op)) {
      op->setAttr(groupAttribute, builder.getDenseI64ArrayAttr({mark().getInt()}));
      if (llvm::isa<PermuteOp>(op)) {
        bool isList = op->getNumOperands() > 1;
        for (llvm::StringRef name : {receiveAttribute, sendAttribute})
          op->setAttr(name, isList ? mlir::Attribute(builder.getDenseI64ArrayAttr({mark().getInt()})) : mark());
      }
    }
  }
  std::string text;
  llvm::raw_string_ostream os(text);
  // The marks are no places that the ops would accept.
  (*copy).print(os, mlir::OpPrintingFlags().assumeVerified());
  os << "\n";
  std::vector<std::pair<size_t, size_t>> places; ///< of marks in the text, with their numbers
  for (size_t number = 0; number < numMarks; ++number)
    places.emplace_back(text.find(std::to_string(markOf(number))), number);
  llvm::sort(places);
  Template result;
  size_t at = 0;
  for (auto [place, number] : places) {
    result.parts.push_back(text.substr(at, place - at));
    result.numbers.push_back(number);
    at = place + std::to_string(markOf(number)).size();
  }
  result.parts.push_back(text.substr(at));
  return result;
}

mlir::FailureOr<std::string> RankPrograms::print(int64_t rank) {
  Numbers numbers;
  auto structure = resolve(rank, numbers);
  if (mlir::failed(structure))
    return mlir::failure();
  auto found = templates.find(*structure);
  if (found == templates.end()) {
    auto made = makeTemplate(rank);
    if (mlir::failed(made))
      return mlir::failure();
    found = templates.emplace(*structure, std::move(*made)).first;
  }
  const Template &parts = found->second;
  std::string text;
  for (size_t i = 0; i < parts.numbers.size(); ++i)
    text += parts.parts[i] + numbers[parts.numbers[i]];
  return text + parts.parts.back();
}

} // namespace apc

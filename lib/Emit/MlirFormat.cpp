// Format `mlir`: the program as it is, and the programs of single ranks.
#include "Formats.h"

#include "apc/IR/Ops/Spmd.h"
#include "apc/Support/Error.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace apc {

namespace {

/// On the module: the rank that a program is for.
constexpr llvm::StringLiteral rankAttribute = "apc.rank";
/// On a collective: the ranks of the group, in order.
constexpr llvm::StringLiteral groupAttribute = "apc.ranks";
/// On a permute: the rank that gets this rank's piece, and the one whose piece it gets.
constexpr llvm::StringLiteral sendAttribute = "apc.send_to";
constexpr llvm::StringLiteral receiveAttribute = "apc.receive_from";

std::string print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  os << "\n";
  return text;
}

mlir::LogicalResult nameGroup(mlir::Operation *op, const Mesh &mesh, int64_t rank) {
  auto step = readStep(op, mesh);
  if (mlir::failed(step))
    return mlir::failure();
  mlir::Builder builder(op->getContext());
  op->setAttr(groupAttribute, builder.getDenseI64ArrayAttr(mesh.group(rank, step->axes)));
  if (step->kind == StepKind::Permute) {
    auto position = static_cast<size_t>(mesh.indexInGroup(rank, step->axes));
    PermutePeers peers = permutePeers(step->axes, step->from, step->to, mesh, rank)[position];
    op->setAttr(sendAttribute, builder.getI64IntegerAttr(peers.sendTo));
    op->setAttr(receiveAttribute, builder.getI64IntegerAttr(peers.receiveFrom));
  }
  return mlir::success();
}

/// Replaces what depends on the rank by what it is there.
mlir::LogicalResult specialize(mlir::ModuleOp program, const Mesh &mesh, int64_t rank) {
  mlir::OpBuilder builder(program.getContext());
  program->setAttr(rankAttribute, builder.getI64IntegerAttr(rank));
  llvm::SmallVector<mlir::Operation *> dependent;
  program.walk([&](mlir::Operation *op) {
    if (isResolvedByRank(op) || llvm::isa<StepInterface>(op))
      dependent.push_back(op);
  });
  for (mlir::Operation *op : dependent) {
    if (!isResolvedByRank(op)) {
      if (mlir::failed(nameGroup(op, mesh, rank)))
        return mlir::failure();
      continue;
    }
    builder.setInsertionPoint(op);
    auto value = resolveOnRank(builder, op, mesh, rank);
    if (mlir::failed(value))
      return mlir::failure();
    op->getResult(0).replaceAllUsesWith(*value);
    op->erase();
  }
  return mlir::verify(program);
}

} // namespace

llvm::Error emitMlir(const EmitRequest &request, AddFile addFile) {
  mlir::ModuleOp program = request.program;
  if (llvm::Error error = addFile("program.mlir", print(program)))
    return error;
  if (request.options.ranks.empty())
    return llvm::Error::success();
  std::string message;
  mlir::ScopedDiagnosticHandler handler(program.getContext(), [&](mlir::Diagnostic &diagnostic) {
    message += (message.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  mlir::FailureOr<Mesh> mesh = meshOf(program);
  for (int64_t rank : request.options.ranks) {
    mlir::OwningOpRef<mlir::ModuleOp> copy = program.clone();
    if (mlir::failed(mesh) || mlir::failed(specialize(*copy, *mesh, rank)))
      return internalError("the program of rank {0} does not verify: {1}", rank, message);
    if (llvm::Error error = addFile(llvm::formatv("rank-{0,0+4}.mlir", rank).str(), print(*copy)))
      return error;
  }
  return llvm::Error::success();
}

} // namespace apc

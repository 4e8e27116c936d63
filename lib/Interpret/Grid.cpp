// All ranks, in turn.
#include "apc/Interpret/Grid.h"

#include "Boxes.h"
#include "Collectives.h"
#include "RankRun.h"

#include "apc/IR/Diagnostics.h"
#include "apc/IR/MainFunction.h"
#include "apc/IR/RuleBuilder.h"

#include "mlir/IR/Diagnostics.h"

#include <functional>
#include <map>
#include <numeric>

namespace apc {

namespace {

/// The sharding and the whole tensor's dims of an argument, result or parameter.
struct ShardedShape {
  Sharding sharding;
  llvm::SmallVector<int64_t, 4> dims;
};

llvm::Expected<ShardedShape> readShape(mlir::DictionaryAttr attributes, MeshAttr mesh, llvm::StringRef what) {
  auto sharding = attributes ? attributes.getAs<ShardingAttr>(shardingAttribute) : ShardingAttr();
  auto shape = attributes ? attributes.getAs<mlir::DenseI64ArrayAttr>(shapeAttribute) : mlir::DenseI64ArrayAttr();
  if (!sharding || !shape)
    return inputError("{0} does not say '{1}' and '{2}'", what, shardingAttribute, shapeAttribute);
  const Sharding &value = sharding.getValue();
  if (sharding.getMesh() != mesh || value.numDims() != shape.size() || value.isPartial())
    return inputError("{0}: {1} on {2} is no sharding of a whole tensor of {3} dims on {4}", what,
                      value.str(sharding.getMesh().getValue()), sharding.getMesh().getValue().str(), shape.size(),
                      mesh.getValue().str());
  return ShardedShape{value, llvm::SmallVector<int64_t, 4>(shape.asArrayRef())};
}

/// A collective that some ranks of a group have reached.
struct Meeting {
  CollectiveInterface op;
  int64_t firstRank = 0;
  size_t numHere = 0;
};

class Grid {
public:
  Grid(llvm::ArrayRef<mlir::ModuleOp> programs, MeshAttr mesh, const ParameterSource &parameters, int64_t padding)
      : meshAttr(mesh), mesh(mesh.getValue()), parameters(parameters), padding(padding) {
    for (mlir::ModuleOp program : programs)
      texts.push_back(std::make_unique<ProgramText>(program));
  }

  llvm::Expected<std::vector<Tensor>> run(llvm::ArrayRef<Tensor> inputs);
  /// True when the run ended at an op that cannot be evaluated.
  bool lacksKernel() const { return missesKernel; }

private:
  const ProgramText &textOf(size_t rank) const { return *texts[texts.size() == 1 ? 0 : rank]; }
  llvm::Error start(llvm::ArrayRef<Tensor> inputs);
  /// Runs every rank until it waits for others or is done; true when one moved.
  llvm::Expected<bool> advanceAll();
  llvm::Error meet(int64_t rank);
  llvm::Error takePlace(CollectiveInterface op, llvm::ArrayRef<int64_t> members);
  llvm::Error deadlock() const;
  llvm::Expected<TensorRef> pieceOfParameter(mlir::Operation *op, int64_t rank);
  llvm::Expected<std::vector<Tensor>> collect();

  MeshAttr meshAttr;
  const Mesh &mesh;
  const ParameterSource &parameters;
  int64_t padding; ///< of integers
  bool missesKernel = false;
  std::vector<std::unique_ptr<ProgramText>> texts;
  std::vector<RankRun> ranks;
  std::map<std::vector<int64_t>, Meeting> meetings; ///< by group
  std::vector<bool> isHere;                         ///< ranks that have been counted in a meeting
  std::map<std::string, Tensor> wholes;             ///< parameters
  std::map<std::pair<mlir::Operation *, int64_t>, TensorRef> pieces;
};

/// Parameters are read once for the first rank that needs them, and cut for each; ranks that read a parameter at the
/// same op share nothing else.
llvm::Expected<TensorRef> Grid::pieceOfParameter(mlir::Operation *op, int64_t rank) {
  auto parameter = llvm::cast<ParameterOp>(op);
  std::string what = "parameter '" + parameter.getName().str() + "'";
  llvm::Expected<ShardedShape> sharded = readShape(op->getAttrDictionary(), meshAttr, what);
  if (!sharded)
    return sharded.takeError();
  auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
  auto wholeType = mlir::RankedTensorType::get(sharded->dims, type.getElementType());
  auto known = wholes.find(parameter.getName().str());
  if (known == wholes.end()) {
    llvm::Expected<Tensor> whole = parameters(parameter);
    if (!whole)
      return whole.takeError();
    if (llvm::Error error = checkType(*whole, wholeType, what))
      return error;
    known = wholes.emplace(parameter.getName().str(), std::move(*whole)).first;
  }
  Tensor piece = shardOf(known->second, sharded->sharding, mesh, rank, padding);
  if (llvm::Error error = checkType(piece, type, "the piece of " + what))
    return error;
  return std::make_shared<Tensor>(std::move(piece));
}

llvm::Error Grid::start(llvm::ArrayRef<Tensor> inputs) {
  isHere.assign(static_cast<size_t>(mesh.numDevices()), false);
  for (int64_t rank = 0; rank < mesh.numDevices(); ++rank) {
    const ProgramText &text = textOf(static_cast<size_t>(rank));
    ranks.emplace_back(text, mesh, rank, [this, rank](mlir::Operation *op) { return pieceOfParameter(op, rank); });
    mlir::func::FuncOp main = text.main();
    if (llvm::Error error = checkNumInputs(main, inputs.size()))
      return error;
    std::vector<TensorRef> held;
    for (auto [position, input] : llvm::enumerate(inputs)) {
      size_t index = position % main.getNumArguments();
      std::string what = llvm::formatv("input {0}", index);
      auto sharded = readShape(main.getArgAttrDict(static_cast<unsigned>(index)), meshAttr, what);
      if (!sharded)
        return sharded.takeError();
      mlir::Type type = main.getArgument(static_cast<unsigned>(index)).getType();
      auto element = llvm::cast<mlir::RankedTensorType>(type).getElementType();
      if (llvm::Error error = checkType(input, mlir::RankedTensorType::get(sharded->dims, element), what))
        return error;
      held.push_back(std::make_shared<Tensor>(shardOf(input, sharded->sharding, mesh, rank, padding)));
      if (llvm::Error error = checkType(*held.back(), type, "the piece of " + what))
        return error;
    }
    ranks.back().start(held);
  }
  return llvm::Error::success();
}

llvm::Error Grid::takePlace(CollectiveInterface op, llvm::ArrayRef<int64_t> members) {
  const CoalescedCollective &collective = op.getCollective().getValue();
  std::vector<TensorRef> buffers;
  for (int64_t member : members) {
    std::vector<TensorRef> brought;
    for (unsigned index = 0; index < collective.values.size(); ++index)
      brought.push_back(ranks[static_cast<size_t>(member)].brings(index));
    buffers.push_back(bufferOf(brought));
  }
  std::vector<std::vector<TensorRef>> outputs(members.size());
  int64_t offset = 0;
  for (auto [index, value] : llvm::enumerate(collective.values)) {
    for (auto [position, member] : llvm::enumerate(members)) {
      auto output = std::make_shared<Tensor>(
          runCollective(collective.kind, value, mesh, member, members, buffers, offset, padding));
      if (llvm::Error error = checkType(*output, op->getResult(static_cast<unsigned>(index)).getType(),
                                        "the result of " + describeOp(op)))
        return error;
      outputs[position].push_back(std::move(output));
    }
    auto dims = pieceDims(value.dims, value.from, mesh);
    offset += std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
  }
  for (auto [member, held] : llvm::zip_equal(members, outputs)) {
    ranks[static_cast<size_t>(member)].finishCollective(held);
    isHere[static_cast<size_t>(member)] = false;
  }
  return llvm::Error::success();
}

/// A rank has reached a collective, which takes place when the rank is the last of its group.
llvm::Error Grid::meet(int64_t rank) {
  CollectiveInterface op = ranks[static_cast<size_t>(rank)].waitsAt();
  if (op.getCollective().getMesh() != meshAttr)
    return inputError("{0} is no collective of the mesh {1}", describeOp(op), mesh.str());
  if (op.getKind() == CollectiveKind::Slice)
    return takePlace(op, rank); // no other rank takes part
  std::vector<int64_t> members = mesh.group(rank, op.getCollective().getValue().axes);
  llvm::sort(members);
  Meeting &meeting = meetings[members];
  isHere[static_cast<size_t>(rank)] = true;
  if (meeting.numHere++ == 0) {
    meeting.op = op;
    meeting.firstRank = rank;
  } else if (meeting.op->getName() != op->getName() || meeting.op->getAttrDictionary() != op->getAttrDictionary() ||
             meeting.op->getOperandTypes() != op->getOperandTypes()) {
    return noPlanError("rank {0} meets rank {1} at {2}, but is itself at {3}", rank, meeting.firstRank,
                       describeOp(meeting.op), describeOp(op));
  }
  if (meeting.numHere < members.size())
    return llvm::Error::success();
  meetings.erase(members);
  return takePlace(op, members);
}

llvm::Expected<bool> Grid::advanceAll() {
  bool moved = false;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    while (!ranks[rank].isDone() && !isHere[rank]) {
      moved = true;
      llvm::Error error = ranks[rank].waitsAt() ? meet(static_cast<int64_t>(rank)) : ranks[rank].advance();
      if (error) {
        missesKernel = error.isA<MissingKernel>();
        auto [fault, text] = takeMessage(std::move(error));
        return llvm::make_error<PlannerError>(fault, llvm::formatv("rank {0}: {1}", rank, text).str());
      }
    }
  return moved;
}

llvm::Error Grid::deadlock() const {
  std::string waiting;
  unsigned numDone = 0;
  for (auto [rank, run] : llvm::enumerate(ranks)) {
    numDone += run.isDone();
    if (!run.isDone())
      waiting +=
          llvm::formatv("{0}rank {1} at {2}", waiting.empty() ? "" : ", ", rank, describeOp(run.waitsAt())).str();
  }
  return noPlanError("deadlock: {0} ranks are done, the others wait for ever: {1}", numDone, waiting);
}

llvm::Expected<std::vector<Tensor>> Grid::collect() {
  std::vector<Tensor> results;
  mlir::func::FuncOp main = textOf(0).main();
  for (unsigned index = 0; index < main.getNumResults(); ++index) {
    std::string what = llvm::formatv("result {0}", index);
    auto sharded = readShape(main.getResultAttrDict(index), meshAttr, what);
    if (!sharded)
      return sharded.takeError();
    std::vector<Tensor> held;
    for (const RankRun &rank : ranks)
      held.push_back(*rank.getResults()[index]);
    llvm::Expected<Tensor> whole = assemble(held, sharded->dims, sharded->sharding, mesh);
    if (!whole)
      return noPlanError("{0}: {1}", what, takeMessage(whole.takeError()).second);
    results.push_back(std::move(*whole));
  }
  return results;
}

llvm::Expected<std::vector<Tensor>> Grid::run(llvm::ArrayRef<Tensor> inputs) {
  if (llvm::Error error = start(inputs))
    return error;
  for (;;) {
    llvm::Expected<bool> moved = advanceAll();
    if (!moved)
      return moved.takeError();
    if (llvm::all_of(ranks, [](const RankRun &rank) { return rank.isDone(); }))
      return collect();
    if (!*moved)
      return deadlock();
  }
}

} // namespace

Tensor shardOf(const Tensor &whole, const Sharding &sharding, const Mesh &mesh, int64_t rank, int64_t padding) {
  assert(!sharding.isPartial() && "a whole tensor has no partial pieces");
  Tensor piece = poisoned(pieceDims(whole.dims, sharding, mesh), whole.element, padding);
  Sharding uncut = Sharding::replicated(static_cast<unsigned>(whole.dims.size()));
  forEachShared(boxOf(whole.dims, uncut, mesh, rank), whole.dims, boxOf(whole.dims, sharding, mesh, rank), piece.dims,
                [&](int64_t at, int64_t pieceAt) { copyElement(whole, at, piece, pieceAt); });
  return piece;
}

llvm::Expected<Tensor> assemble(llvm::ArrayRef<Tensor> pieces, llvm::ArrayRef<int64_t> dims, const Sharding &sharding,
                                const Mesh &mesh) {
  Tensor whole = poisoned(dims, pieces.front().element, 1);
  std::vector<int64_t> giver(static_cast<size_t>(whole.numElements()), -1);
  std::optional<std::pair<int64_t, int64_t>> differ; // position, rank
  Sharding uncut = Sharding::replicated(static_cast<unsigned>(dims.size()));
  for (auto [rank, piece] : llvm::enumerate(pieces))
    forEachShared(boxOf(dims, sharding, mesh, static_cast<int64_t>(rank)), piece.dims, boxOf(dims, uncut, mesh, 0),
                  dims, [&, rank = static_cast<int64_t>(rank)](int64_t at, int64_t wholeAt) {
                    int64_t &from = giver[static_cast<size_t>(wholeAt)];
                    if (from >= 0 && !isSameElement(whole, wholeAt, piece, at) && !differ)
                      differ = {wholeAt, rank};
                    if (from < 0)
                      copyElement(piece, at, whole, wholeAt);
                    from = from < 0 ? rank : from;
                  });
  if (differ)
    return noPlanError("ranks {0} and {1} hold element {2} of {3} and differ in it",
                       giver[static_cast<size_t>(differ->first)], differ->second, differ->first, printDims(dims));
  return whole;
}

llvm::Expected<std::vector<Tensor>> runRanks(llvm::ArrayRef<mlir::ModuleOp> programs, llvm::ArrayRef<Tensor> inputs,
                                             const ParameterSource &parameters) {
  assert(!programs.empty() && "a grid runs a program");
  DiagnosticCapture diagnostics(programs.front()->getContext());
  mlir::FailureOr<MeshAttr> mesh = meshOf(programs.front());
  if (mlir::failed(mesh))
    return inputError("the program cannot be run on a grid: {0}", diagnostics.take());
  int64_t numRanks = mesh->getValue().numDevices();
  if (programs.size() != 1 && programs.size() != static_cast<size_t>(numRanks))
    return inputError("{0} programs for {1} ranks", programs.size(), numRanks);
  for (mlir::ModuleOp program : programs)
    if (!mainOf(program))
      return inputError("the program has no function 'main' to run");
  Grid grid(programs, *mesh, parameters, /*padding=*/1);
  llvm::Expected<std::vector<Tensor>> results = grid.run(inputs);
  if (results || !grid.lacksKernel())
    return results;
  llvm::consumeError(results.takeError());
  return Grid(programs, *mesh, parameters, /*padding=*/0).run(inputs);
}

llvm::Expected<std::vector<Tensor>> runGrid(const Program &program, llvm::ArrayRef<Tensor> inputs,
                                            const ParameterSource &parameters) {
  return runRanks(*program.onlyStage().module, inputs, parameters);
}

} // namespace apc

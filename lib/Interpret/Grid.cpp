// All ranks, in turn.
#include "apc/Interpret/Grid.h"

#include "Boxes.h"
#include "Collectives.h"
#include "RankRun.h"

#include "apc/IR/Layout.h"

#include "mlir/IR/Diagnostics.h"

#include <map>

namespace apc {

namespace {

/// What `apc.sharding` and `apc.shape` say of an argument, result or parameter.
struct Layout {
  Sharding sharding;
  llvm::SmallVector<int64_t, 4> dims;
};

llvm::Expected<Layout> readLayout(mlir::DictionaryAttr attributes, const Mesh &mesh, llvm::StringRef what) {
  auto sharding = attributes ? attributes.getAs<mlir::StringAttr>(shardingAttribute) : mlir::StringAttr();
  auto shape = attributes ? attributes.getAs<mlir::DenseI64ArrayAttr>(shapeAttribute) : mlir::DenseI64ArrayAttr();
  if (!sharding || !shape)
    return inputError("{0} does not say '{1}' and '{2}'", what, shardingAttribute, shapeAttribute);
  llvm::Expected<Sharding> parsed = Sharding::parse(sharding.getValue(), mesh);
  if (!parsed)
    return parsed.takeError();
  if (parsed->numDims() != shape.size() || parsed->isPartial())
    return inputError("{0}: {1} is no settled layout of {2} dims", what, sharding.getValue(), shape.size());
  return Layout{std::move(*parsed), {shape.asArrayRef().begin(), shape.asArrayRef().end()}};
}

/// A collective that some ranks of a group have reached.
struct Meeting {
  mlir::Operation *op = nullptr;
  int64_t firstRank = 0;
  size_t numHere = 0;
};

class Grid {
public:
  Grid(llvm::ArrayRef<mlir::ModuleOp> programs, const Mesh &mesh, const ParameterSource &parameters)
      : mesh(mesh), parameters(parameters) {
    for (mlir::ModuleOp program : programs)
      texts.push_back(std::make_unique<ProgramText>(program));
  }

  llvm::Expected<std::vector<Tensor>> run(llvm::ArrayRef<Tensor> inputs);

private:
  const ProgramText &textOf(size_t rank) const { return *texts[texts.size() == 1 ? 0 : rank]; }
  llvm::Error start(llvm::ArrayRef<Tensor> inputs);
  /// Runs every rank until it waits for others or is done; true when one moved.
  llvm::Expected<bool> advanceAll();
  llvm::Error meet(int64_t rank);
  llvm::Error takePlace(mlir::Operation *op, llvm::ArrayRef<int64_t> members, const ProgramStep &step);
  llvm::Error deadlock() const;
  llvm::Expected<TensorRef> pieceOfParameter(mlir::Operation *op, int64_t rank);
  llvm::Expected<std::vector<Tensor>> collect();

  const Mesh &mesh;
  const ParameterSource &parameters;
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
  llvm::Expected<Layout> layout = readLayout(op->getAttrDictionary(), mesh, what);
  if (!layout)
    return layout.takeError();
  auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
  auto wholeType = mlir::RankedTensorType::get(layout->dims, type.getElementType());
  auto known = wholes.find(parameter.getName().str());
  if (known == wholes.end()) {
    llvm::Expected<Tensor> whole = parameters(parameter);
    if (!whole)
      return whole.takeError();
    if (llvm::Error error = checkType(*whole, wholeType, what))
      return error;
    known = wholes.emplace(parameter.getName().str(), std::move(*whole)).first;
  }
  Tensor piece = shardOf(known->second, layout->sharding, mesh, rank);
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
    if (inputs.size() != main.getNumArguments())
      return inputError("'main' takes {0} inputs, {1} are given", main.getNumArguments(), inputs.size());
    std::vector<TensorRef> held;
    for (auto [index, input] : llvm::enumerate(inputs)) {
      std::string what = llvm::formatv("input {0}", index);
      auto layout = readLayout(main.getArgAttrDict(static_cast<unsigned>(index)), mesh, what);
      if (!layout)
        return layout.takeError();
      mlir::Type type = main.getArgument(static_cast<unsigned>(index)).getType();
      auto element = llvm::cast<mlir::RankedTensorType>(type).getElementType();
      if (llvm::Error error = checkType(input, mlir::RankedTensorType::get(layout->dims, element), what))
        return error;
      held.push_back(std::make_shared<Tensor>(shardOf(input, layout->sharding, mesh, rank)));
      if (llvm::Error error = checkType(*held.back(), type, "the piece of " + what))
        return error;
    }
    ranks.back().start(held);
  }
  return llvm::Error::success();
}

llvm::Error Grid::takePlace(mlir::Operation *op, llvm::ArrayRef<int64_t> members, const ProgramStep &step) {
  std::vector<TensorRef> brought;
  llvm::SmallVector<const Tensor *> views;
  for (int64_t member : members) {
    brought.push_back(ranks[static_cast<size_t>(member)].brings());
    views.push_back(brought.back().get());
  }
  for (int64_t member : members) {
    auto output = std::make_shared<Tensor>(takeStep(step, mesh, member, members, views));
    if (llvm::Error error = checkType(*output, op->getResult(0).getType(), "the result of " + describeOp(op)))
      return error;
    ranks[static_cast<size_t>(member)].finishStep(std::move(output));
    isHere[static_cast<size_t>(member)] = false;
  }
  return llvm::Error::success();
}

/// A rank has reached a step: it takes place when the rank is the last of its group.
llvm::Error Grid::meet(int64_t rank) {
  mlir::Operation *op = ranks[static_cast<size_t>(rank)].waitsAt();
  auto step = readStep(op, mesh);
  if (mlir::failed(step))
    return inputError("{0} is no step of the mesh {1}", describeOp(op), mesh.str());
  if (step->kind == StepKind::Slice)
    return takePlace(op, rank, *step); // nobody else takes part
  std::vector<int64_t> members = mesh.group(rank, step->axes);
  llvm::sort(members);
  Meeting &meeting = meetings[members];
  isHere[static_cast<size_t>(rank)] = true;
  if (meeting.numHere++ == 0) {
    meeting.op = op;
    meeting.firstRank = rank;
  } else if (meeting.op->getName() != op->getName() || meeting.op->getAttrDictionary() != op->getAttrDictionary() ||
             meeting.op->getOperand(0).getType() != op->getOperand(0).getType()) {
    return noPlanError("rank {0} meets rank {1} at {2}, but is itself at {3}", rank, meeting.firstRank,
                       describeOp(meeting.op), describeOp(op));
  }
  if (meeting.numHere < members.size())
    return llvm::Error::success();
  meetings.erase(members);
  return takePlace(op, members, *step);
}

llvm::Expected<bool> Grid::advanceAll() {
  bool moved = false;
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    while (!ranks[rank].isDone() && !isHere[rank]) {
      moved = true;
      llvm::Error error = ranks[rank].waitsAt() ? meet(static_cast<int64_t>(rank)) : ranks[rank].advance();
      if (error) {
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
    auto layout = readLayout(main.getResultAttrDict(index), mesh, what);
    if (!layout)
      return layout.takeError();
    std::vector<Tensor> held;
    for (const RankRun &rank : ranks)
      held.push_back(*rank.getResults()[index]);
    llvm::Expected<Tensor> whole = assemble(held, layout->dims, layout->sharding, mesh);
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

Tensor shardOf(const Tensor &whole, const Sharding &sharding, const Mesh &mesh, int64_t rank) {
  assert(!sharding.isPartial() && "a whole tensor has no partial pieces");
  Tensor piece = poisoned(pieceDims(whole.dims, sharding, mesh), whole.element);
  Sharding uncut = Sharding::replicated(static_cast<unsigned>(whole.dims.size()));
  forEachShared(boxOf(whole.dims, uncut, mesh, rank), whole.dims, boxOf(whole.dims, sharding, mesh, rank), piece.dims,
                [&](int64_t at, int64_t pieceAt) { copyElement(whole, at, piece, pieceAt); });
  return piece;
}

llvm::Expected<Tensor> assemble(llvm::ArrayRef<Tensor> pieces, llvm::ArrayRef<int64_t> dims, const Sharding &sharding,
                                const Mesh &mesh) {
  Tensor whole = poisoned(dims, pieces.front().element);
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

llvm::Expected<std::vector<Tensor>> runGrid(llvm::ArrayRef<mlir::ModuleOp> programs, llvm::ArrayRef<Tensor> inputs,
                                            const ParameterSource &parameters) {
  assert(!programs.empty() && "a grid runs a program");
  std::string message;
  mlir::ScopedDiagnosticHandler handler(programs.front()->getContext(), [&](mlir::Diagnostic &diagnostic) {
    message += (message.empty() ? "" : "; ") + diagnostic.str();
    return mlir::success();
  });
  mlir::FailureOr<Mesh> mesh = meshOf(programs.front());
  if (mlir::failed(mesh))
    return inputError("the program cannot be run on a grid: {0}", message);
  if (programs.size() != 1 && programs.size() != static_cast<size_t>(mesh->numDevices()))
    return inputError("{0} programs for {1} ranks", programs.size(), mesh->numDevices());
  for (mlir::ModuleOp program : programs)
    if (!program.lookupSymbol<mlir::func::FuncOp>("main"))
      return inputError("the program has no function 'main' to run");
  return Grid(programs, *mesh, parameters).run(inputs);
}

} // namespace apc

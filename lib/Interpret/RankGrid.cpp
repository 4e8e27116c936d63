// All ranks, in turn.
#include "RankGrid.h"

#include "Boxes.h"
#include "Collectives.h"

#include "apc/IR/MainFunction.h"
#include "apc/Interpret/Grid.h"

#include <functional>
#include <numeric>

namespace apc {

RankGrid::RankGrid(llvm::ArrayRef<StageRanks> stages, llvm::ArrayRef<ActionList> lists,
                   const ParameterSource &parameters, int64_t padding)
    : stages(stages), lists(lists), parameters(parameters), padding(padding),
      numCopies(copiesOf(stages.front().main())), runs(stages.size()) {}

/// Parameters are read once for the first rank that needs them, and cut for each; ranks that read a parameter at the
/// same op share nothing else.
llvm::Expected<TensorRef> RankGrid::pieceOfParameter(const StageRanks &stage, mlir::Operation *op, int64_t rank) {
  auto parameter = llvm::cast<ParameterOp>(op);
  std::string what = "parameter '" + parameter.getName().str() + "'";
  auto type = llvm::cast<mlir::RankedTensorType>(parameter.getOutput().getType());
  llvm::Expected<ShardedShape> sharded = readShape(op->getAttrDictionary(), stage.getMeshAttr(), type, what);
  if (!sharded)
    return sharded.takeError();
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
  Tensor piece = shardOf(known->second, sharded->sharding, stage.getMesh(), rank, padding);
  if (llvm::Error error = checkType(piece, type, "the piece of " + what))
    return error;
  return std::make_shared<Tensor>(std::move(piece));
}

/// A rank runs the copies of a stage as processes of their own, with common inputs and sums.
llvm::Error RankGrid::addStage(const StageRanks &stage, int64_t index, llvm::ArrayRef<const Tensor *> inputs,
                               llvm::MutableArrayRef<Process *> ofCopies) {
  auto held = stage.inputPieces(index, inputs, padding);
  if (!held)
    return held.takeError();
  auto sums = std::make_shared<RunningSums>();
  auto pieceSource = [this, &stage, index](mlir::Operation *op) { return pieceOfParameter(stage, op, index); };
  for (Process *process : ofCopies) {
    auto added = process->stages.emplace(
        stage.getNumber(), StageRun{stage, RankRun(stage.textOf(index), stage.getMesh(), index, pieceSource, sums)});
    added.first->second.run.take(*held);
    runs[stage.getNumber()].push_back(&added.first->second);
  }
  return llvm::Error::success();
}

llvm::Error RankGrid::addProcesses(const ActionList &list, llvm::ArrayRef<std::vector<const Tensor *>> inputs) {
  const StageRanks &first = stages[list.front().stage];
  for (int64_t index = 0; index < first.numRanks(); ++index) {
    llvm::SmallVector<Process *> ofCopies;
    for (int64_t copy = 0; copy < numCopies; ++copy) {
      Process &process = processes.emplace_back();
      process.actions = list;
      process.index = index;
      process.copy = copy;
      process.doesUpdate = copy + 1 == numCopies;
      ofCopies.push_back(&process);
    }
    for (const ProgramAction &action : list) {
      const StageRanks &stage = stages[action.stage];
      if (ofCopies.front()->stages.count(action.stage))
        continue;
      if (stage.getFirstRank() != first.getFirstRank() || stage.numRanks() != first.numRanks())
        return inputError("stages {0} and {1} are one worker's, but have other ranks", first.getNumber(), action.stage);
      if (llvm::Error error = addStage(stage, index, inputs[action.stage], ofCopies))
        return error;
    }
  }
  return llvm::Error::success();
}

llvm::Error RankGrid::start(llvm::ArrayRef<std::vector<const Tensor *>> inputs) {
  for (const ActionList &list : lists) {
    for (const ProgramAction &action : list)
      if (action.stage >= stages.size() || !runs[action.stage].empty())
        return inputError("stage {0} of the program is {1}", action.stage,
                          action.stage < stages.size() ? "in the lists of two workers" : "not there");
    if (llvm::Error error = list.empty() ? llvm::Error::success() : addProcesses(list, inputs))
      return error;
  }
  for (const StageRanks &stage : stages)
    if (copiesOf(stage.main()) != numCopies)
      return inputError("stages {0} and {1} of the program have other numbers of copies of a micro-batch, {2} and {3}",
                        stages.front().getNumber(), stage.getNumber(), numCopies, copiesOf(stage.main()));
  for (const StageRanks &stage : stages)
    if (runs[stage.getNumber()].empty())
      return inputError("stage {0} of the program is in the list of no worker", stage.getNumber());
  return llvm::Error::success();
}

llvm::Error RankGrid::takePlace(const StageRanks &stage, CollectiveInterface op, llvm::ArrayRef<int64_t> members,
                                int64_t copy) {
  const CoalescedCollective &collective = op.getCollective().getValue();
  const Mesh &mesh = stage.getMesh();
  std::vector<TensorRef> buffers;
  for (int64_t member : members) {
    std::vector<TensorRef> brought;
    for (unsigned index = 0; index < collective.values.size(); ++index)
      brought.push_back(runOf(stage, member, copy).run.brings(index));
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
    StageRun &own = runOf(stage, member, copy);
    own.run.finish(held);
    own.isHere = false;
  }
  return llvm::Error::success();
}

/// A rank has reached a collective, which takes place when the rank is the last of its group.
llvm::Error RankGrid::meet(Process &process, StageRun &own, CollectiveInterface op) {
  const StageRanks &stage = own.stage;
  if (op.getCollective().getMesh() != stage.getMeshAttr())
    return inputError("{0} is no collective of the mesh {1}", describeOp(op), stage.getMesh().str());
  if (op.getKind() == CollectiveKind::Slice)
    return takePlace(stage, op, process.index, process.copy); // no other rank takes part
  std::vector<int64_t> members = stage.getMesh().group(process.index, op.getCollective().getValue().axes);
  llvm::sort(members);
  Meeting &meeting = meetings[{stage.getNumber(), members, process.copy}];
  own.isHere = true;
  if (meeting.numHere++ == 0) {
    meeting.op = op;
    meeting.firstRank = process.rank();
  } else if (meeting.op->getName() != op->getName() || meeting.op->getAttrDictionary() != op->getAttrDictionary() ||
             meeting.op->getOperandTypes() != op->getOperandTypes()) {
    return noPlanError("rank {0} meets rank {1} at {2}, but is itself at {3}", process.rank(), meeting.firstRank,
                       describeOp(meeting.op), describeOp(op));
  }
  if (meeting.numHere < members.size())
    return llvm::Error::success();
  meetings.erase({stage.getNumber(), members, process.copy});
  return takePlace(stage, op, members, process.copy);
}

/// The value that a send or a receive is about.
template <typename Op>
static TransferKey keyOf(Op op, const RankRun &run) {
  return {op.getValue().str(), op.isOfStep() ? std::nullopt : std::optional(run.getMicroBatch())};
}

llvm::Error RankGrid::send(Process &process, StageRun &own, SendOp op) {
  auto shape = readShape(op->getAttrDictionary(), own.stage.getMeshAttr(), op.getInput().getType(), describeOp(op));
  if (!shape)
    return shape.takeError();
  Mailbox::Sender sender{own.stage.getNumber(), own.stage.getMesh(), std::move(*shape)};
  if (llvm::Error error = mailbox.put(keyOf(op, own.run), sender, process.index, own.run.brings(0)))
    return error;
  own.run.finish({});
  return llvm::Error::success();
}

llvm::Expected<bool> RankGrid::receive(Process &process, StageRun &own, ReceiveOp op) {
  const Tensor *whole = mailbox.find(keyOf(op, own.run));
  if (!whole)
    return false;
  auto type = llvm::cast<mlir::RankedTensorType>(op.getType());
  auto shape = readShape(op->getAttrDictionary(), own.stage.getMeshAttr(), type, describeOp(op));
  if (!shape)
    return shape.takeError();
  std::string what = printTransfer(keyOf(op, own.run));
  if (llvm::Error error = checkType(*whole, mlir::RankedTensorType::get(shape->dims, type.getElementType()), what))
    return error;
  auto piece = std::make_shared<Tensor>(shardOf(*whole, shape->sharding, own.stage.getMesh(), process.index, padding));
  if (llvm::Error error = checkType(*piece, type, "the piece of " + what))
    return error;
  own.run.finish(TensorRef(piece));
  return true;
}

llvm::Expected<bool> RankGrid::settle(Process &process, StageRun &own) {
  mlir::Operation *op = own.run.waitsAt();
  if (auto receiving = llvm::dyn_cast<ReceiveOp>(op))
    return receive(process, own, receiving);
  auto sending = llvm::dyn_cast<SendOp>(op);
  if (llvm::Error error =
          sending ? send(process, own, sending) : meet(process, own, llvm::cast<CollectiveInterface>(op)))
    return error;
  return true;
}

llvm::Expected<bool> RankGrid::goOn(Process &process, StageRun &own) {
  bool moved = false;
  while (!own.run.isDone() && !own.run.partEnd() && !own.isHere) {
    if (!own.run.waitsAt()) {
      if (llvm::Error error = own.run.advance())
        return error;
    } else if (llvm::Expected<bool> settled = settle(process, own); !settled || !*settled) {
      return settled ? llvm::Expected<bool>(moved) : settled.takeError();
    }
    moved = true;
  }
  return moved;
}

llvm::Error RankGrid::act(Process &process) {
  const ProgramAction &action = process.actions[process.next];
  if (!process.stages.at(action.stage).run.enterPart(action.microBatch * numCopies + process.copy))
    return noPlanError("{0}: the stage has no part of the micro-batch left to run", printAction(action));
  process.isActing = true;
  return llvm::Error::success();
}

/// The action has run to the end of a part.
llvm::Error RankGrid::endAction(Process &process) {
  const ProgramAction &action = process.actions[process.next];
  RankRun &run = process.stages.at(action.stage).run;
  auto end = llvm::dyn_cast_or_null<PartEndOp>(run.partEnd());
  bool isForward = end && end.getPart() == "forward", isInputs = end && !isForward;
  if (action.part == ProgramPart::Backward && isInputs)
    return act(process); // its second part
  bool isRight = action.part == ProgramPart::Forward         ? isForward || !run.hasParts()
                 : action.part == ProgramPart::InputGradient ? isInputs
                                                             : !end && run.hasParts();
  if (!isRight)
    return noPlanError("{0}: the stage has run its {1} part instead", printAction(action),
                       isForward  ? "forward"
                       : isInputs ? "input_gradients"
                                  : "last");
  process.isActing = false;
  ++process.next;
  return llvm::Error::success();
}

llvm::Error RankGrid::enterUpdates(Process &process) {
  for (auto &[number, own] : process.stages) {
    int64_t wanted = microBatchesOf(own.stage.main()) / numCopies;
    if (!own.run.isDone() && (own.run.numFinished() != wanted || !own.run.enterUpdate()))
      return noPlanError("stage {0} has run {1} of its {2} micro-batches to their end", number, own.run.numFinished(),
                         wanted);
  }
  return llvm::Error::success();
}

bool RankGrid::areCopiesRun(const Process &process) const {
  return numCopies == 1 || llvm::all_of(processes, [&](const Process &other) {
           return other.rank() != process.rank() || other.isBeforeUpdate();
         });
}

llvm::Expected<bool> RankGrid::advance(Process &process) {
  bool moved = false;
  while (process.next < process.actions.size()) {
    if (!process.isActing)
      if (llvm::Error error = act(process))
        return error;
    StageRun &own = process.stages.at(process.actions[process.next].stage);
    llvm::Expected<bool> ran = goOn(process, own);
    if (!ran)
      return ran.takeError();
    moved |= *ran;
    if (!own.run.isDone() && !own.run.partEnd())
      return moved;
    if (llvm::Error error = endAction(process))
      return error;
    moved = true;
  }
  if (!process.isUpdating) {
    if (!process.doesUpdate || !areCopiesRun(process))
      return moved;
    process.isUpdating = true;
    if (llvm::Error error = enterUpdates(process))
      return error;
  }
  for (auto &[number, own] : process.stages) {
    llvm::Expected<bool> ran = goOn(process, own);
    if (!ran)
      return ran.takeError();
    moved |= *ran;
  }
  return moved;
}

llvm::Expected<bool> RankGrid::advanceAll() {
  bool moved = false;
  for (Process &process : processes) {
    llvm::Expected<bool> ran = advance(process);
    if (!ran) {
      llvm::Error error = ran.takeError();
      missesKernel = error.isA<MissingKernel>();
      auto [fault, text] = takeMessage(std::move(error));
      return llvm::make_error<PlannerError>(fault, llvm::formatv("rank {0}: {1}", process.rank(), text).str());
    }
    moved |= *ran;
  }
  return moved;
}

/// "at apc.receive 'receive h' in F2 of stage 1, for 'h' of micro-batch 2, nothing of which has come"
std::string RankGrid::placeOf(const Process &process, const StageRun &own) const {
  std::string place = "at " + describeOp(own.run.waitsAt());
  if (stages.size() == 1)
    return place;
  place += process.isActing ? " in " + printAction(process.actions[process.next])
                            : " in the update of stage " + std::to_string(own.stage.getNumber());
  if (auto op = llvm::dyn_cast<ReceiveOp>(own.run.waitsAt()))
    place += ", for " + printTransfer(keyOf(op, own.run)) + ", " + mailbox.stateOf(keyOf(op, own.run));
  return place;
}

llvm::Error RankGrid::deadlock() const {
  std::string waiting;
  unsigned numDone = 0;
  for (const Process &process : processes) {
    numDone += process.isDone();
    for (const auto &[number, own] : process.stages)
      if (own.run.waitsAt())
        waiting +=
            llvm::formatv("{0}rank {1} {2}", waiting.empty() ? "" : ", ", process.rank(), placeOf(process, own)).str();
  }
  return noPlanError("deadlock: {0} ranks are done, the others wait for ever: {1}", numDone, waiting);
}

llvm::Expected<std::vector<std::vector<Tensor>>> RankGrid::collect() {
  std::vector<std::vector<Tensor>> results(stages.size());
  for (const StageRanks &stage : stages) {
    std::vector<const RankRun *> held;
    for (int64_t rank = 0; rank < stage.numRanks(); ++rank)
      held.push_back(&runOf(stage, rank, numCopies - 1).run);
    for (unsigned index = 0; index < stage.main().getNumResults(); ++index) {
      llvm::Expected<Tensor> whole = stage.result(index, held);
      if (!whole)
        return whole.takeError();
      results[stage.getNumber()].push_back(std::move(*whole));
    }
  }
  return results;
}

llvm::Expected<std::vector<std::vector<Tensor>>> RankGrid::run(llvm::ArrayRef<std::vector<const Tensor *>> inputs) {
  if (llvm::Error error = start(inputs))
    return error;
  for (;;) {
    llvm::Expected<bool> moved = advanceAll();
    if (!moved)
      return moved.takeError();
    if (llvm::all_of(processes, [](const Process &process) { return process.isDone(); }))
      return collect();
    if (!*moved)
      return deadlock();
  }
}

} // namespace apc

// Sends held against receives, stages against ranks, and the lists run.
#include "apc/Partition/VerifyTransfers.h"

#include "PipelineLiveness.h"
#include "StageEvents.h"

#include "apc/IR/MainFunction.h"
#include "apc/IR/RuleBuilder.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// One end of a transfer as its stage has it.
struct TransferEnd {
  unsigned stage;
  bool isOfStep;
  llvm::SmallVector<int64_t, 4> dims; ///< of the whole value
  mlir::Type element;
};

template <typename Op>
TransferEnd endOf(Op op, mlir::Value value, unsigned stage) {
  auto shape = op->template getAttrOfType<mlir::DenseI64ArrayAttr>(shapeAttribute);
  llvm::ArrayRef<int64_t> dims = shape ? shape.asArrayRef() : dimsOf(value);
  return {stage, op.isOfStep(), llvm::SmallVector<int64_t, 4>(dims), mlir::getElementTypeOrSelf(value)};
}

/// Both ends of the transfers of a program, by value.
struct Transfers {
  std::map<std::string, std::vector<TransferEnd>> sends, receives;
};

Transfers transfersOf(const Program &program) {
  Transfers transfers;
  for (auto [number, stage] : llvm::enumerate(program.stages)) {
    auto own = static_cast<unsigned>(number);
    for (mlir::Operation &op : mainOf(*stage.module).front())
      if (auto send = llvm::dyn_cast<SendOp>(op))
        transfers.sends[send.getValue().str()].push_back(endOf(send, send.getInput(), own));
      else if (auto receive = llvm::dyn_cast<ReceiveOp>(op))
        transfers.receives[receive.getValue().str()].push_back(endOf(receive, receive.getOutput(), own));
  }
  return transfers;
}

std::string typeText(const TransferEnd &end) {
  std::string text = printDims(end.dims) + " of ";
  llvm::raw_string_ostream stream(text);
  stream << end.element << (end.isOfStep ? " once a step" : " with every micro-batch");
  return text;
}

llvm::Error checkValue(const std::string &value, llvm::ArrayRef<TransferEnd> sends,
                       llvm::ArrayRef<TransferEnd> receives) {
  if (sends.empty())
    return noPlanError("stage {0} receives '{1}', which no stage sends", receives.front().stage, value);
  if (sends.size() > 1)
    return noPlanError("'{0}' is sent by the stages {1} and {2}", value, sends[0].stage, sends[1].stage);
  const TransferEnd &send = sends.front();
  if (receives.empty())
    return noPlanError("stage {0} sends '{1}', which no stage receives", send.stage, value);
  for (const TransferEnd &receive : receives) {
    if (receive.stage == send.stage)
      return noPlanError("stage {0} receives '{1}', which it sends itself", send.stage, value);
    if (receive.dims != send.dims || receive.element != send.element || receive.isOfStep != send.isOfStep)
      return noPlanError("stage {0} receives '{1}' as {2}, but stage {3} sends {4}", receive.stage, value,
                         typeText(receive), send.stage, typeText(send));
  }
  return llvm::Error::success();
}

llvm::Error checkWorkers(const Program &program) {
  std::vector<std::optional<size_t>> workers(program.stages.size()); // by stage
  for (auto [worker, list] : llvm::enumerate(program.workers))
    for (const ProgramAction &action : list) {
      if (action.stage >= workers.size() || workers[action.stage].value_or(worker) != worker)
        return noPlanError("{0} is in the list of worker {1}, but the stage is {2}", printAction(action), worker,
                           action.stage < workers.size() ? "another worker's" : "not there");
      workers[action.stage] = worker;
    }
  for (size_t a = 0; a < workers.size(); ++a) {
    if (!workers[a])
      return noPlanError("stage {0} is in the list of no worker", a);
    for (size_t b = 0; b < a; ++b) {
      const StageProgram &one = program.stages[b], &other = program.stages[a];
      bool areSame = one.firstRank == other.firstRank && one.numRanks == other.numRanks;
      bool areApart =
          one.firstRank + one.numRanks <= other.firstRank || other.firstRank + other.numRanks <= one.firstRank;
      if (workers[a] == workers[b] && !areSame)
        return noPlanError("stages {0} and {1} are one worker's, but have other ranks", b, a);
      if (workers[a] != workers[b] && !areApart)
        return noPlanError("stages {0} and {1} are two workers', but share ranks", b, a);
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::Expected<TransferProof> verifyTransfers(const Program &program) {
  TransferProof proof;
  Transfers transfers = transfersOf(program);
  for (const auto &[value, receives] : transfers.receives)
    transfers.sends.try_emplace(value);
  for (const auto &[value, sends] : transfers.sends) {
    const std::vector<TransferEnd> &receives = transfers.receives[value];
    if (llvm::Error error = checkValue(value, sends, receives))
      return error;
    proof.numTransfers += static_cast<unsigned>(receives.size());
  }
  if (program.workers.empty())
    return proof;
  if (llvm::Error error = checkWorkers(program))
    return error;
  llvm::Expected<std::vector<WorkerEvents>> workers = stageEvents(program);
  if (!workers)
    return workers.takeError();
  if (llvm::Error error = runEvents(*workers, /*isRendezvous=*/false))
    return error;
  if (llvm::Error error = runEvents(*workers, /*isRendezvous=*/true))
    proof.rendezvousDeadlock = takeMessage(std::move(error)).second;
  llvm::Expected<std::vector<int64_t>> bytes = workerBytes(program);
  if (!bytes)
    return bytes.takeError();
  proof.peakBytes = std::move(*bytes);
  return proof;
}

} // namespace apc

// manifest.json of a program with a pipeline: ranks, stages, the values between them, and actions.
#include "Manifest.h"

#include "apc/IR/MainFunction.h"
#include "apc/IR/NumberInputs.h"
#include "apc/IR/Ops/Spmd/Spmd.h"
#include "apc/Support/Json/JsonWriter.h"

#include <map>
#include <set>

namespace apc {

namespace {

constexpr llvm::StringLiteral onceAStep = "step", withEachMicroBatch = "micro-batch";

/// The stages that read an input, and when they do.
struct InputUse {
  std::vector<size_t> stages;
  bool isOfStep = true; ///< read behind the last micro-batch alone
  std::optional<int64_t> batchDim = {};
  std::string number = {}; ///< of the step, where it is one
};

/// A value that goes from one stage to others.
struct StageTransfer {
  std::string value;
  size_t from;
  bool isOfStep;
};

/// The ends of all values of a program by their names.
struct ProgramEnds {
  std::map<std::string, InputUse> inputs;
  std::map<std::string, size_t> outputs;              ///< their stages
  std::vector<StageTransfer> transfers;               ///< by stage, in its order
  std::map<std::string, std::vector<size_t>> readers; ///< of transfers: stages
};

bool isReadOnceAStep(mlir::BlockArgument argument, mlir::func::FuncOp main) {
  MicroBatchEndOp end = microBatchEndOf(main);
  return end && llvm::all_of(argument.getUsers(), [&](mlir::Operation *user) { return end->isBeforeInBlock(user); });
}

void addStage(size_t number, mlir::func::FuncOp main, ProgramEnds &ends) {
  for (mlir::BlockArgument argument : main.getArguments())
    if (auto name = main.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), nameAttribute)) {
      InputUse &use = ends.inputs[name.str()];
      use.stages.push_back(number);
      use.isOfStep &= isReadOnceAStep(argument, main);
      if (auto dim = main.getArgAttrOfType<mlir::IntegerAttr>(argument.getArgNumber(), batchDimAttribute))
        use.batchDim = dim.getInt();
      if (auto number = main.getArgAttrOfType<mlir::StringAttr>(argument.getArgNumber(), numberAttribute))
        use.number = number.str();
    }
  for (unsigned index = 0; index < main.getNumResults(); ++index)
    if (auto name = main.getResultAttrOfType<mlir::StringAttr>(index, nameAttribute))
      ends.outputs[name.str()] = number;
  for (SendOp send : main.getOps<SendOp>())
    ends.transfers.push_back({send.getValue().str(), number, send.isOfStep()});
  for (ReceiveOp receive : main.getOps<ReceiveOp>())
    ends.readers[receive.getValue().str()].push_back(number);
}

ProgramEnds endsOf(const Program &program) {
  ProgramEnds ends;
  for (auto [number, stage] : llvm::enumerate(program.stages))
    addStage(number, mainOf(*stage.module), ends);
  return ends;
}

/// "F 0 3": the part, the stage and the micro-batch.
std::string actionText(const ProgramAction &action) {
  return llvm::formatv("{0} {1} {2}", "FIWB"[static_cast<size_t>(action.part)], action.stage, action.microBatch).str();
}

/// The stages of a worker, in the order of the model.
std::set<unsigned> stagesOf(llvm::ArrayRef<ProgramAction> list) {
  std::set<unsigned> stages;
  for (const ProgramAction &action : list)
    stages.insert(action.stage);
  return stages;
}

class PipelinePrinter {
public:
  explicit PipelinePrinter(const Program &program) : program(program), ends(endsOf(program)) {}

  std::string print(const ManifestHead &head);

private:
  void objectInOneLine(llvm::function_ref<void(JsonObjectWriter &)> write) {
    json.oneLine([&] { json.object(write); });
  }
  void writeInputs();
  void writeOutputs();
  void writeStages();
  void writeWorkers();
  void writeTransfers();

  const Program &program;
  ProgramEnds ends;
  JsonWriter json;
};

void PipelinePrinter::writeInputs() {
  for (const std::string &name : program.inputs)
    objectInOneLine([&](JsonObjectWriter &entry) {
      const InputUse &use = ends.inputs[name];
      entry("name", name);
      entry("stages", use.stages);
      entry("each", use.isOfStep ? onceAStep : withEachMicroBatch);
      if (use.batchDim)
        entry("batch_dim", *use.batchDim);
      if (!use.number.empty())
        entry("number", use.number);
    });
}

void PipelinePrinter::writeOutputs() {
  for (const std::string &name : program.results)
    objectInOneLine([&](JsonObjectWriter &entry) {
      entry("name", name);
      entry("stage", ends.outputs[name]);
    });
}

void PipelinePrinter::writeStages() {
  for (auto [number, stage] : llvm::enumerate(program.stages))
    objectInOneLine([&, number = number, &stage = stage](JsonObjectWriter &entry) {
      entry("folder", stageFolderName(number));
      entry("first_rank", stage.firstRank);
      entry("devices", stage.numRanks);
    });
}

void PipelinePrinter::writeWorkers() {
  for (const std::vector<ProgramAction> &list : program.workers) {
    std::set<unsigned> stages = stagesOf(list);
    objectInOneLine([&](JsonObjectWriter &entry) {
      entry("first_rank", program.stages[*stages.begin()].firstRank);
      entry("devices", program.stages[*stages.begin()].numRanks);
      entry("stages", std::vector<unsigned>(stages.begin(), stages.end()));
      entry("actions", llvm::map_to_vector(list, actionText));
    });
  }
}

void PipelinePrinter::writeTransfers() {
  for (const StageTransfer &transfer : ends.transfers)
    objectInOneLine([&](JsonObjectWriter &entry) {
      entry("name", transfer.value);
      entry("from", transfer.from);
      entry("to", ends.readers[transfer.value]);
      entry("each", transfer.isOfStep ? onceAStep : withEachMicroBatch);
    });
}

std::string PipelinePrinter::print(const ManifestHead &head) {
  int64_t devices = 0;
  for (const StageProgram &stage : program.stages)
    devices = std::max(devices, stage.firstRank + stage.numRanks);
  json.object([&](JsonObjectWriter &object) {
    writeHead(json, object, head);
    object("devices", devices);
    mlir::func::FuncOp main = mainOf(*program.stages.front().module);
    object("micro_batches", microBatchesOf(main));
    if (copiesOf(main) > 1)
      object("copies", copiesOf(main));
    object.list("inputs", [&] { writeInputs(); });
    object.list("outputs", [&] { writeOutputs(); });
    object.list("stages", [&] { writeStages(); });
    object.list("workers", [&] { writeWorkers(); });
    object.list("transfers", [&] { writeTransfers(); });
  });
  return json.take() + "\n";
}

} // namespace

std::string printPipeline(const Program &program, const ManifestHead &head) {
  return PipelinePrinter(program).print(head);
}

} // namespace apc

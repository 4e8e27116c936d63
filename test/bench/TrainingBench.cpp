// Training steps: seconds of each part on the way from a model to its plan, by layers and devices; and of the whole
// command. Each row runs in a process of its own, so that its peak memory is its own.
//
//   bench-TrainingBench MODEL.onnx [--cluster NAME] [--devices N] [--loss NAME] [--global-batch N --micro-batch N]
//                       [--pipeline N]
#include "OwnProcess.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/PlanModel.h"
#include "apc/Driver/TrainModel.h"
#include "apc/IR/Apc.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"
#include "apc/Transforms/KeepLayers.h"
#include "apc/Transforms/RecognizeComposites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <chrono>

using namespace apc;

namespace {

using Clock = std::chrono::steady_clock;

/// Seconds since the last lap.
class Laps {
public:
  std::string next() {
    Clock::time_point now = Clock::now();
    double seconds = std::chrono::duration<double>(now - std::exchange(last, now)).count();
    return formatSeconds(seconds);
  }

private:
  Clock::time_point last = Clock::now();
};

/// Cells: seconds of the import, of the training step and of the plan; ops; step, gap, peak memory.
llvm::Expected<std::vector<std::string>> planLayers(PlanRequest request, int64_t layers, int64_t devices) {
  request.devices = devices;
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  Laps laps;
  llvm::Expected<ImportedModel> model = importForRequest(request, context);
  if (!model)
    return model.takeError();
  std::vector<std::string> cells = {laps.next()};
  if (llvm::Expected<unsigned> gone = keepLayers(*model->module, layers); !gone)
    return gone.takeError();
  recognizeComposites(*model->module);
  laps.next();
  llvm::Expected<TrainingStep> step = requestedStep(*model->module, request);
  if (!step)
    return step.takeError();
  cells.push_back(laps.next());
  PlanningControl control;
  control.numThreads = 2;
  llvm::Expected<Plan> plan = planModule(*step->module, request, control);
  if (!plan)
    return plan.takeError();
  std::string seconds = laps.next();
  llvm::append_values(cells, formatSeconds(plan->timing.problemSeconds), formatSeconds(plan->timing.searchSeconds),
                      seconds, std::to_string(plan->numChoices()), formatSeconds(plan->stepSeconds),
                      llvm::formatv("{0:f2} %", 100 * plan->gap).str(), peakMemory());
  return cells;
}

/// Cells: seconds of the whole command, with layouts of experts; step, gap, peak memory.
std::vector<std::string> commandOf(PlanRequest request, int64_t devices) {
  request.devices = devices;
  Laps laps;
  PlanningControl control;
  control.numThreads = 2;
  llvm::Expected<Plan> plan = planModel(request, control);
  if (!plan)
    return {"error: " + takeMessage(plan.takeError()).second};
  return {laps.next(), formatSeconds(plan->stepSeconds), llvm::formatv("{0:f2} %", 100 * plan->gap).str(),
          peakMemory()};
}

/// A table of rows that run in processes of their own, for each number of devices.
void printCommands(const PlanRequest &request, llvm::ArrayRef<int64_t> sizes) {
  TextTable table;
  for (const char *title : {"devices", "apc plan", "step", "gap", "peak memory"})
    table.addColumn(title, TextTable::Align::Right);
  for (int64_t devices : sizes) {
    std::vector<std::string> row = {std::to_string(devices)};
    llvm::append_range(row, inOwnProcess([&] { return commandOf(request, devices); }));
    table.addRow(std::move(row));
  }
  llvm::outs() << "\n";
  table.print(llvm::outs());
}

std::vector<std::string> rowOf(const PlanRequest &request, int64_t layers, int64_t devices) {
  llvm::Expected<std::vector<std::string>> cells = planLayers(request, layers, devices);
  return cells ? std::move(*cells) : std::vector{"error: " + takeMessage(cells.takeError()).second};
}

} // namespace

int main(int argc, char **argv) {
  PlanRequest request;
  std::vector<int64_t> sizes = {64, 1024}; // devices
  for (int index = 1; index < argc; ++index) {
    llvm::StringRef flag = argv[index], value = index + 1 < argc ? argv[index + 1] : "";
    int64_t number = 0;
    bool isNumber = !value.getAsInteger(10, number);
    if (!flag.starts_with("--")) {
      request.modelPath = flag.str();
      continue;
    }
    ++index;
    if (flag == "--cluster")
      request.cluster = value.str();
    else if (flag == "--loss")
      request.loss = value.str();
    else if (flag == "--devices" && isNumber)
      sizes = {number};
    else if (flag == "--global-batch" && isNumber)
      request.globalBatch = number;
    else if (flag == "--micro-batch" && isNumber)
      request.microBatch = number;
    else if (flag == "--pipeline" && isNumber)
      request.pipeline = {number};
    else
      request.modelPath.clear();
  }
  if (request.modelPath.empty()) {
    llvm::errs() << "bench-TrainingBench MODEL.onnx [--cluster NAME] [--devices N] [--loss NAME] [--global-batch N "
                    "--micro-batch N] [--pipeline N]\n";
    return 2;
  }
  TextTable table;
  for (const char *title : {"layers", "devices", "import", "training step", "tables", "search", "plan", "ops", "step",
                            "gap", "peak memory"})
    table.addColumn(title, TextTable::Align::Right);
  for (int64_t layers : {12, 24, 48, 96})
    for (int64_t devices : sizes) {
      std::vector<std::string> row = {std::to_string(layers), std::to_string(devices)};
      llvm::append_range(row, inOwnProcess([&] { return rowOf(request, layers, devices); }));
      table.addRow(std::move(row));
    }
  table.print(llvm::outs());
  printCommands(request, sizes);
  return 0;
}

// Whole plans: import and plan seconds of a real model at several sizes of the cluster, and growth with the number of
// layers.
//
//   bench-PlanBench MODEL.onnx [--dim NAME=N ...] [--search NAME] [--cluster NAME]
//
// Without a model: only the table of layers. The search is the one that `apc plan` takes by default.
#include "OwnProcess.h"

#include "apc/Driver/PlanModel.h"
#include "apc/IR/Apc.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <chrono>

using namespace apc;

namespace {

int fail(llvm::Error error) {
  llvm::errs() << "bench: " << takeMessage(std::move(error)).second << "\n";
  return 1;
}

/// One pre-norm transformer layer on tensor<4x2048x4096xf16> with 32 heads, fused nothing, as exporters write it.
void printLayer(llvm::raw_ostream &os, unsigned layer) {
  std::string in = layer == 0 ? "%x" : "%y" + std::to_string(layer - 1), s = std::to_string(layer);
  const char *flat = "tensor<4x2048x4096xf16>", *heads = "tensor<4x2048x32x128xf16>";
  const char *split = "tensor<4x32x2048x128xf16>", *scores = "tensor<4x32x2048x2048xf16>";
  auto op = [&](const std::string &result, const char *name, const std::string &operands, const std::string &types,
                const char *type, const char *attributes = "") {
    os << "  %" << result << " = \"apc." << name << "\"(" << operands << ") " << attributes << ": (" << types << ") -> "
       << type << "\n";
  };
  auto weight = [&](const std::string &name, const char *type) {
    os << "  %" << name << s << " = apc.parameter \"" << name << s << "\" \"empty\" : " << type << "\n";
  };
  for (const char *name : {"wq", "wk", "wv", "wo"})
    weight(name, "tensor<4096x4096xf16>");
  weight("up", "tensor<4096x16384xf16>");
  weight("down", "tensor<16384x4096xf16>");
  const std::string square = std::string(flat) + ", tensor<4096x4096xf16>";
  for (const char *name : {"q", "k", "v"}) {
    std::string n = name + s;
    op("p" + n, "matmul", in + ", %w" + n, square, flat);
    op("r" + n, "reshape", "%p" + n + ", %heads", std::string(flat) + ", tensor<4xi64>", heads);
    op(n, "transpose", "%r" + n, heads, name == std::string("k") ? "tensor<4x32x128x2048xf16>" : split,
       name == std::string("k") ? "{perm = array<i64: 0, 2, 3, 1>} " : "{perm = array<i64: 0, 2, 1, 3>} ");
  }
  op("a" + s, "matmul", "%q" + s + ", %k" + s, std::string(split) + ", tensor<4x32x128x2048xf16>", scores);
  op("m" + s, "softmax", "%a" + s, scores, scores, "{axis = -1 : i64} ");
  op("o" + s, "matmul", "%m" + s + ", %v" + s, std::string(scores) + ", " + split, split);
  op("t" + s, "transpose", "%o" + s, split, heads, "{perm = array<i64: 0, 2, 1, 3>} ");
  op("f" + s, "reshape", "%t" + s + ", %flat", std::string(heads) + ", tensor<3xi64>", flat);
  op("c" + s, "matmul", "%f" + s + ", %wo" + s, square, flat);
  op("e" + s, "add", in + ", %c" + s, std::string(flat) + ", " + flat, flat);
  op("u" + s, "matmul", "%e" + s + ", %up" + s, std::string(flat) + ", tensor<4096x16384xf16>",
     "tensor<4x2048x16384xf16>");
  op("g" + s, "relu", "%u" + s, "tensor<4x2048x16384xf16>", "tensor<4x2048x16384xf16>");
  op("d" + s, "matmul", "%g" + s + ", %down" + s, "tensor<4x2048x16384xf16>, tensor<16384x4096xf16>", flat);
  op("y" + s, "add", "%e" + s + ", %d" + s, std::string(flat) + ", " + flat, flat);
}

std::string transformer(unsigned layers) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "func.func @main(%x: tensor<4x2048x4096xf16>) -> tensor<4x2048x4096xf16> {\n"
     << "  %heads = apc.constant dense<[4, 2048, 32, 128]> : tensor<4xi64>\n"
     << "  %flat = apc.constant dense<[4, 2048, 4096]> : tensor<3xi64>\n";
  for (unsigned layer = 0; layer < layers; ++layer)
    printLayer(os, layer);
  os << "  return %y" << layers - 1 << " : tensor<4x2048x4096xf16>\n}\n";
  return text;
}

PlanningControl twoThreads() {
  PlanningControl control;
  control.numThreads = 2;
  return control;
}

/// Processor seconds.
llvm::Expected<double> planSeconds(unsigned layers, int64_t devices) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(transformer(layers), &context);
  if (!module)
    return internalError("the benchmark's module does not parse");
  PlanRequest request;
  request.mode = StepMode::Infer;
  request.modelPath = "transformer";
  request.devices = devices;
  double begin = processorSeconds();
  llvm::Expected<Plan> plan = planModule(*module, request, twoThreads());
  return plan ? llvm::Expected<double>(processorSeconds() - begin) : plan.takeError();
}

int benchLayers() {
  TextTable table;
  table.addColumn("layers", TextTable::Align::Right);
  for (const char *title : {"plan, 64 devices", "a layer", "plan, 1,024 devices", "a layer"})
    table.addColumn(title, TextTable::Align::Right);
  for (unsigned layers : {12, 24, 48, 96}) {
    std::vector<std::string> row = {std::to_string(layers)};
    for (int64_t devices : {64, 1024}) {
      llvm::Expected<double> seconds = planSeconds(layers, devices);
      if (!seconds)
        return fail(seconds.takeError());
      row.push_back(formatSeconds(*seconds));
      row.push_back(formatSeconds(*seconds / layers));
    }
    table.addRow(std::move(row));
  }
  table.print(llvm::outs());
  return 0;
}

int benchModel(PlanRequest request) {
  TextTable table;
  table.addColumn("model");
  for (const char *title : {"devices", "devices used", "import", "tables", "search", "total", "processor time", "step",
                            "gap", "peak memory"})
    table.addColumn(title, TextTable::Align::Right);
  for (int64_t devices : {8, 64, 1024, 16384}) {
    request.devices = devices;
    double begin = processorSeconds();
    llvm::Expected<Plan> plan = planModel(request, twoThreads());
    double work = processorSeconds() - begin;
    if (!plan) {
      llvm::errs() << devices << " devices: " << takeMessage(plan.takeError()).second << "\n";
      continue;
    }
    const PlanTiming &timing = plan->timing;
    table.addRow({request.modelPath, std::to_string(devices), std::to_string(plan->numRanks()),
                  formatSeconds(timing.importSeconds), formatSeconds(timing.problemSeconds),
                  formatSeconds(timing.searchSeconds), formatSeconds(timing.totalSeconds), formatSeconds(work),
                  formatSeconds(plan->stepSeconds), llvm::formatv("{0:f2} %", 100 * plan->gap).str(), peakMemory()});
  }
  table.print(llvm::outs());
  llvm::outs() << "\n";
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  PlanRequest request;
  request.mode = StepMode::Infer;
  llvm::StringRef before;
  for (llvm::StringRef argument : llvm::ArrayRef(argv, argc).drop_front()) {
    llvm::StringRef flag = before;
    before = argument;
    if (flag == "--search" || flag == "--cluster") {
      (flag == "--search" ? request.search : request.cluster) = argument.str();
      continue;
    }
    auto [name, value] = argument.split('=');
    int64_t size = 0;
    if (!value.getAsInteger(10, size))
      request.dims[name.str()] = size;
    else if (!argument.starts_with("--"))
      request.modelPath = argument.str();
  }
  if (!request.modelPath.empty())
    if (int code = benchModel(request))
      return code;
  return benchLayers();
}

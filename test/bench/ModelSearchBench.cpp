// The searches on a real model's problems: for each number of devices, every logical mesh's problem is built once and
// given to each search. Seconds are processor seconds, summed over the meshes; the answer is the best mesh's.
//
//   bench-ModelSearchBench MODEL.onnx DEVICES,... SEARCH,... [--dim NAME=N ...]
#include "OwnProcess.h"

#include "apc/Cluster/Cluster.h"
#include "apc/Driver/ImportStep.h"
#include "apc/Driver/PlanModel.h"
#include "apc/Planning/BuildProblem.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"
#include "apc/Transforms/BuildGraph.h"

#include "mlir/IR/MLIRContext.h"

using namespace apc;

namespace {

std::string size(size_t number) { return std::to_string(number); }

/// One search on the problems of all meshes.
std::vector<std::string> measure(const Search &search, llvm::ArrayRef<PlanningProblem> problems) {
  double begin = processorSeconds(), slowest = 0;
  std::optional<double> best, bound;
  for (const PlanningProblem &planning : problems) {
    double start = processorSeconds();
    llvm::Expected<SearchResult> result = search.run(planning.problem, {.gapTolerance = 1e-3});
    slowest = std::max(slowest, processorSeconds() - start);
    if (!result) {
      llvm::errs() << takeMessage(result.takeError()).second << "\n";
      continue;
    }
    if (!result->hasAnswer())
      continue;
    best = std::min(best.value_or(result->seconds), result->seconds);
    bound = std::min(bound.value_or(result->lowerBoundSeconds), result->lowerBoundSeconds);
  }
  double all = processorSeconds() - begin;
  return {search.name.str(),
          formatSeconds(all),
          formatSeconds(slowest),
          best ? llvm::formatv("{0:f6}", *best).str() : "none",
          bound ? llvm::formatv("{0:f6}", *bound).str() : "none",
          best && *best > 0 ? llvm::formatv("{0:f2} %", 100 * std::max(0.0, 1 - *bound / *best)).str() : ""};
}

llvm::Error addRows(const OpGraph &graph, int64_t devices, llvm::ArrayRef<llvm::StringRef> searches, TextTable &table) {
  llvm::Expected<Cluster> preset = loadCluster("dgx-a100-80gb", {});
  if (!preset)
    return preset.takeError();
  std::string note;
  llvm::Expected<Cluster> cluster = withDevices(*preset, devices, &note);
  if (!cluster)
    return cluster.takeError();
  std::vector<PlanningProblem> problems;
  size_t pairTables = 0;
  for (const Mesh &mesh : logicalMeshes(Mesh::fromLevels(cluster->pool.levelSizes()), /*maxAxes=*/3)) {
    problems.push_back(buildProblem(graph, CostModel(cluster->pool, mesh)));
    problems.back().problem.memoryLimitBytes = cluster->pool.device.memoryBytes / 20 * 19;
    pairTables += problems.back().problem.pairTables.size();
  }
  for (llvm::StringRef name : searches) {
    llvm::Expected<Search> search = findSearch(name);
    if (!search)
      return search.takeError();
    std::vector<std::string> row = {std::to_string(devices), size(problems.size()), size(graph.ops.size()),
                                    size(problems.front().problem.edges.size()), size(pairTables)};
    llvm::append_range(row, measure(*search, problems));
    table.addRow(std::move(row));
  }
  return llvm::Error::success();
}

llvm::Error run(llvm::ArrayRef<llvm::StringRef> arguments) {
  if (arguments.size() < 3)
    return inputError("usage: bench-ModelSearchBench MODEL.onnx DEVICES,... SEARCH,... [--dim NAME=N ...]");
  ImportOptions options;
  for (size_t index = 3; index + 1 < arguments.size(); index += 2) {
    auto [name, number] = arguments[index + 1].split('=');
    options.dims[name.str()] = std::stoll(number.str());
  }
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  llvm::Expected<ImportedModel> model = importOnnx(arguments[0], options, context);
  if (!model)
    return model.takeError();
  llvm::Expected<OpGraph> graph = graphOfModel(*model->module, arguments[0]);
  if (!graph)
    return graph.takeError();
  TextTable table;
  for (const char *title : {"devices", "meshes", "nodes", "edges", "pair tables", "search", "all meshes",
                            "slowest mesh", "answer", "bound", "gap"})
    table.addColumn(title, TextTable::Align::Right);
  llvm::SmallVector<llvm::StringRef> sizes, searches;
  arguments[1].split(sizes, ',');
  arguments[2].split(searches, ',');
  for (llvm::StringRef devices : sizes)
    if (llvm::Error error = addRows(*graph, std::stoll(devices.str()), searches, table))
      return error;
  table.print(llvm::outs());
  return llvm::Error::success();
}

} // namespace

int main(int argc, char **argv) {
  llvm::SmallVector<llvm::StringRef> arguments(argv + 1, argv + argc);
  if (llvm::Error error = run(arguments)) {
    llvm::errs() << "bench: " << takeMessage(std::move(error)).second << "\n";
    return 1;
  }
  return 0;
}

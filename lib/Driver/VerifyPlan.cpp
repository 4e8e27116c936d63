// From a plan's file to the proof of its program.
#include "apc/Driver/VerifyPlan.h"

#include "PrintVerified.h"
#include "Program/CarryOut.h"

#include "apc/Driver/GraphOfStep.h"
#include "apc/Driver/PlanFile.h"
#include "apc/IR/Opaque.h"
#include "apc/IR/Program/Statistics.h"
#include "apc/Planning/CheckStatements.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/StringExtras.h"

#include <chrono>

namespace apc {

namespace {

/// The flags of a model that is smaller than one made with `shrinkage`.
std::string smallerFlags(const Plan &plan, const Shrinkage &shrinkage) {
  std::string flags;
  for (const auto &[name, extent] : plan.request.dims) {
    auto given = shrinkage.dims.find(name);
    int64_t now = given == shrinkage.dims.end() ? extent : given->second;
    flags += llvm::formatv(" --dim {0}={1}", name, std::max<int64_t>(1, now / 8)).str();
  }
  auto stages = static_cast<int64_t>(plan.stages.size()); // with a layer each
  int64_t layers = shrinkage.layers ? std::min<int64_t>(2, *shrinkage.layers - 1) : 2;
  layers = std::max({int64_t(1), layers, stages > 1 ? stages : 1});
  int64_t divisor = shrinkage.hiddenDivisor ? 4 * *shrinkage.hiddenDivisor : 16;
  return flags + llvm::formatv(" --layers {0} --hidden-scale 1/{1}", layers, divisor).str();
}

/// One device holds every parameter, in double, and does all the work.
llvm::Error checkSize(mlir::ModuleOp module, const Plan &plan, const Shrinkage &shrinkage) {
  constexpr double mostFlops = 5e10;
  constexpr int64_t mostParameters = int64_t(1) << 27;
  ModuleStatistics size = statistics(module);
  if (size.forwardFlops <= mostFlops && size.parameters <= mostParameters)
    return llvm::Error::success();
  return inputError("{0} is too large to execute: {1} and {2} parameters, where at most {3} and {4} are run; a smaller "
                    "model of the same structure will do:{5}{6}",
                    plan.request.modelPath, formatFlops(size.forwardFlops),
                    formatCount(static_cast<double>(size.parameters)), formatFlops(mostFlops),
                    formatCount(static_cast<double>(mostParameters)), smallerFlags(plan, shrinkage),
                    plan.request.dims.empty() ? "; batch and sequence are fixed in the file, so a model of long "
                                                "sequences may stay too large: export it with smaller ones"
                                              : "");
}

/// Imports the model, holds what the plan says against it, and partitions it.
llvm::Expected<SmallerProgram> programOf(const VerifyOptions &options, Plan plan) {
  llvm::Expected<std::string> model = findModel(plan, options.planPath, options.modelPath);
  if (!model)
    return model.takeError();
  if (!options.shrinkage.isNone())
    return buildSmallerProgram(plan, *model, options.shrinkage);
  llvm::Expected<PlannedProgram> planned = importPlanned(plan, *model);
  if (!planned)
    return planned.takeError();
  llvm::Expected<OpGraph> graph = graphOfStep(*planned->original, planned->modelPath, plan.request);
  if (!graph)
    return graph.takeError();
  if (llvm::Error error = checkStatements(*graph, plan)) {
    auto [fault, message] = takeMessage(std::move(error));
    return llvm::make_error<PlannerError>(fault, options.planPath + ": " + message);
  }
  llvm::Expected<PlannedProgram> carried = withProgram(std::move(*planned), plan);
  if (!carried)
    return carried.takeError();
  return SmallerProgram{std::move(*carried), std::move(plan)};
}

} // namespace

llvm::Expected<VerifiedPlan> verifyPlan(const VerifyOptions &options) {
  auto begin = std::chrono::steady_clock::now();
  llvm::Expected<Plan> plan = loadPlan(options.planPath);
  if (!plan)
    return plan.takeError();
  llvm::Expected<SmallerProgram> carried = programOf(options, *plan);
  if (!carried)
    return carried.takeError();
  carried->plan.request.modelPath = carried->planned.modelPath;
  mlir::ModuleOp original = *carried->planned.original;
  const Program &program = carried->planned.program;
  VerifiedPlan verified;
  if (llvm::Error error = prove(carried->planned, carried->plan, verified))
    return error;
  verified.opaque = listOpaque(original);
  if (options.execute && !verified.opaque.empty())
    return inputError("{0}: the program cannot be run, because nobody knows what {1} computes; without --execute its "
                      "sharding is proven",
                      plan->request.modelPath, llvm::join(verified.opaque, ", "));
  if (options.execute) {
    if (llvm::Error error = checkSize(original, *plan, options.shrinkage))
      return error;
    llvm::Expected<ModelData> data = ModelData::open(carried->planned.modelPath);
    if (!data)
      return data.takeError();
    DrawnParameters drawn;
    llvm::Expected<std::vector<OutputError>> outputs =
        executeProgram(*carried->planned.imported, program, parametersOf(*data, &carried->planned.folded, &drawn));
    if (!outputs)
      return outputs.takeError();
    verified.outputs = std::move(*outputs);
    verified.drawn.assign(drawn.get().begin(), drawn.get().end());
    verified.agrees = llvm::all_of(verified.outputs, [](const OutputError &output) { return output.agrees(); });
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  verified.summary = verifiedSummary(carried->plan, verified, seconds);
  verified.json = verifiedDocument(carried->plan, verified);
  return verified;
}

} // namespace apc

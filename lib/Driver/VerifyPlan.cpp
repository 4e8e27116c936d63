// From a plan's file to the proof of its program.
#include "apc/Driver/VerifyPlan.h"

#include "apc/Driver/PlanFile.h"
#include "apc/IR/Program/Statistics.h"
#include "apc/Support/Error.h"
#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/Units.h"

#include <chrono>

namespace apc {

namespace {

std::string bytes(int64_t count) { return formatBytes(static_cast<double>(count)); }

std::string summaryOf(const Plan &plan, const VerifiedPlan &verified, double seconds) {
  const ProgramProof &proof = verified.proof;
  std::string text =
      llvm::formatv("{0}: the program of {1} devices is the model\n"
                    "  {2} operators stand for the model's, each under its strategy\n"
                    "  {3} collective steps, {4} masks, {5} functions besides main\n"
                    "  memory of one device: parameters {6} of {7} planned, peak {8} of {9} planned\n",
                    plan.request.modelPath, plan.numRanks(), proof.numOps, proof.numCollectives, proof.numMasks,
                    proof.numFunctions, bytes(proof.parameterBytes), bytes(plan.memory[MemoryCategory::Parameters]),
                    bytes(proof.peakBytes), bytes(plan.memory.total()));
  for (const OutputError &output : verified.outputs)
    text +=
        llvm::formatv("  output '{0}': {1}; differs by {2:e1}, {3:e1} of its largest element ({4:e1} is accepted)\n",
                      output.name, output.agrees() ? "agrees with one device" : "DIFFERS FROM ONE DEVICE",
                      output.absolute, output.relative, output.accepted);
  return text + "  done in " + formatSeconds(seconds) + "\n";
}

std::string documentOf(const Plan &plan, const VerifiedPlan &verified) {
  const ProgramProof &proof = verified.proof;
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("verified", verified.agrees);
    object("model", plan.request.modelPath);
    object("devices", plan.numRanks());
    object("operators", proof.numOps);
    object("steps", proof.numCollectives);
    object("masks", proof.numMasks);
    object("functions", proof.numFunctions);
    object("parameter_bytes", proof.parameterBytes);
    object("peak_bytes", proof.peakBytes);
    object("planned_peak_bytes", plan.memory.total());
    object.list("outputs", [&] {
      for (const OutputError &output : verified.outputs)
        json.object([&](JsonObjectWriter &entry) {
          entry("name", output.name);
          entry("agrees", output.agrees());
          entry("absolute_error", output.absolute);
          entry("relative_error", output.relative);
        });
    });
  });
  return json.take() + "\n";
}

/// One device holds every parameter, in double, and does all the work.
llvm::Error checkSize(mlir::ModuleOp module, const Plan &plan) {
  constexpr double mostFlops = 5e10;
  constexpr int64_t mostParameters = int64_t(1) << 27;
  ModuleStatistics size = statistics(module);
  if (size.forwardFlops <= mostFlops && size.parameters <= mostParameters)
    return llvm::Error::success();
  std::string dims;
  for (const auto &[name, extent] : plan.request.dims)
    dims += llvm::formatv(" --dim {0}={1}", name, std::max<int64_t>(1, extent / 8)).str();
  return inputError("{0} is too large to execute: {1} and {2} parameters, where at most {3} and {4} are run; a smaller "
                    "model of the same structure will do:{5} --layers 2 --hidden-scale 1/16",
                    plan.request.modelPath, formatFlops(size.forwardFlops),
                    formatCount(static_cast<double>(size.parameters)), formatFlops(mostFlops),
                    formatCount(static_cast<double>(mostParameters)), dims);
}

llvm::Expected<SmallerProgram> programOf(const VerifyOptions &options, Plan plan) {
  if (!options.shrinkage.isNone())
    return buildSmallerProgram(plan, options.modelPath, options.shrinkage);
  llvm::Expected<PlannedProgram> planned = buildProgram(plan, options.modelPath);
  if (!planned)
    return planned.takeError();
  return SmallerProgram{std::move(*planned), std::move(plan)};
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
  llvm::Expected<ProgramProof> proof = verifyProgram(original, program, carried->plan);
  if (!proof)
    return proof.takeError();
  verified.proof = *proof;
  if (options.execute) {
    if (llvm::Error error = checkSize(original, *plan))
      return error;
    llvm::Expected<ModelData> data = ModelData::open(carried->planned.modelPath);
    if (!data)
      return data.takeError();
    llvm::Expected<std::vector<OutputError>> outputs = executeProgram(original, program, parametersOf(*data));
    if (!outputs)
      return outputs.takeError();
    verified.outputs = std::move(*outputs);
    verified.agrees = llvm::all_of(verified.outputs, [](const OutputError &output) { return output.agrees(); });
  }
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  verified.summary = summaryOf(carried->plan, verified, seconds);
  verified.json = documentOf(carried->plan, verified);
  return verified;
}

} // namespace apc

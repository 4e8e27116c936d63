// From a plan's file to the proof of its program.
#include "apc/Driver/VerifyPlan.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Driver/PlannedProgram.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/Support/JSON.h"

#include <chrono>

namespace apc {

namespace {

std::string bytes(int64_t count) { return formatBytes(static_cast<double>(count)); }

std::string summaryOf(const Plan &plan, const ProgramProof &proof, double seconds) {
  return llvm::formatv("{0}: the program of {1} devices is the model\n"
                       "  {2} operators stand for the model's, each under its strategy\n"
                       "  {3} collective steps, {4} masks, {5} functions besides main\n"
                       "  memory of one device: parameters {6} of {7} planned, peak {8} of {9} planned\n"
                       "  proven in {10}\n",
                       plan.modelPath, plan.devices, proof.numOps, proof.numSteps, proof.numMasks, proof.numFunctions,
                       bytes(proof.parameterBytes), bytes(plan.memory.parameters), bytes(proof.peakBytes),
                       bytes(plan.memory.total()), formatSeconds(seconds))
      .str();
}

std::string documentOf(const Plan &plan, const ProgramProof &proof) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::json::OStream json(stream, 2);
  json.object([&] {
    json.attribute("verified", true);
    json.attribute("model", plan.modelPath);
    json.attribute("devices", plan.devices);
    json.attribute("operators", proof.numOps);
    json.attribute("steps", proof.numSteps);
    json.attribute("masks", proof.numMasks);
    json.attribute("functions", proof.numFunctions);
    json.attribute("parameter_bytes", proof.parameterBytes);
    json.attribute("peak_bytes", proof.peakBytes);
    json.attribute("planned_peak_bytes", plan.memory.total());
  });
  return text + "\n";
}

} // namespace

llvm::Expected<VerifiedPlan> verifyPlan(const VerifyOptions &options) {
  auto begin = std::chrono::steady_clock::now();
  llvm::Expected<Plan> plan = loadPlan(options.planPath);
  if (!plan)
    return plan.takeError();
  llvm::Expected<PlannedProgram> planned = buildProgram(*plan, options.modelPath);
  if (!planned)
    return planned.takeError();
  llvm::Expected<ProgramProof> proof = verifyProgram(*planned->original, *planned->program, *plan);
  if (!proof)
    return proof.takeError();
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return VerifiedPlan{*proof, summaryOf(*plan, *proof, seconds), documentOf(*plan, *proof)};
}

} // namespace apc

// The answer of `apc verify`, for people and for scripts.
#include "PrintVerified.h"

#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

namespace apc {

namespace {

std::string bytes(int64_t count) { return formatBytes(static_cast<double>(count)); }

std::string outputLine(const OutputError &output) {
  return llvm::formatv("  output '{0}': {1}; differs by {2:e1}, {3:e1} of its largest element ({4:e1} is accepted)\n",
                       visibleText(output.name), output.agrees() ? "agrees with one device" : "DIFFERS FROM ONE DEVICE",
                       output.absolute, output.relative, output.accepted)
      .str();
}

/// A line for each output; where there are many, for those that differ and for the one that comes nearest to it.
std::string outputLines(llvm::ArrayRef<OutputError> outputs) {
  constexpr size_t most = 8;
  std::string text;
  size_t numAgreeing = 0;
  const OutputError *worst = nullptr;
  for (const OutputError &output : outputs) {
    numAgreeing += output.agrees();
    if (outputs.size() <= most || !output.agrees())
      text += outputLine(output);
    else if (!worst || output.relative * worst->accepted > worst->relative * output.accepted)
      worst = &output;
  }
  if (!worst)
    return text;
  return text +
         llvm::formatv("  {0} of {1} outputs agree with one device; of these the largest error has\n", numAgreeing,
                       outputs.size())
             .str() +
         outputLine(*worst);
}

/// The part of the planned peak that no value of a program takes, where the peak of its values is another one.
std::string besideValues(const MemoryTable &planned, int64_t peakBytes) {
  int64_t beside =
      planned[MemoryCategory::Workspace] + planned[MemoryCategory::Communication] + planned[MemoryCategory::Runtime];
  bool isWhole = beside == 0 || bytes(peakBytes) == bytes(planned.total());
  return isWhole ? "" : ", " + bytes(beside) + " of which are workspace, communication and runtime beside the values";
}

std::string transferLine(const Plan &plan, const TransferProof &proof) {
  return llvm::formatv(
             "  {0} between {1}, and the lists of {2} come to their end{3}\n", counted(proof.numTransfers, "transfer"),
             counted(static_cast<int64_t>(plan.stages.size()), "stage"), counted(plan.pipeline->workers, "worker"),
             proof.rendezvousDeadlock.empty() ? "" : " where no send waits for its receiver")
      .str();
}

} // namespace

std::string verifiedSummary(const Plan &plan, const VerifiedPlan &verified, double seconds) {
  const ProgramProof &proof = verified.proof;
  std::string text = llvm::formatv(
      "{0}: the program of {1} is the model\n"
      "  {2} {11} the model's, each under its strategy\n"
      "  {3}, {4}, {5}, {6} besides main\n"
      "  memory of one device: parameters {7} of {8} planned, peak {9} of {10} planned{12}\n",
      plan.request.modelPath, counted(plan.numRanks(), "device"), counted(proof.numOps, "operator"),
      counted(proof.numCollectives, "collective"), counted(proof.numSlices, "slice"), counted(proof.numMasks, "mask"),
      counted(proof.numFunctions, "function"), bytes(proof.parameterBytes),
      bytes(plan.memory[MemoryCategory::Parameters]), bytes(proof.peakBytes), bytes(plan.memory.total()),
      proof.numOps == 1 ? "matches" : "match", besideValues(plan.memory, proof.peakBytes));
  if (verified.transfers)
    text += transferLine(plan, *verified.transfers);
  for (const std::string &name : verified.opaque)
    text += "  the program cannot be run: nobody knows what " + visibleText(name) + " computes\n";
  if (!verified.drawn.empty())
    text += llvm::formatv("  {0} had random numbers, because no file holds others of its shape; the first is '{1}'\n",
                          counted(static_cast<int64_t>(verified.drawn.size()), "parameter"),
                          visibleText(verified.drawn.front()));
  text += outputLines(verified.outputs);
  return text + "  done in " + formatSeconds(seconds) + "\n";
}

std::string verifiedDocument(const Plan &plan, const VerifiedPlan &verified) {
  const ProgramProof &proof = verified.proof;
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("verified", verified.agrees);
    object("model", plan.request.modelPath);
    object("devices", plan.numRanks());
    object("operators", proof.numOps);
    object("collectives", proof.numCollectives);
    object("slices", proof.numSlices);
    object("masks", proof.numMasks);
    object("functions", proof.numFunctions);
    object("parameter_bytes", proof.parameterBytes);
    object("peak_bytes", proof.peakBytes);
    object("planned_peak_bytes", plan.memory.total());
    if (verified.transfers) {
      object("stages", plan.stages.size());
      object("transfers", verified.transfers->numTransfers);
      object("sends_may_wait", verified.transfers->rendezvousDeadlock.empty());
    }
    object("opaque_operators", verified.opaque);
    object("drawn_parameters", verified.drawn.size());
    object.list("outputs", [&] {
      for (const OutputError &output : verified.outputs)
        json.object([&](JsonObjectWriter &entry) {
          entry("name", output.name);
          entry("agrees", output.agrees());
          entry("absolute_error", output.absolute); // null where one of the elements alone is no number
          entry("relative_error", output.relative);
        });
    });
  });
  return json.take() + "\n";
}

} // namespace apc

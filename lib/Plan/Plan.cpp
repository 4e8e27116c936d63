// Meshes of stages, and the figures of a plan taken together from its stages.
#include "apc/Plan/FullestWorker.h"

#include "apc/Cluster/LevelWord.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <map>

namespace apc {

PlanMesh PlanMesh::of(const Mesh &mesh, llvm::ArrayRef<std::string> levelNames) {
  PlanMesh named;
  for (const MeshAxis &axis : mesh.getAxes())
    named.axes.push_back({axis.name, axis.size, levelNames[axis.level], axis.level});
  return named;
}

std::string PlanMesh::str() const {
  std::string text;
  for (const PlanAxis &axis : axes) {
    text += (text.empty() ? "" : " ") + llvm::formatv("{0}={1}", axis.name, axis.size).str();
    if (llvm::StringRef(axis.name).split('.').first != levelWord(axis.level))
      text += " (" + axis.level + ")";
  }
  return text.empty() ? "one device" : text;
}

int64_t PlanMesh::numDevices() const {
  int64_t devices = 1;
  for (const PlanAxis &axis : axes)
    devices *= axis.size;
  return devices;
}

llvm::Expected<Mesh> PlanMesh::bind(int64_t mostDevices) const {
  std::vector<MeshAxis> bound;
  int64_t devices = 1;
  for (const PlanAxis &axis : axes) {
    bool isTaken = llvm::any_of(bound, [&](const MeshAxis &known) { return known.name == axis.name; });
    if (axis.size < 1 || axis.size > mostDevices || axis.name.empty() || isTaken)
      return inputError("plan: mesh axis '{0}' of size {1}: names must differ, sizes lie in [1, {2}]", axis.name,
                        axis.size, mostDevices);
    bound.push_back({axis.name, axis.size, axis.levelIndex});
    devices *= axis.size;
    if (devices > mostDevices)
      return inputError("plan: the mesh has at least {0} devices, the plan {1}", devices, mostDevices);
  }
  return Mesh(std::move(bound));
}

int64_t Plan::numRanks() const {
  int64_t ranks = 0;
  for (const StagePlan &stage : stages)
    ranks = std::max(ranks, stage.firstRank + stage.numRanks());
  return ranks;
}

size_t Plan::numChoices() const {
  size_t choices = 0;
  for (const StagePlan &stage : stages)
    choices += stage.choices.size();
  return choices;
}

std::string Plan::meshText() const {
  return llvm::join(llvm::map_range(stages, [](const StagePlan &stage) { return stage.mesh.str(); }), " | ");
}

std::string Plan::pipelineText() const {
  if (!pipeline)
    return "one";
  std::string chunks = pipeline->chunks > 1 ? llvm::formatv(" with {0} chunks each", pipeline->chunks).str() : "";
  std::string cuts = llvm::join(pipeline->cuts, "', '");
  return llvm::formatv("{0} on {1} workers{2}, cut before '{3}'", pipeline->schedule, pipeline->workers, chunks, cuts)
      .str();
}

llvm::StringRef planStatusName(PlanStatus status) { return status == PlanStatus::Optimal ? "optimal" : "feasible"; }

Plan withTotals(Plan plan) {
  plan.computeSeconds = plan.communicationSeconds = plan.exposedCommunicationSeconds = plan.hostSeconds = 0;
  plan.flopsPerDevice = 0;
  plan.lossBytes = 0;
  plan.communicationBytes.clear();
  std::map<int64_t, double> flopsOfWorkers; // by first rank
  for (const StagePlan &stage : plan.stages) {
    plan.computeSeconds += stage.computeSeconds;
    plan.communicationSeconds += stage.communicationSeconds;
    plan.exposedCommunicationSeconds += stage.exposedCommunicationSeconds;
    plan.hostSeconds += stage.hostSeconds;
    flopsOfWorkers[stage.firstRank] += stage.flopsPerDevice;
    for (const auto &[collective, bytes] : stage.communicationBytes)
      plan.communicationBytes[collective] += bytes;
  }
  for (const auto &[rank, flops] : flopsOfWorkers)
    plan.flopsPerDevice = std::max(plan.flopsPerDevice, flops);
  const WorkerStages fullest = fullestWorker(plan);
  plan.memory = fullest.memory(plan);
  for (size_t stage : fullest.stages)
    plan.lossBytes += plan.stages[stage].lossBytes;
  auto count = static_cast<double>(std::max<size_t>(1, flopsOfWorkers.size()));
  for (double *seconds :
       {&plan.computeSeconds, &plan.communicationSeconds, &plan.exposedCommunicationSeconds, &plan.hostSeconds})
    *seconds /= count;
  double busy = plan.computeSeconds + plan.exposedCommunicationSeconds + plan.hostSeconds;
  if (!plan.pipeline)
    plan.stepSeconds = busy;
  plan.bubbleSeconds = plan.stepSeconds - busy;
  return plan;
}

std::string shortageText(int64_t bytes, int64_t limitBytes) {
  return llvm::formatv("needs {0} on a device, the limit is {1}", formatBytes(double(bytes)),
                       formatBytes(double(limitBytes)));
}

} // namespace apc

// Plans cell by cell; one that has no plan does not stop the others.
#include "apc/Driver/SweepModel.h"

#include "apc/Driver/PlanModel.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// By cluster in the order of their first appearance, then by devices, each once.
std::vector<PlanRequest> inOrder(std::vector<PlanRequest> requests) {
  std::vector<std::string> clusters;
  for (const PlanRequest &request : requests)
    if (!llvm::is_contained(clusters, request.cluster))
      clusters.push_back(request.cluster);
  auto key = [&](const PlanRequest &request) {
    return std::make_pair(llvm::find(clusters, request.cluster), request.devices);
  };
  llvm::stable_sort(requests, [&](const PlanRequest &a, const PlanRequest &b) { return key(a) < key(b); });
  auto same = [&](const PlanRequest &a, const PlanRequest &b) { return key(a) == key(b); };
  requests.erase(llvm::unique(requests, same), requests.end());
  return requests;
}

/// Mistakes in a cluster are told before hours are spent on others.
llvm::Error checkTargets(llvm::ArrayRef<PlanRequest> requests) {
  for (const PlanRequest &request : requests)
    if (llvm::Expected<PlanningTarget> target = readTarget(request); !target)
      return target.takeError();
  return llvm::Error::success();
}

} // namespace

llvm::Expected<std::vector<SweepCell>> sweepModel(std::vector<PlanRequest> requests, const PlanningControl &control) {
  requests = inOrder(std::move(requests));
  if (llvm::Error error = checkTargets(requests))
    return error;
  std::vector<SweepCell> cells;
  for (const PlanRequest &request : requests) {
    if (control.stop && control.stop->load()) {
      cells.push_back({request.cluster, request.devices, "stopped before it was planned"});
      continue;
    }
    llvm::Expected<Plan> plan = planModel(request, control);
    if (plan) {
      cells.push_back(cellOf(*plan));
      continue;
    }
    auto [fault, message] = takeMessage(plan.takeError());
    if (fault != Fault::NoPlan)
      return llvm::make_error<PlannerError>(fault, message);
    cells.push_back({request.cluster, request.devices, message});
  }
  return cells;
}

} // namespace apc

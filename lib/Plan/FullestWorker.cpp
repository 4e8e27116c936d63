// Stages of workers, and the memory of each worker.
#include "apc/Plan/FullestWorker.h"

#include <map>

namespace apc {

MemoryTable WorkerStages::memory(const Plan &plan) const {
  MemoryTable memory;
  for (size_t stage : stages)
    memory += plan.stages[stage].memoryOfWorker();
  return memory;
}

WorkerStages fullestWorker(const Plan &plan) {
  std::map<int64_t, std::vector<size_t>> workers; // by first rank
  for (size_t stage = 0; stage < plan.stages.size(); ++stage)
    workers[plan.stages[stage].firstRank].push_back(stage);
  WorkerStages fullest;
  int64_t most = 0;
  size_t worker = 0;
  for (auto &[rank, stages] : workers) {
    WorkerStages own{worker++, std::move(stages)};
    int64_t bytes = own.memory(plan).total();
    if (!fullest.stages.empty() && bytes <= most)
      continue;
    most = bytes;
    fullest = std::move(own);
  }
  return fullest;
}

} // namespace apc

// Gathers among the moves of a stage.
#include "apc/Plan/GatheredParameters.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

llvm::StringMap<unsigned> gathersOf(const StagePlan &stage) {
  llvm::StringMap<unsigned> gathers;
  for (const PlanSharding &sharding : stage.shardings)
    if (sharding.role == ValueRole::Parameter)
      gathers[sharding.value] = 0;
  for (const PlanMove &move : stage.moves)
    if (move.source.empty() &&
        llvm::any_of(move.collectives, [](llvm::StringRef text) { return text.starts_with("AllGather"); }))
      for (const std::string &value : move.values)
        if (auto found = gathers.find(value); found != gathers.end())
          ++found->second;
  return gathers;
}

llvm::StringRef storageName(unsigned gathers) {
  return gathers == 0 ? "as used" : gathers == 1 ? "gathered" : "gathered for each pass";
}

} // namespace apc

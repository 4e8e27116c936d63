// The place of a parameter, an input or a result.
#include "ExplainValue.h"

#include "CollectiveWords.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

double bytesOf(const PlanSharding &value) {
  double bits = value.elementBits;
  for (int64_t extent : value.localShape)
    bits *= static_cast<double>(extent);
  return bits / 8;
}

/// The axes along which every device has the same piece.
std::vector<std::string> copiedOver(const StagePlan &stage, const PlanSharding &value) {
  std::vector<std::string> axes;
  for (const PlanAxis &axis : stage.mesh.axes) {
    bool cuts =
        llvm::any_of(value.sharding.dims, [&](const AxisNames &names) { return llvm::is_contained(names, axis.name); });
    if (!cuts && !llvm::is_contained(value.sharding.partial, axis.name))
      axes.push_back(axis.name);
  }
  return axes;
}

/// The move that brings `value` to `user`; null where the user reads it as it lies.
const PlanMove *moveTo(const StagePlan &stage, llvm::StringRef value, llvm::StringRef user) {
  const PlanMove *last = nullptr;
  for (const PlanMove &move : stage.moves)
    if (llvm::is_contained(move.values, value) && llvm::is_contained(move.users, user))
      last = &move;
  return last;
}

void printReaders(const StagePlan &stage, const PlanSharding &value, llvm::raw_ostream &os) {
  constexpr size_t most = 8;
  for (const std::string &user : llvm::ArrayRef(value.users).take_front(most)) {
    os << "  read by       " << user;
    if (const PlanMove *move = moveTo(stage, value.value, user))
      os << " as " << move->target.str() << ", after " << collectivesText(move->collectives);
    os << "\n";
  }
  if (value.users.size() > most)
    os << "  read by       " << value.users.size() - most << " more ops\n";
}

} // namespace

void printSharding(const PlanSharding &sharding, llvm::raw_ostream &os) {
  NamedSharding settled{sharding.sharding.dims, {}};
  settled.parts = sharding.sharding.parts;
  os << settled.str();
  if (!sharding.sharding.partial.empty())
    os << " partial over " << llvm::join(sharding.sharding.partial, " ");
  os << ", [";
  llvm::interleaveComma(sharding.shape, os);
  os << "] -> [";
  llvm::interleaveComma(sharding.localShape, os);
  os << "] on each device\n";
}

bool explainValue(const Plan &plan, llvm::StringRef name, llvm::raw_ostream &os) {
  bool isFound = false;
  for (auto [number, stage] : llvm::enumerate(plan.stages))
    for (const PlanSharding &value : stage.shardings) {
      if (value.value != name)
        continue;
      isFound = true;
      os << value.value << " (" << valueRoleName(value.role);
      if (plan.stages.size() > 1)
        os << " of stage " << number;
      os << ")\n  lies as       ";
      printSharding(value, os);
      os << "  on a device   " << formatBytes(bytesOf(value));
      if (std::vector<std::string> axes = copiedOver(stage, value); !axes.empty())
        os << ", the same "
           << (axes.size() == stage.mesh.axes.size() ? "on every device" : "along " + llvm::join(axes, ", "));
      os << "\n";
      if (value.producer != value.value)
        os << "  made by       " << value.producer << "\n";
      printReaders(stage, value, os);
    }
  return isFound;
}

} // namespace apc

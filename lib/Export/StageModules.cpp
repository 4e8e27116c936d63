// Paths of ops as modules.
#include "StageModules.h"

#include "BoundOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <optional>

namespace apc {

bool hasModule(llvm::StringRef parameter) { return !parameter.starts_with("onnx::"); }

std::string moduleOf(llvm::StringRef parameter) {
  return parameter.contains('.') ? parameter.rsplit('.').first.str() : parameter.str();
}

/// "/model/h.0/ln_1/LayerNormalization": "model.h.0.ln_1".
static std::string pathOf(llvm::StringRef op) {
  std::string path = op.rsplit('/').first.ltrim('/').str();
  std::replace(path.begin(), path.end(), '/', '.');
  return op.contains('/') ? path : std::string();
}

/// "h.0.ln_1": "h.0", a layer whole; "transformer.wte" itself.
static std::string wholeModule(llvm::StringRef module) {
  llvm::SmallVector<llvm::StringRef> parts;
  module.split(parts, '.');
  auto isNumber = [](llvm::StringRef part) { return !part.empty() && llvm::all_of(part, llvm::isDigit); };
  auto *number = llvm::find_if(parts, isNumber);
  return llvm::join(parts.begin(), number == parts.end() ? number : number + 1, ".");
}

/// A parameter and an op that reads it.
struct Reading {
  llvm::StringRef parameter, op;
};

static std::vector<Reading> readingsOf(const OpGraph &graph) {
  std::vector<Reading> readings;
  for (const GraphOp &op : graph.ops)
    for (std::optional<ValueId> value : op.operands)
      if (std::optional<ValueId> parameter = value ? parameterOf(graph, *value) : std::nullopt)
        readings.push_back({graph.value(*parameter).name, op.name});
  return readings;
}

/// The text before modules in paths that most readings agree about, "model."; none where no path ends like a module.
static std::optional<std::string> prefixOf(llvm::ArrayRef<Reading> readings) {
  std::map<std::string, size_t> votes;
  for (const Reading &reading : readings) {
    const std::string module = moduleOf(reading.parameter), path = pathOf(reading.op);
    if (hasModule(reading.parameter) && llvm::StringRef(path).ends_with(module))
      ++votes[path.substr(0, path.size() - module.size())];
  }
  auto most = llvm::max_element(votes, [](const auto &a, const auto &b) { return a.second < b.second; });
  return most == votes.end() ? std::nullopt : std::optional(most->first);
}

StageModules::StageModules(const ExportSource &source) {
  const std::vector<Reading> readings = readingsOf(source.graph);
  const std::optional<std::string> prefix = prefixOf(readings);
  std::map<llvm::StringRef, bool> isNamed; // by parameter
  for (const Reading &reading : readings) {
    bool &known = isNamed[reading.parameter];
    known |= hasModule(reading.parameter);
    const std::string path = pathOf(reading.op);
    llvm::StringRef module = path;
    if (!prefix || !module.consume_front(*prefix) || module.empty())
      continue;
    ofOps[reading.op.str()].insert(wholeModule(module));
    known = true;
  }
  nameless = static_cast<unsigned>(llvm::count_if(isNamed, [](const auto &each) { return !each.second; }));
}

std::vector<std::string> StageModules::of(const StagePlan &stage) const {
  std::vector<std::string> modules;
  auto add = [&](const std::string &module) {
    if (!llvm::is_contained(modules, module))
      modules.push_back(module);
  };
  for (const PlanSharding &sharding : stage.shardings)
    if (sharding.role == ValueRole::Parameter && sharding.producer == sharding.value && hasModule(sharding.value))
      add(wholeModule(moduleOf(sharding.value)));
  for (const PlanChoice &choice : stage.choices)
    if (auto known = ofOps.find(choice.op); known != ofOps.end())
      llvm::for_each(known->second, add);
  return modules;
}

} // namespace apc

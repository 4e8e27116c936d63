// Values by pattern.
#include "ValueRules.h"

#include "../ModelLayers.h"
#include "../PythonText.h"

#include "apc/Plan/LayerNames.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <set>

namespace apc {

namespace {

/// A name as an expression that matches it; with `anyLayer` its numbers are those of any layer.
std::string expressionOf(llvm::StringRef name, bool anyLayer) {
  std::string text;
  while (!name.empty()) {
    if (anyLayer && llvm::isDigit(name.front())) {
      text += "\\d+";
      name = name.drop_while(llvm::isDigit);
      continue;
    }
    char letter = name.front();
    bool isPlain = llvm::isAlnum(letter) || llvm::StringRef("_/:-").contains(letter);
    if (!isPlain && static_cast<unsigned char>(letter) < 128) // letters beyond ASCII stay whole
      text += '\\';
    text += letter;
    name = name.drop_front();
  }
  return text;
}

/// A value, its words, its mesh and stage.
struct Said {
  std::string name, text;
  size_t mesh, stage;
};

/// Exceptions by name in front of one rule for each pattern and mesh: the words that most of its values have.
std::vector<ValueRule> rulesOf(llvm::ArrayRef<Said> values) {
  using Pattern = std::pair<std::string, size_t>;
  std::map<Pattern, std::map<std::string, unsigned>> counts;
  for (const Said &value : values)
    ++counts[{layerPattern(value.name), value.mesh}][value.text];
  std::map<Pattern, std::string> common;
  for (const auto &[pattern, texts] : counts)
    common[pattern] = llvm::max_element(texts, [](auto &a, auto &b) { return a.second < b.second; })->first;
  std::map<Pattern, std::set<std::string>> ofName;
  for (const Said &value : values)
    ofName[{value.name, value.mesh}].insert(value.text);
  std::vector<ValueRule> exceptions, rules;
  std::set<std::tuple<std::string, size_t, std::optional<size_t>>> known;
  for (const Said &value : values) {
    bool differs = ofName[{value.name, value.mesh}].size() > 1;
    bool isCommon = !differs && common[{layerPattern(value.name), value.mesh}] == value.text;
    ValueRule rule{expressionOf(value.name, isCommon), value.text, value.mesh, std::nullopt};
    if (differs)
      rule.stage = value.stage;
    if (known.insert({rule.expression, rule.mesh, rule.stage}).second)
      (isCommon ? rules : exceptions).push_back(std::move(rule));
  }
  exceptions.insert(exceptions.end(), rules.begin(), rules.end());
  return exceptions;
}

/// "(8, 4)" for sizes and "(\"node\", \"device\")" for names of a mesh's axes, as Python's tuples.
std::string sizesTuple(const PlanMesh &mesh) {
  std::string text = "(";
  for (const PlanAxis &axis : mesh.axes)
    text += std::to_string(axis.size) + ", ";
  return text + ")";
}

std::string namesTuple(const PlanMesh &mesh) {
  std::string text = "(";
  for (const PlanAxis &axis : mesh.axes)
    text += pythonText(axis.name) + ", ";
  return text + ")";
}

std::string listOf(llvm::StringRef name, llvm::ArrayRef<ValueRule> rules) {
  std::string text = name.str() + " = [\n";
  for (const ValueRule &rule : rules)
    text += "    (" + pythonText(rule.expression) + ", " + rule.text + ", " + std::to_string(rule.mesh) + ", " +
            (rule.stage ? std::to_string(*rule.stage) : "None") + "),\n";
  return text + "]\n";
}

} // namespace

ValueRules valueRules(const ExportSource &source,
                      llvm::function_ref<std::string(const StagePlan &, const PlanSharding &)> textOf) {
  ValueRules rules;
  llvm::StringMap<size_t> meshes;
  llvm::StringSet<> forward = leadingOps(source.graph);
  std::vector<Said> parameters, activations;
  for (auto [index, stage] : llvm::enumerate(source.plan.stages)) {
    auto [mesh, isNew] = meshes.try_emplace(stage.mesh.str(), rules.meshes.size());
    if (isNew)
      rules.meshes.push_back(&stage);
    rules.ofStage.push_back(mesh->second);
    for (const PlanSharding &sharding : stage.shardings) {
      bool isSource = sharding.producer == sharding.value;
      if (isSource && sharding.role == ValueRole::Parameter)
        parameters.push_back({sharding.value, textOf(stage, sharding), mesh->second, index});
      else if (isSource ? sharding.role == ValueRole::Input
                        : sharding.role == ValueRole::Activation && forward.contains(sharding.producer))
        activations.push_back({sharding.value, textOf(stage, sharding), mesh->second, index});
    }
  }
  rules.parameters = rulesOf(parameters);
  rules.activations = rulesOf(activations);
  return rules;
}

std::string pythonRules(const ExportSource &source, const ValueRules &rules, llvm::StringRef mesh) {
  std::string text = ("# Sizes and names of each " + mesh + ", outermost (slowest link) first.\nMESHES = [\n").str();
  for (const StagePlan *stage : rules.meshes)
    text += "    (" + sizesTuple(stage->mesh) + ", " + namesTuple(stage->mesh) + "),\n";
  text += "]\n\n# By stage: its first rank, its mesh.\nSTAGES = [\n";
  for (auto [stage, ofStage] : llvm::zip_equal(source.plan.stages, rules.ofStage))
    text += llvm::formatv("    ({0}, {1}),\n", stage.firstRank, ofStage);
  return text + "]\n\n" + listOf("PARAMETERS", rules.parameters) + "\n" + listOf("ACTIVATIONS", rules.activations);
}

Exported exportedRules(const ExportSource &source, llvm::StringRef name, std::string text, llvm::StringRef words,
                       std::vector<std::string> reasons) {
  Exported exported{{{name.str(), std::move(text)}}, {}};
  if (source.plan.pipeline)
    exported.unsaid.push_back(
        ("schedule " + source.plan.pipeline->schedule + ": " + words + " say stages alone").str());
  llvm::append_range(exported.unsaid, reasons);
  return exported;
}

} // namespace apc

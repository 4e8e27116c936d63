// The shardings of values as few rules: one for all layers that are alike.
#pragma once

#include "apc/Export/Export.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// "h\.\d+\.c_fc\.weight" has "P(None, 'device')" on mesh 0, with a shape for each of them.
struct ValueRule {
  std::string expression; ///< matches whole names
  std::string text;
  size_t mesh = 0;
  std::optional<size_t> stage = {}; ///< of a value that several stages have otherwise; none: all on the mesh
};

/// The meshes of a plan, and for each value of some kind a rule.
struct ValueRules {
  std::vector<const StagePlan *> meshes; ///< a stage for each mesh
  std::vector<size_t> ofStage;           ///< the mesh of each stage
  std::vector<ValueRule> parameters;     ///< as they rest
  std::vector<ValueRule> activations;    ///< of the forward pass and inputs, as they are made
};

/// `textOf` gives the words for one sharding. Values of repeated layers share a rule, in front of which those stand
/// that have other words: for a value of a stage counts the first rule for the stage's mesh that matches its name.
ValueRules valueRules(const ExportSource &source,
                      llvm::function_ref<std::string(const StagePlan &, const PlanSharding &)> textOf);

/// Lists of Python: meshes, stages, and a rule for each kind of value, one tuple of expression, text, mesh and stage
/// (or None) a line. \p mesh names one of them: "each DeviceMesh's dims".
std::string pythonRules(const ExportSource &source, const ValueRules &rules, llvm::StringRef mesh);

/// The file \p name of \p text, and what its \p words ("shardings") leave unsaid.
Exported exportedRules(const ExportSource &source, llvm::StringRef name, std::string text, llvm::StringRef words,
                       std::vector<std::string> reasons);

} // namespace apc

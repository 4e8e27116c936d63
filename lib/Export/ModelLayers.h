// The repeated layers of a plan's model, by stage.
#pragma once

#include "apc/Export/Export.h"

#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

/// The layers 0 to 95 of "/model/h.*" on four stages: 24 in each.
struct ModelLayers {
  std::string pattern; ///< "/model/h.*"
  int64_t count = 0;
  std::vector<int64_t> ofStage; ///< layers that begin in each stage
  /// Stages that begin inside of a layer, with its number.
  std::vector<std::pair<size_t, int64_t>> splits;

  /// All stages have equally many.
  bool isEven() const;
};

/// Read off the names of forward ops, layers by the first number in them: "/model/h.12/ln_1/LayerNormalization". None
/// where fewer than two layers have ops of the same names.
std::optional<ModelLayers> modelLayers(const ExportSource &source);

/// The names of the ops that are decided by themselves: those of the forward pass, updates of parameters; no gradients.
llvm::StringSet<> leadingOps(const OpGraph &graph);

/// "bf16" or "fp16" where contractions are in these; empty otherwise.
std::string halfFormat(const Plan &plan);

/// Tokens of a sample: the second dim of the first input of two dims or more. None without such an input.
std::optional<int64_t> tokensPerSample(const OpGraph &graph);

} // namespace apc

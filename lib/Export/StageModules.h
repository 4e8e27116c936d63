// The modules of the model's code in each stage, from names.
#pragma once

#include "apc/Export/Export.h"

#include <map>
#include <set>
#include <string>
#include <vector>

namespace apc {

/// False for the names that PyTorch's exporter makes up, "onnx::MatMul_390", for weights that it stores transposed.
bool hasModule(llvm::StringRef parameter);

/// The module that a parameter is of, by its name: "h.0.ln_1" of "h.0.ln_1.weight".
std::string moduleOf(llvm::StringRef parameter);

/// Modules by the names of parameters, `h.0.ln_1.weight`, and by those of ops that read parameters,
/// `/model/lm_head/MatMul`, less what stands before the modules of all parameters, `/model/`. A layer is one module.
class StageModules {
public:
  explicit StageModules(const ExportSource &source);

  /// {"wte", "h.0", "h.1"}: those by names of parameters in the order of the stage, then those by ops alone.
  std::vector<std::string> of(const StagePlan &stage) const;
  /// Parameters that neither their own names nor their readers' tell a module of.
  unsigned numNameless() const { return nameless; }

private:
  std::map<std::string, std::set<std::string>> ofOps; ///< by op that reads parameters
  unsigned nameless = 0;
};

} // namespace apc

// The findings of the importer, for `apc inspect`.
#pragma once

#include "apc/IR/Program/Statistics.h"
#include "apc/Import/Import.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

struct Inspection {
  std::string path;
  ImportReport report;
  ModuleStatistics statistics; ///< zero when the module could not be built
  /// Ops whose names differ in numbers only, with how many there are of each: the layers.
  struct Group {
    std::string pattern;
    std::string operatorName;
    unsigned count = 0;
  };
  std::vector<Group> groups;
};

/// Errors: what is not a model, unbound dims. Unsupported operators and unresolved values are part of the answer.
llvm::Expected<Inspection> inspectModel(llvm::StringRef path, const ImportOptions &options);

void printInspection(const Inspection &inspection, llvm::raw_ostream &os);
/// Keys `nodes`, `parameters`, `parameter_bytes`, `forward_flops`, `contraction_flops`, `operators`,
/// `unresolved_values`, `unsupported_operators`, `notes`.
std::string printInspectionJson(const Inspection &inspection);

} // namespace apc

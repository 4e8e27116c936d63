// A program executed on all its ranks and held against its model on one device.
#pragma once

#include "apc/Import/Import.h"
#include "apc/Import/ModelData.h"
#include "apc/Interpret/Compare.h"
#include "apc/Interpret/Grid.h"

#include <mutex>
#include <set>

namespace apc {

/// The names of parameters whose numbers were drawn; ranks that run side by side may add to them.
class DrawnParameters {
public:
  void add(llvm::StringRef name) {
    std::lock_guard<std::mutex> lock(mutex);
    names.insert(name.str());
  }
  const std::set<std::string> &get() const { return names; } ///< once the ranks have ended

private:
  std::mutex mutex;
  std::set<std::string> names;
};

/// Parameters of a model: its own data where the file has it, or its import computed it, in the shape wanted; random
/// numbers where it has none, or of another shape, and then their names are added to `drawn`. The source refers to its
/// arguments. Data that is damaged is an error of the source (input).
ParameterSource parametersOf(const ModelData &data, const FoldedWeights *folded = nullptr,
                             DrawnParameters *drawn = nullptr);

/// Runs `original` and `program` on random inputs. Integers are as large as `original` accepts them (token numbers stay
/// below the vocabulary). An output's error is relative to its largest element, or to the largest of the terms that
/// cancel in it, and as large as the coarsest element type on the way to it explains; errors of that size in the
/// operands of its op explain further ones. Errors: an op that cannot be evaluated (input); the program cannot be run
/// to its end (a check failed).
llvm::Expected<std::vector<OutputError>> executeProgram(mlir::ModuleOp original, const Program &program,
                                                        const ParameterSource &parameters);

} // namespace apc

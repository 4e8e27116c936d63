// Reasons for which a target refuses a plan, collected before any of them is told.
#pragma once

#include "apc/Support/Error.h"

#include <string>
#include <vector>

namespace apc {

/// Refusals refusals("DeepSpeed"); refusals.addIf(pp > 1, "..."); if (auto error = refusals.take()) return error;
class Refusals {
public:
  explicit Refusals(llvm::StringRef target) : target(target) {}

  void addIf(bool isRefused, const llvm::Twine &reason) {
    if (isRefused)
      reasons.push_back(reason.str());
  }
  /// All reasons as one error (no plan).
  llvm::Error take() const {
    if (reasons.empty())
      return llvm::Error::success();
    std::string text;
    for (const std::string &reason : reasons)
      text += "\n  " + reason;
    return noPlanError("{0} cannot run this plan, nor one that is near it:{1}", target, text);
  }

private:
  std::string target;
  std::vector<std::string> reasons;
};

} // namespace apc

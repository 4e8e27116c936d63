// Samples and tokens by the second.
#include "Rates.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>

namespace apc {

std::optional<double> tokensPerSecond(const Plan &plan) {
  std::optional<int64_t> tokens;
  for (const StagePlan &stage : plan.stages)
    for (const PlanSharding &value : stage.shardings) {
      std::string name = llvm::StringRef(value.value).lower();
      bool isNamed = llvm::StringRef(name).contains("ids") || llvm::StringRef(name).contains("token");
      if (value.role == ValueRole::Input && isNamed && value.shape.size() == 2)
        tokens = std::max(tokens.value_or(0), value.shape[1]);
    }
  if (!tokens || !plan.samplesPerSecond)
    return std::nullopt;
  return *plan.samplesPerSecond * static_cast<double>(*tokens);
}

std::string rateText(double perSecond) {
  constexpr double whole = 100;
  if (perSecond >= whole)
    return llvm::formatv("{0:N}", std::llround(perSecond)).str();
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%#.3g", perSecond);
  return text;
}

std::string percent(double part, double whole) {
  return whole > 0 ? llvm::formatv("{0:f1} %", 100 * part / whole).str() : "-";
}

} // namespace apc

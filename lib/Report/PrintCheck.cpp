// The verdict of `apc check`, for people and for scripts.
#include "apc/Report/PrintCheck.h"

#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

namespace apc {

void printCheck(const CheckedPlan &checked, llvm::raw_ostream &os) {
  const RecordComparison &comparison = checked.comparison;
  os << checked.modelPath << ": the plan is "
     << (comparison.passes() ? "as the baseline says" : "not as the baseline says") << " (step "
     << formatSeconds(checked.now.seconds.at("step")) << ", memory "
     << formatBytes(static_cast<double>(checked.now.bytes.at("memory total"))) << ")\n";
  for (const std::string &failure : comparison.failures)
    os << "  " << visibleText(failure) << "\n";
  for (const std::string &improvement : comparison.improvements)
    os << "  better: " << visibleText(improvement) << "; --update keeps it\n";
}

std::string printCheckJson(const CheckedPlan &checked) {
  JsonWriter json(1);
  json.object([&](JsonObjectWriter &object) {
    object("passed", checked.comparison.passes());
    object("tolerance", checked.tolerance);
    object("failures", checked.comparison.failures);
    object("improvements", checked.comparison.improvements);
    object("step_seconds", checked.now.seconds.at("step"));
    object("memory_bytes", checked.now.bytes.at("memory total"));
  });
  return json.take() + "\n";
}

} // namespace apc

// Escapes in all texts of a plan, found by the description of its fields.
#include "apc/Plan/VisiblePlan.h"

#include "PlanFields.h"

#include "apc/Support/VisibleText.h"

namespace apc {

namespace {

/// A visitor of `fields`.
class Escaper {
public:
  template <typename T>
  void operator()(llvm::StringRef, T &member, const Described &) {
    escape(member);
  }
  template <typename T>
  void optional(llvm::StringRef, T &member, const Described &) {
    escape(member);
  }

  void escape(std::string &text) { text = visibleText(text); }
  void escape(NamedStrategy &strategy) {
    for (NamedStrategy::Cut &cut : strategy.cuts) {
      escape(cut.factor);
      escape(cut.axes);
    }
  }
  void escape(PlanRequest &request) {
    escape(request.modelPath);
    escape(request.clusterOverrides);
  }
  template <typename T>
  void escape(std::vector<T> &items) {
    for (T &item : items)
      escape(item);
  }
  template <typename T>
  void escape(std::optional<T> &item) {
    if (item)
      escape(*item);
  }
  template <typename T>
  void escape(T &item) {
    if constexpr (HasFields<T, Escaper>)
      fields(*this, item);
  }
};

} // namespace

Plan visiblePlan(Plan plan) {
  Escaper().escape(plan);
  return plan;
}

} // namespace apc

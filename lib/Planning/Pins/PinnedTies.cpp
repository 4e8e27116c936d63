// Pins on ops that are decided together: an op, its gradients and its recomputed copy.
#include "PinnedOps.h"

#include "../Problem/Choices.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace apc {

std::vector<TiedOps> PinnedOps::pinnedTies(const OpGraph &graph) const {
  using Signature = std::vector<std::tuple<RuleId, std::vector<std::string>, std::vector<unsigned>>>;
  std::set<Signature> seen;
  std::vector<TiedOps> ties;
  for (const TiedOps &tie : graph.ties) {
    if (llvm::none_of(tie, [&](OpId op) { return isPinned(op); }))
      continue;
    Signature signature;
    for (OpId op : tie) {
      llvm::ArrayRef<std::string> leading = graph.op(op).leadingFactors;
      signature.emplace_back(graph.op(op).rule, leading.vec(), pinsOf[op.index()]);
    }
    if (seen.insert(std::move(signature)).second)
      ties.push_back(tie);
  }
  return ties;
}

bool PinnedOps::suits(const OpGraph &graph, const TiedOps &tie, const Mesh &mesh) const {
  return llvm::any_of(enumerateStrategies(graph.ruleOf(tie.front()), mesh), [&](const Strategy &strategy) {
    std::optional<Choice> choice = followedByAll(graph, tie, strategy, mesh);
    return choice && llvm::all_of(llvm::zip_equal(tie, choice->strategies), [&](const auto &entry) {
             return allows(std::get<0>(entry), std::get<1>(entry), mesh);
           });
  });
}

llvm::Error PinnedOps::nothingLeft(const OpGraph &graph, const TiedOps &tie) const {
  std::vector<std::string> texts;
  for (OpId op : tie)
    if (isPinned(op))
      texts.push_back(llvm::formatv("{0} on op '{1}'", describe(op), graph.op(op).name));
  return inputError(
      "op '{0}' ({1}) is decided together with its gradients, and no strategy of it meets {2}; its rule is "
      "'{3}': pin '{0}' alone, the others follow",
      graph.op(tie.front()).name, graph.op(tie.front()).operatorName, llvm::join(texts, " and "),
      graph.ruleOf(tie.front()).str());
}

} // namespace apc

// A strategy: its text form, and the shardings and local sizes that follow from it.
#include "apc/Sharding/Strategy.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

Sharding layoutOf(const RuleTensor &tensor, const Strategy &strategy) {
  Sharding sharding = Sharding::replicated(tensor.dims.size());
  for (size_t dim = 0; dim < tensor.dims.size(); ++dim)
    for (FactorId id : tensor.dims[dim])
      llvm::append_range(sharding.dims[dim], strategy.axes[id.index()]);
  return sharding;
}

/// `node`, or `(x0 x1)` for several.
std::string axesText(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  std::string text = llvm::join(llvm::map_range(axes, [&](AxisId axis) { return mesh.axis(axis).name; }), " ");
  return axes.size() == 1 ? text : "(" + text + ")";
}

/// The words of a strategy: blanks inside parentheses do not separate.
llvm::SmallVector<llvm::StringRef> splitWords(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> words;
  for (text = text.ltrim(); !text.empty(); text = text.ltrim()) {
    size_t open = text.find('('), blank = text.find(' ');
    size_t end = open < blank ? text.find(')', open) : blank;
    if (open < blank && end != llvm::StringRef::npos)
      ++end;
    words.push_back(text.substr(0, end));
    text = text.substr(words.back().size());
  }
  return words;
}

/// The list of `strategy` that `name` names, or null.
AxisList *findList(Strategy &strategy, llvm::StringRef name, const FactorRule &rule) {
  for (unsigned i = 0; i < rule.numFactors(); ++i)
    if (rule.factors[i].name == name)
      return &strategy.axes[i];
  unsigned group = 0;
  if (name.consume_front("passing") && !name.getAsInteger(10, group) && group < strategy.partialInputs.size())
    return &strategy.partialInputs[group];
  return nullptr;
}

} // namespace

std::string Strategy::str(const FactorRule &rule, const Mesh &mesh) const {
  std::string text;
  auto add = [&](const std::string &name, llvm::ArrayRef<AxisId> list) {
    if (!list.empty())
      text += (text.empty() ? "" : " ") + name + ":" + axesText(list, mesh);
  };
  for (size_t i = 0; i < axes.size(); ++i)
    add(rule.factors[i].name, axes[i]);
  for (size_t i = 0; i < partialInputs.size(); ++i)
    add("passing" + std::to_string(i), partialInputs[i]);
  return text.empty() ? "replicated" : text;
}

llvm::Expected<Strategy> Strategy::parse(llvm::StringRef text, const FactorRule &rule, const Mesh &mesh) {
  Strategy strategy;
  strategy.axes.resize(rule.numFactors());
  strategy.partialInputs.resize(rule.linear.size());
  if (text.trim() == "replicated")
    return strategy;
  for (llvm::StringRef word : splitWords(text)) {
    auto [name, names] = word.split(':');
    AxisList *list = findList(strategy, name, rule);
    if (!list)
      return inputError("strategy '{0}': '{1}' is no factor of {2}", text, name, rule.str());
    if (names.consume_front("(") != names.consume_back(")") || names.empty())
      return inputError("strategy '{0}': '{1}' names no axes; write for instance m:x0 or m:(x0 x1)", text, word);
    llvm::SmallVector<llvm::StringRef> parts;
    names.split(parts, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef part : parts) {
      auto found = llvm::find_if(mesh.getAxes(), [&](const MeshAxis &axis) { return axis.name == part; });
      if (found == mesh.getAxes().end())
        return inputError("strategy '{0}': the mesh {1} has no axis '{2}'", text, mesh.str(), part);
      list->push_back(AxisId(found - mesh.getAxes().begin()));
    }
  }
  if (llvm::Error error = check(rule, strategy, mesh))
    return error;
  return strategy;
}

Sharding operandSharding(const FactorRule &rule, const Strategy &strategy, unsigned index) {
  Sharding sharding = layoutOf(rule.operands[index], strategy);
  if (rule.operands[index].absent)
    return sharding;
  for (size_t group = 0; group < rule.linear.size(); ++group)
    if (llvm::is_contained(rule.linear[group], index))
      llvm::append_range(sharding.partial, strategy.partialInputs[group]);
  llvm::sort(sharding.partial);
  return sharding;
}

Sharding resultSharding(const FactorRule &rule, const Strategy &strategy, unsigned index) {
  Sharding sharding = layoutOf(rule.results[index], strategy);
  if (rule.results[index].absent)
    return sharding;
  for (unsigned i = 0; i < rule.numFactors(); ++i)
    if (!strategy.axes[i].empty() && rule.isReduction(FactorId(i))) {
      llvm::append_range(sharding.partial, strategy.axes[i]);
      sharding.combiner = rule.factors[i].combiner;
    }
  for (const AxisList &axes : strategy.partialInputs)
    llvm::append_range(sharding.partial, axes);
  llvm::sort(sharding.partial);
  return sharding;
}

llvm::SmallVector<int64_t, 6> localFactorSizes(const FactorRule &rule, const Strategy &strategy, const Mesh &mesh) {
  llvm::SmallVector<int64_t, 6> sizes;
  for (unsigned i = 0; i < rule.numFactors(); ++i)
    sizes.push_back(localSize(rule.factors[i].size, strategy.axes[i], mesh));
  return sizes;
}

} // namespace apc

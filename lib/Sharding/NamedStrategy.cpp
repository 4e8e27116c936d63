// The text form of strategies.
#include "apc/Sharding/NamedStrategy.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

constexpr llvm::StringLiteral nothingCut = "replicated";
constexpr llvm::StringLiteral passing = "passing";

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
  if (name.consume_front(passing) && !name.getAsInteger(10, group) && group < strategy.passing.size())
    return &strategy.passing[group];
  return nullptr;
}

} // namespace

NamedStrategy NamedStrategy::of(const Strategy &strategy, const FactorRule &rule) {
  NamedStrategy named;
  for (size_t i = 0; i < strategy.axes.size(); ++i)
    if (!strategy.axes[i].empty())
      named.cuts.push_back({rule.factors[i].name, strategy.axes[i]});
  for (size_t i = 0; i < strategy.passing.size(); ++i)
    if (!strategy.passing[i].empty())
      named.cuts.push_back({passing.str() + std::to_string(i), strategy.passing[i]});
  return named;
}

std::string NamedStrategy::str(const Mesh &mesh) const {
  std::string text;
  for (const Cut &cut : cuts)
    text += (text.empty() ? "" : " ") + cut.factor + ":" + axesText(cut.axes, mesh);
  return text.empty() ? nothingCut.str() : text;
}

llvm::Expected<NamedStrategy> NamedStrategy::parse(llvm::StringRef text, const Mesh &mesh) {
  NamedStrategy named;
  if (text.trim() == nothingCut)
    return named;
  for (llvm::StringRef word : splitWords(text)) {
    auto [name, names] = word.split(':');
    if (names.consume_front("(") != names.consume_back(")") || names.empty())
      return inputError("strategy '{0}': '{1}' names no axes; write for instance m:x0 or m:(x0 x1)", text, word);
    Cut cut{name.str(), {}};
    llvm::SmallVector<llvm::StringRef> parts;
    names.split(parts, ' ', -1, /*KeepEmpty=*/false);
    for (llvm::StringRef part : parts) {
      auto found = llvm::find_if(mesh.getAxes(), [&](const MeshAxis &axis) { return axis.name == part; });
      if (found == mesh.getAxes().end())
        return inputError("strategy '{0}': the mesh {1} has no axis '{2}'", text, mesh.str(), part);
      cut.axes.push_back(AxisId(found - mesh.getAxes().begin()));
    }
    named.cuts.push_back(std::move(cut));
  }
  return named;
}

llvm::Expected<Strategy> NamedStrategy::bind(const FactorRule &rule, const Mesh &mesh) const {
  Strategy strategy;
  strategy.axes.resize(rule.numFactors());
  strategy.passing.resize(rule.linear.size());
  for (const Cut &cut : cuts) {
    AxisList *list = findList(strategy, cut.factor, rule);
    if (!list)
      return inputError("strategy '{0}': '{1}' is no factor of {2}", str(mesh), cut.factor, rule.str());
    llvm::append_range(*list, cut.axes);
  }
  if (llvm::Error error = check(rule, strategy, mesh))
    return error;
  return strategy;
}

} // namespace apc

// The text forms of strategies and shardings, and the way back from names to indices.
#include "apc/Sharding/NamedStrategy.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

constexpr llvm::StringLiteral nothingCut = "replicated";
constexpr llvm::StringLiteral passing = "passing";

AxisNames namesOf(llvm::ArrayRef<AxisId> axes, const Mesh &mesh) {
  AxisNames names;
  for (AxisId axis : axes)
    names.push_back(mesh.axis(axis).name);
  return names;
}

/// `node`, or `(x0 x1)` for several.
std::string axesText(const AxisNames &axes) {
  return axes.size() == 1 ? axes.front() : "(" + llvm::join(axes, " ") + ")";
}

/// `what` is the text that names the axes, for messages.
llvm::Expected<AxisList> axesOf(const AxisNames &names, const Mesh &mesh, const std::string &what) {
  AxisList axes;
  for (const std::string &name : names) {
    auto found = llvm::find_if(mesh.getAxes(), [&](const MeshAxis &axis) { return axis.name == name; });
    if (found == mesh.getAxes().end())
      return inputError("{0}: the mesh {1} has no axis '{2}'", what, mesh.str(), name);
    axes.push_back(AxisId(found - mesh.getAxes().begin()));
  }
  return axes;
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
  if (name.consume_front(passing) && !name.getAsInteger(10, group) && group < strategy.partialInputs.size())
    return &strategy.partialInputs[group];
  return nullptr;
}

/// The factors as they stand in the results, then those of the operands that no result has.
std::vector<FactorId> inOrderOfDims(const FactorRule &rule) {
  std::vector<FactorId> order;
  llvm::BitVector isThere(rule.numFactors());
  auto add = [&](FactorId factor) {
    if (!isThere.test(factor.index()))
      order.push_back(factor);
    isThere.set(factor.index());
  };
  for (const RuleTensor &tensor : llvm::concat<const RuleTensor>(rule.results, rule.operands))
    for (const DimFactors &dim : tensor.dims)
      llvm::for_each(dim, add);
  for (unsigned index = 0; index < rule.numFactors(); ++index)
    add(FactorId(index));
  return order;
}

} // namespace

NamedStrategy NamedStrategy::of(const Strategy &strategy, const FactorRule &rule, const Mesh &mesh) {
  NamedStrategy named;
  for (FactorId factor : inOrderOfDims(rule))
    if (const AxisList &axes = strategy.axes[factor.index()]; !axes.empty())
      named.cuts.push_back({rule.factor(factor).name, namesOf(axes, mesh)});
  for (size_t i = 0; i < strategy.partialInputs.size(); ++i)
    if (!strategy.partialInputs[i].empty())
      named.cuts.push_back({passing.str() + std::to_string(i), namesOf(strategy.partialInputs[i], mesh)});
  return named;
}

std::string NamedStrategy::str() const {
  std::string text;
  for (const Cut &cut : cuts)
    text += (text.empty() ? "" : " ") + cut.factor + ":" + axesText(cut.axes);
  return text.empty() ? nothingCut.str() : text;
}

llvm::Expected<NamedStrategy> NamedStrategy::parse(llvm::StringRef text) {
  NamedStrategy named;
  if (text.trim() == nothingCut)
    return named;
  for (llvm::StringRef word : splitWords(text)) {
    auto [name, names] = word.split(':');
    if (names.consume_front("(") != names.consume_back(")") || names.empty())
      return inputError("strategy '{0}': '{1}' names no axes; write for instance m:x0 or m:(x0 x1)", text, word);
    llvm::SmallVector<llvm::StringRef> parts;
    names.split(parts, ' ', -1, /*KeepEmpty=*/false);
    named.cuts.push_back({name.str(), {parts.begin(), parts.end()}});
  }
  return named;
}

llvm::Expected<Strategy> NamedStrategy::bind(const FactorRule &rule, const Mesh &mesh) const {
  Strategy strategy;
  strategy.axes.resize(rule.numFactors());
  strategy.partialInputs.resize(rule.linear.size());
  for (const Cut &cut : cuts) {
    AxisList *list = findList(strategy, cut.factor, rule);
    if (!list)
      return inputError("strategy '{0}': '{1}' is no factor of {2}", str(), cut.factor, rule.str());
    llvm::Expected<AxisList> axes = axesOf(cut.axes, mesh, "strategy '" + str() + "'");
    if (!axes)
      return axes.takeError();
    llvm::append_range(*list, *axes);
  }
  if (llvm::Error error = check(rule, strategy, mesh))
    return error;
  return strategy;
}

NamedSharding NamedSharding::of(const Sharding &sharding, const Mesh &mesh) {
  NamedSharding named{{}, namesOf(sharding.partial, mesh), sharding.combiner};
  for (const AxisList &axes : sharding.dims)
    named.dims.push_back(namesOf(axes, mesh));
  for (const PartedDim &entry : sharding.parted) {
    named.parts.resize(sharding.numDims());
    named.parts[entry.dim].assign(entry.sizes.begin(), entry.sizes.end());
  }
  return named;
}

std::string NamedSharding::str() const {
  std::string text = "[";
  for (auto [dim, axes] : llvm::enumerate(dims)) {
    text += (text.size() == 1 ? "" : ", ") + (axes.empty() ? "-" : axesText(axes));
    text += dim < parts.size() ? partsText(parts[dim]) : "";
  }
  text += "]";
  return partial.empty() ? text : text + " " + combinerName(combiner).str() + "{" + llvm::join(partial, " ") + "}";
}

llvm::Expected<Sharding> NamedSharding::bind(const Mesh &mesh) const {
  Sharding sharding;
  sharding.combiner = combiner;
  for (const AxisNames &names : dims) {
    llvm::Expected<AxisList> axes = axesOf(names, mesh, "sharding '" + str() + "'");
    if (!axes)
      return axes.takeError();
    sharding.dims.push_back(std::move(*axes));
  }
  llvm::Expected<AxisList> axes = axesOf(partial, mesh, "sharding '" + str() + "'");
  if (!axes)
    return axes.takeError();
  sharding.partial = std::move(*axes);
  for (auto [dim, sizes] : llvm::enumerate(parts))
    setParts(sharding.parted, static_cast<unsigned>(dim), sizes);
  if (parts.empty())
    return sharding;
  if (llvm::Error error = check(sharding, sharding.anyShape(), mesh)) {
    auto [fault, text] = takeMessage(std::move(error));
    return inputError("sharding '{0}': {1}", str(), text);
  }
  return sharding;
}

} // namespace apc

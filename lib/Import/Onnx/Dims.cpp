// Binds the dims of graph inputs to numbers.
#include "Dims.h"

#include "DimExpression.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

namespace apc::onnx {

/// The plain name of dim 0 of the first input that has dims; empty where it is a number or an expression.
static std::string leadingName(const GraphProto &graph) {
  for (const ValueInfoProto &input : graph.input())
    if (input.type().tensor_type().shape().dim_size() > 0) {
      const std::string &text = input.type().tensor_type().shape().dim(0).dim_param();
      auto symbols = symbolsOf(text);
      return symbols && symbols->size() == 1 && symbols->front() == text ? text : "";
    }
  return "";
}

DimBinder::DimBinder(const std::map<std::string, int64_t> &given, const GraphProto &graph, std::optional<int64_t> batch)
    : bindings(given) {
  std::string leading = batch ? leadingName(graph) : "";
  if (!leading.empty()) {
    auto [entry, isNew] = bindings.try_emplace(leading, *batch);
    if (isNew)
      used.insert(leading); // it was not asked for by name
    else if (entry->second == 1)
      entry->second = *batch;
  }
  for (const auto &[name, size] : given)
    plainNames.insert(name);
  for (const ValueInfoProto &input : graph.input())
    for (const auto &dim : input.type().tensor_type().shape().dim()) {
      auto symbols = symbolsOf(dim.dim_param());
      if (symbols && symbols->size() == 1 && symbols->front() == dim.dim_param())
        plainNames.insert(dim.dim_param());
    }
}

std::optional<int64_t> DimBinder::lookUp(llvm::StringRef key) {
  auto found = bindings.find(key.str());
  if (found == bindings.end())
    return std::nullopt;
  used.insert(found->first);
  return found->second;
}

void DimBinder::need(llvm::StringRef key, llvm::StringRef input, size_t position) {
  if (whereFound.try_emplace(key, ("dim " + llvm::Twine(position) + " of '" + input + "'").str()).second)
    unbound.push_back(key.str());
}

std::optional<int64_t> DimBinder::bindText(llvm::StringRef text) {
  if (auto direct = lookUp(text))
    return direct;
  return evaluateDim(text, [&](llvm::StringRef symbol) -> std::optional<double> {
    auto size = lookUp(symbol);
    return size ? std::optional<double>(static_cast<double>(*size)) : std::nullopt;
  });
}

std::optional<BoundDims> DimBinder::bindMissingShape(llvm::StringRef name) {
  BoundDims result{{}, /*symbolic=*/true};
  while (auto size = lookUp((name + "." + llvm::Twine(result.dims.size())).str()))
    result.dims.push_back(*size);
  if (!result.dims.empty())
    return result;
  withoutShape.push_back(name.str());
  return std::nullopt;
}

void DimBinder::needText(llvm::StringRef text, llvm::StringRef input, size_t position) {
  auto symbols = symbolsOf(text);
  if (!symbols || symbols->empty() ||
      llvm::any_of(*symbols, [&](const std::string &symbol) { return !plainNames.contains(symbol); }))
    symbols.emplace({text.str()});
  bool isAsked = false;
  for (const std::string &symbol : *symbols) {
    if (bindings.contains(symbol))
      continue;
    need(symbol, input, position);
    isAsked = true;
  }
  // Every name is bound, and still the expression has no value that a dim can have.
  if (!isAsked)
    need(text, input, position);
}

std::optional<int64_t> DimBinder::known(llvm::StringRef name, size_t position, const TensorShapeProto::Dimension &dim) {
  if (auto size = lookUp((name + "." + llvm::Twine(position)).str()))
    return size;
  if (dim.has_dim_value() && dim.dim_value() >= 0)
    return dim.dim_value();
  llvm::StringRef text = llvm::StringRef(dim.dim_param()).trim();
  return text.empty() ? std::nullopt : bindText(text);
}

std::optional<BoundDims> DimBinder::bind(llvm::StringRef name, const TypeProto::Tensor &type) {
  if (!type.has_shape())
    return bindMissingShape(name);
  BoundDims result;
  for (const auto &[position, dim] : llvm::enumerate(type.shape().dim())) {
    std::string byPosition = (name + "." + llvm::Twine(position)).str();
    std::optional<int64_t> size = lookUp(byPosition);
    if (dim.has_dim_value() && dim.dim_value() >= 0) {
      result.dims.push_back(dim.dim_value());
      if (size.value_or(dim.dim_value()) != dim.dim_value() && contradiction.empty())
        contradiction = llvm::formatv("--dim {0}={1}: dim {2} of '{3}' is fixed to {4} in the file", byPosition, *size,
                                      position, name, dim.dim_value());
      continue;
    }
    result.symbolic = true;
    llvm::StringRef text = llvm::StringRef(dim.dim_param()).trim();
    if (!size && !text.empty())
      size = bindText(text);
    if (size)
      result.dims.push_back(*size);
    else if (text.empty())
      need(byPosition, name, position);
    else
      needText(text, name, position);
  }
  if (result.dims.size() != static_cast<size_t>(type.shape().dim_size()))
    return std::nullopt;
  return result;
}

llvm::Error DimBinder::takeError(llvm::StringRef source) const {
  if (!contradiction.empty())
    return inputError("{0}: {1}", source, contradiction);
  if (unbound.empty() && withoutShape.empty())
    return llvm::Error::success();
  std::string list, flags;
  for (const std::string &key : unbound) {
    bool quoted = llvm::StringRef(key).find_first_of(" \t\"$&|;<>()*?[]`\\") != llvm::StringRef::npos;
    list += (list.empty() ? "" : ", ") + ("'" + key + "' (" + whereFound.lookup(key) + ")");
    flags += " --dim " + (quoted ? "'" + key + "=N'" : key + "=N");
  }
  for (const std::string &name : withoutShape) {
    list += (list.empty() ? "" : ", ") + ("all dims of '" + name + "', which is declared without a shape");
    flags += " --dim " + name + ".0=N --dim " + name + ".1=N ... (one for each of its dims)";
  }
  return inputError("{0}: {1} dim(s) are not bound to a number: {2}. Bind them with{3}", source,
                    unbound.size() + withoutShape.size(), list, flags);
}

std::vector<std::string> DimBinder::unusedBindings() const {
  std::vector<std::string> names;
  for (const auto &[name, size] : bindings)
    if (!used.contains(name))
      names.push_back(name);
  return names;
}

} // namespace apc::onnx

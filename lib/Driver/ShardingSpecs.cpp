// The sharding specs of one node as a pin.
#include "ShardingSpecs.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Regex.h"

#include <map>

namespace apc {

namespace {

/// Gives the ways of a dim to its factors, major first: (h=4 d=64) 8 ways -> h=4, d=2.
void distribute(const FactorRule &rule, const DimFactors &dim, int64_t ways, std::map<std::string, int64_t> &cuts) {
  for (auto [position, id] : llvm::enumerate(dim)) {
    const Factor &factor = rule.factor(id);
    bool takesPart = position + 1 < dim.size() && ways > factor.size && ways % factor.size == 0;
    int64_t part = takesPart ? factor.size : ways;
    cuts[factor.name] = part;
    ways /= part;
  }
}

/// Reads one node's specs as ways of factors.
class SpecReader {
public:
  SpecReader(const FactorRule &rule, const NodeSharding &sharding, llvm::StringRef source)
      : rule(rule), sharding(sharding), source(source) {}

  llvm::Expected<Pin> read() {
    for (const NodeSharding::Tensor &tensor : sharding.tensors)
      if (llvm::Error error = readTensor(tensor))
        return error;
    Pin pin{"^" + llvm::Regex::escape(sharding.node) + "$", {}, true, source.str()};
    for (const auto &[factor, ways] : cuts)
      pin.factors.push_back({factor, {{"", ways}}});
    return pin;
  }

private:
  llvm::Error readTensor(const NodeSharding::Tensor &tensor) {
    llvm::ArrayRef<RuleTensor> tensors = rule.operands;
    if (tensor.isOutput)
      tensors = rule.results;
    if (tensor.index >= tensors.size() || tensors[tensor.index].absent)
      return llvm::Error::success(); // an input that has become an attribute
    const RuleTensor &known = tensors[tensor.index];
    auto numDims = static_cast<int64_t>(known.dims.size());
    std::map<int64_t, int64_t> ways;
    for (auto [dim, parts] : tensor.ways) {
      if (dim < -numDims || dim >= numDims)
        return inputError("{0}: its sharding spec cuts dim {1} of '{2}', which has {3} dims", source, dim, tensor.name,
                          numDims);
      ways[dim < 0 ? dim + numDims : dim] = parts;
    }
    for (int64_t dim = 0; dim < numDims; ++dim)
      if (llvm::Error error = cutDim(tensor, known.dims[dim], dim, ways.count(dim) ? ways[dim] : 1))
        return error;
    return llvm::Error::success();
  }

  llvm::Error cutDim(const NodeSharding::Tensor &tensor, const DimFactors &factors, int64_t dim, int64_t ways) {
    if (factors.empty() && ways > 1)
      return inputError("{0}: its sharding spec cuts dim {1} of '{2}' {3} ways, which has one element", source, dim,
                        tensor.name, ways);
    std::map<std::string, int64_t> wanted;
    distribute(rule, factors, ways, wanted);
    for (const auto &[factor, parts] : wanted) {
      auto [entry, isNew] = cuts.try_emplace(factor, parts);
      if (!isNew && entry->second != parts)
        return inputError("{0}: its sharding specs disagree: factor {1} of '{2}' is cut {3} ways, and {4} ways for dim "
                          "{5} of '{6}'",
                          source, factor, rule.str(), entry->second, parts, dim, tensor.name);
    }
    return llvm::Error::success();
  }

  const FactorRule &rule;
  const NodeSharding &sharding;
  llvm::StringRef source;
  std::map<std::string, int64_t> cuts;
};

} // namespace

llvm::Expected<Pin> pinOf(const FactorRule &rule, const NodeSharding &sharding, llvm::StringRef source) {
  return SpecReader(rule, sharding, source).read();
}

} // namespace apc

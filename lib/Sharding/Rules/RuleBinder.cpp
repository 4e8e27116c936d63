// Binding the text of a rule to shapes: sizes of factors, shape inference, the bound rule.
#include "apc/Sharding/FactorRule.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <algorithm>

namespace apc {

/// Solves for the sizes of all factors. Leading dims (`...`) are numbered major first over the longest run:
/// `..., ... -> ...` on [8, 4, 2] and [4, 1] has leading extents 8, 4, 2, and operand 1 uses the positions 1 and 2.
class RuleBinder {
  using DimText = RuleText::DimText;
  using TensorText = RuleText::TensorText;
  using BoundShape = RuleText::BoundShape;
  using KnownSizes = llvm::ArrayRef<std::pair<std::string, int64_t>>;

public:
  RuleBinder(const RuleText &text, llvm::ArrayRef<BoundShape> operands, llvm::ArrayRef<BoundShape> results)
      : text(text) {
    addTensors(text.operands, operands);
    addTensors(text.results, results);
    tooMany = operands.size() > text.operands.size() || results.size() > text.results.size();
  }

  llvm::Error solve(KnownSizes known) {
    if (tooMany)
      return inputError("more tensors than the rule's {0} operands and {1} results", text.operands.size(),
                        text.results.size());
    for (const auto &[name, size] : known)
      sizes[name] = {size};
    if (llvm::Error error = alignLeading())
      return error;
    for (bool progress = true; progress;) {
      progress = false;
      for (const Tensor &tensor : tensors)
        if (llvm::Error error = solveTensor(tensor, progress))
          return error;
    }
    return llvm::Error::success();
  }

  llvm::Expected<llvm::SmallVector<int64_t, 4>> inferResult(unsigned index) const {
    const Tensor &tensor = tensors[text.operands.size() + index];
    llvm::SmallVector<int64_t, 4> dims;
    for (const DimText &dim : tensor.text->dims) {
      if (dim.ellipsis) {
        dims.append(leading.begin(), leading.end());
        continue;
      }
      int64_t extent = 1;
      for (const std::string &name : dim.factors) {
        auto found = sizes.find(name);
        if (found == sizes.end())
          return unresolved(tensor, dims.size(), name);
        if (__builtin_mul_overflow(extent, found->second.size, &extent))
          return inputError("{0} dim {1}: the extent is too large", tensor.place(), dims.size());
      }
      dims.push_back(extent);
    }
    return dims;
  }

  llvm::Expected<FactorRule> build(double flopsPerPoint) {
    FactorRuleBuilder builder;
    for (const Tensor &tensor : tensors)
      if (llvm::Error error = buildTensor(tensor, builder))
        return error;
    builder.setFlopsPerPoint(flopsPerPoint);
    return builder.take();
  }

private:
  struct Tensor {
    const TensorText *text;
    BoundShape shape;
    bool isResult;
    size_t index; ///< among the operands, or among the results
    unsigned numLeading = 0;

    /// "operand 1"; made where an error needs it.
    std::string place() const { return (isResult ? "result " : "operand ") + std::to_string(index); }
  };
  struct Size {
    int64_t size;
    const Tensor *origin = nullptr; ///< none: the attributes
    unsigned dim = 0;

    std::string originText() const {
      return origin ? origin->place() + " dim " + std::to_string(dim) : std::string("the attributes");
    }
  };

  void addTensors(const std::vector<TensorText> &texts, llvm::ArrayRef<BoundShape> shapes) {
    for (size_t i = 0; i < texts.size(); ++i)
      tensors.push_back({&texts[i], i < shapes.size() ? shapes[i] : std::nullopt, &texts == &text.results, i});
  }

  static bool takesPart(const Tensor &tensor) { return tensor.shape && !tensor.text->ignored; }
  static bool hasEllipsis(const Tensor &tensor) {
    return llvm::any_of(tensor.text->dims, [](const DimText &dim) { return dim.ellipsis; });
  }

  llvm::Error unresolved(const Tensor &tensor, size_t dim, llvm::StringRef name) const {
    return inputError("{0} dim {1}: the size of factor '{2}' follows from no operand; it must be given", tensor.place(),
                      dim, name);
  }

  /// Counts the leading dims of each tensor and broadcasts their extents.
  llvm::Error alignLeading() {
    unsigned longest = 0, longestOperand = 0;
    for (Tensor &tensor : tensors) {
      if (!takesPart(tensor))
        continue;
      for (int64_t extent : tensor.shape->dims)
        if (extent < 0)
          return inputError("{0}: extent {1} is negative", tensor.place(), extent);
      unsigned named = tensor.text->dims.size() - hasEllipsis(tensor);
      unsigned numDims = tensor.shape->numDims();
      if (numDims < named || (numDims > named && !hasEllipsis(tensor)))
        return inputError("{0} has {1} dims; the rule expects {2}{3}", tensor.place(), numDims,
                          hasEllipsis(tensor) ? "at least " : "", named);
      tensor.numLeading = numDims - named;
      longest = std::max(longest, tensor.numLeading);
      if (!tensor.isResult)
        longestOperand = std::max(longestOperand, tensor.numLeading);
    }
    leading.assign(longest, 1);
    for (const Tensor &tensor : tensors)
      if (takesPart(tensor))
        if (llvm::Error error = broadcastLeading(tensor, longestOperand))
          return error;
    return llvm::Error::success();
  }

  llvm::Error broadcastLeading(const Tensor &tensor, unsigned longestOperand) {
    if (tensor.isResult && hasEllipsis(tensor) && tensor.numLeading < longestOperand)
      return inputError("{0} has {1} leading dims where an operand has {2}", tensor.place(), tensor.numLeading,
                        longestOperand);
    unsigned first = leadingStart(tensor), skip = leading.size() - tensor.numLeading;
    for (unsigned i = 0; i < tensor.numLeading; ++i) {
      int64_t extent = tensor.shape->dims[first + i], &wanted = leading[skip + i];
      bool widens = wanted == 1;
      if (extent != wanted && !widens && (extent != 1 || tensor.isResult))
        return inputError("{0} dim {1}: extent {2} does not broadcast with {3}", tensor.place(), first + i, extent,
                          wanted);
      if (widens)
        wanted = extent;
    }
    return llvm::Error::success();
  }

  /// How many named dims stand before `...`.
  static unsigned leadingStart(const Tensor &tensor) {
    unsigned start = 0;
    while (start < tensor.text->dims.size() && !tensor.text->dims[start].ellipsis)
      ++start;
    return start;
  }

  llvm::Error solveTensor(const Tensor &tensor, bool &progress) {
    if (!takesPart(tensor))
      return llvm::Error::success();
    unsigned position = 0;
    for (const DimText &dim : tensor.text->dims) {
      if (dim.ellipsis) {
        position += tensor.numLeading;
        continue;
      }
      if (llvm::Error error = solveDim(tensor, position++, dim, progress))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error solveDim(const Tensor &tensor, unsigned position, const DimText &dim, bool &progress) {
    int64_t extent = tensor.shape->dims[position], product = 1;
    const std::string *unknown = nullptr;
    for (const std::string &name : dim.factors) {
      auto found = sizes.find(name);
      if (found == sizes.end()) {
        if (std::exchange(unknown, &name))
          return llvm::Error::success(); // two unknown factors: another tensor may tell one of them
      } else if (__builtin_mul_overflow(product, found->second.size, &product)) {
        return inputError("{0} dim {1}: the factors are too large", tensor.place(), position);
      }
    }
    if (!unknown)
      return product == extent ? llvm::Error::success() : mismatch(tensor, position, dim, product);
    if (product == 0 || extent % product != 0)
      return inputError("{0} dim {1}: extent {2} is not divisible by {3}, the product of the other factors of ({4})",
                        tensor.place(), position, extent, product, llvm::join(dim.factors, " "));
    sizes[*unknown] = {extent / product, &tensor, position};
    progress = true;
    return llvm::Error::success();
  }

  llvm::Error mismatch(const Tensor &tensor, unsigned position, const DimText &dim, int64_t product) const {
    int64_t extent = tensor.shape->dims[position];
    if (dim.factors.empty())
      return inputError("{0} dim {1}: extent {2} where the rule expects 1", tensor.place(), position, extent);
    if (dim.factors.size() == 1)
      return inputError("{0} dim {1}: factor '{2}' is {3} here but {4} in {5}", tensor.place(), position,
                        dim.factors.front(), extent, product, sizes.find(dim.factors.front())->second.originText());
    return inputError("{0} dim {1}: extent {2} differs from {3}, the product of the factors ({4})", tensor.place(),
                      position, extent, product, llvm::join(dim.factors, " "));
  }

  llvm::Error buildTensor(const Tensor &tensor, FactorRuleBuilder &builder) {
    if (!tensor.shape) {
      tensor.isResult ? builder.addAbsentResult() : builder.addAbsentOperand();
      return llvm::Error::success();
    }
    if (tensor.text->ignored) {
      tensor.isResult ? builder.addReplicatedResult(*tensor.shape) : builder.addReplicatedOperand(*tensor.shape);
      return llvm::Error::success();
    }
    llvm::SmallVector<DimFactors, 4> dims;
    for (const DimText &dim : tensor.text->dims) {
      if (dim.ellipsis) {
        appendLeading(tensor, builder, dims);
        continue;
      }
      DimFactors ids;
      for (const std::string &name : dim.factors) {
        auto found = sizes.find(name);
        if (found == sizes.end())
          return unresolved(tensor, dims.size(), name);
        ids.push_back(factorNamed(name, name, found->second.size, builder));
      }
      dims.push_back(std::move(ids));
    }
    tensor.isResult ? builder.addResult(std::move(dims), tensor.shape->elementBits)
                    : builder.addOperand(std::move(dims), tensor.shape->elementBits);
    return llvm::Error::success();
  }

  void appendLeading(const Tensor &tensor, FactorRuleBuilder &builder, llvm::SmallVector<DimFactors, 4> &dims) {
    unsigned skip = leading.size() - tensor.numLeading;
    for (unsigned i = 0; i < tensor.numLeading; ++i) {
      DimFactors ids;
      if (tensor.shape->dims[dims.size()] == leading[skip + i])
        ids.push_back(factorNamed("b" + std::to_string(skip + i), "...", leading[skip + i], builder));
      dims.push_back(std::move(ids));
    }
  }

  /// The factor `name`, made on first use; `mark` is the word that `!` and combiners were written on.
  FactorId factorNamed(const std::string &name, llvm::StringRef mark, int64_t size, FactorRuleBuilder &builder) {
    auto [entry, isNew] = ids.try_emplace(name);
    if (!isNew)
      return entry->second;
    auto combiner = llvm::find_if(text.combiners, [&](const auto &pair) { return pair.first == mark; });
    if (llvm::is_contained(text.wholeFactors, mark))
      entry->second = builder.addWhole(name, size);
    else if (combiner != text.combiners.end())
      entry->second = builder.addReduction(name, size, combiner->second);
    else
      entry->second = builder.addFactor(name, size);
    return entry->second;
  }

  const RuleText &text;
  std::vector<Tensor> tensors;
  bool tooMany = false;
  llvm::SmallVector<int64_t, 4> leading;
  llvm::StringMap<Size> sizes;
  llvm::StringMap<FactorId> ids;
};

llvm::Expected<llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 2>>
RuleText::inferResults(llvm::ArrayRef<BoundShape> operandShapes,
                       llvm::ArrayRef<std::pair<std::string, int64_t>> known) const {
  RuleBinder binder(*this, operandShapes, {});
  if (llvm::Error error = binder.solve(known))
    return error;
  llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 2> shapes;
  for (unsigned i = 0; i < numResults(); ++i) {
    auto dims = binder.inferResult(i);
    if (!dims)
      return dims.takeError();
    shapes.push_back(std::move(*dims));
  }
  return shapes;
}

llvm::Expected<FactorRule> RuleText::bind(llvm::ArrayRef<BoundShape> operandShapes,
                                          llvm::ArrayRef<BoundShape> resultShapes, double flopsPerPoint,
                                          llvm::ArrayRef<std::pair<std::string, int64_t>> known) const {
  RuleBinder binder(*this, operandShapes, resultShapes);
  if (llvm::Error error = binder.solve(known))
    return error;
  return binder.build(flopsPerPoint);
}

} // namespace apc

// Features by index, and counts of n-grams: look-ups in tables that stand in attributes.
#include "../Attributes.h"
#include "apc/IR/Kernels/Evaluate.h"
#include "apc/IR/Kernels/IndexLoops.h"
#include "apc/IR/Ops/Indexing/Indexing.h"
#include "apc/IR/RuleBuilder.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace apc {

mlir::LogicalResult ArrayFeatureExtractorOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> data = dimsOf(getX());
  if (data.empty())
    return emitOpError("operand 'X' is a scalar; at least one dim is needed");
  llvm::SmallVector<int64_t, 4> dims(data.drop_back());
  if (dims.empty())
    dims.push_back(1);
  dims.push_back(shapeOf(getY())->numElements());
  return addType(*this, dims, operandElement(*this, 0), types);
}

mlir::FailureOr<FactorRule> ArrayFeatureExtractorOp::getRule() {
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> data, result, indices;
  for (int64_t size : dimsOf(getX()).drop_back())
    data.push_back(rule.parallel(size));
  result = data;
  if (result.empty())
    result.push_back({});
  data.push_back(rule.whole(dimsOf(getX()).back()));
  bool isList = dimsOf(getY()).size() == 1;
  result.push_back(isList ? rule.parallel(dimsOf(getY())[0]) : rule.whole(shapeOf(getY())->numElements()));
  if (isList)
    rule.setOperand(1, {result.back()});
  rule.setOperand(0, data);
  rule.setResult(0, result);
  rule.setLinear({0});
  return rule.take(Work::Stream);
}

Evaluated ArrayFeatureExtractorOp::evaluate(Operands operands) {
  mlir::RankedTensorType type = operands[0] && operands[1] ? evaluatedType(*this) : mlir::RankedTensorType();
  if (!type || operands[1]->isFloat())
    return std::nullopt;
  int64_t features = operands[0]->dims.back(), taken = operands[1]->numElements();
  return evaluatedAs(pickElements(*operands[0], type, [&](llvm::ArrayRef<int64_t> index) -> int64_t {
    int64_t place = operands[1]->ints[index.back()], row = positionOf(index, type.getShape()) / taken;
    return place < 0 || place >= features ? -1 : row * features + place;
  }));
}

namespace {

/// The n-grams that are counted: from their numbers to their place in the pool and in the result. Of pool 2 3 5 4 5 6
/// with ngram_counts 0 2 the first two are single numbers, [5, 4] is the third n-gram.
using GramTable = std::map<std::vector<int64_t>, std::pair<size_t, int64_t>>;

mlir::FailureOr<GramTable> readGrams(TfIdfVectorizerOp op) {
  llvm::ArrayRef<int64_t> pool = op.getPoolInt64s(), begins = op.getNgramCounts(), indexes = op.getNgramIndexes();
  GramTable table;
  size_t number = 0;
  for (size_t length = 1; length <= begins.size(); ++length) {
    int64_t end = length < begins.size() ? begins[length] : static_cast<int64_t>(pool.size());
    int64_t begin = begins[length - 1], size = end - begin;
    if (begin < 0 || size < 0 || end > static_cast<int64_t>(pool.size()) || size % static_cast<int64_t>(length) != 0)
      return op.emitOpError() << "attribute 'ngram_counts' cuts a pool of " << pool.size() << " numbers at " << begin
                              << ", which leaves no whole n-grams of " << length,
             mlir::failure();
    for (; begin < end; begin += static_cast<int64_t>(length), ++number) {
      if (number >= indexes.size() || indexes[number] < 0 || indexes[number] >= int64_t(1) << 31)
        return op.emitOpError() << "attribute 'ngram_indexes' has no place for n-gram " << number, mlir::failure();
      llvm::ArrayRef<int64_t> gram = pool.slice(begin, length);
      table.try_emplace({gram.begin(), gram.end()}, number, indexes[number]);
    }
  }
  if (number != indexes.size())
    return op.emitOpError() << "attribute 'ngram_indexes' has " << indexes.size() << " entries for " << number
                            << " n-grams",
           mlir::failure();
  if (op.getWeights() && op.getWeights()->size() != number)
    return op.emitOpError() << "attribute 'weights' has " << op.getWeights()->size() << " entries for " << number
                            << " n-grams",
           mlir::failure();
  return table;
}

/// Adds what occurs in `row` to `counts`: a gram is made of numbers that are 1 to `maxSkip` + 1 apart, all equally.
void countGrams(TfIdfVectorizerOp op, const GramTable &table, llvm::ArrayRef<int64_t> row,
                llvm::function_ref<void(size_t number, int64_t place)> found) {
  auto size = static_cast<int64_t>(row.size());
  int64_t maxStep = static_cast<int64_t>(op.getMaxSkipCount()) + 1;
  std::vector<int64_t> gram;
  for (auto length = static_cast<int64_t>(op.getMinGramLength()); length <= static_cast<int64_t>(op.getMaxGramLength());
       ++length)
    for (int64_t step = 1; step <= (length == 1 ? 1 : maxStep); ++step)
      for (int64_t first = 0; first + step * (length - 1) < size; ++first) {
        gram.clear();
        for (int64_t i = 0; i < length; ++i)
          gram.push_back(row[first + i * step]);
        if (auto entry = table.find(gram); entry != table.end())
          found(entry->second.first, entry->second.second);
      }
}

} // namespace

mlir::LogicalResult TfIdfVectorizerOp::inferTypes(llvm::SmallVectorImpl<mlir::Type> &types) {
  llvm::ArrayRef<int64_t> data = dimsOf(getX());
  auto grams = readGrams(*this);
  if (mlir::failed(grams))
    return mlir::failure();
  constexpr int64_t longest = 1 << 16;
  int64_t least = getMinGramLength(), most = getMaxGramLength(), skip = getMaxSkipCount();
  if (least < 1 || most < least || most > longest || skip < 0 || skip > longest)
    return emitOpError() << "counts n-grams of " << least << " to " << most << " numbers with up to " << skip
                         << " skipped; lengths of 1 to " << longest << " in order are needed";
  if (getMode() != "TF" && getMode() != "IDF" && getMode() != "TFIDF")
    return emitOpError() << "attribute 'mode' is '" << getMode() << "'; TF, IDF and TFIDF are accepted";
  if (data.empty() || data.size() > 2 || !llvm::isa<mlir::IntegerType>(operandElement(*this, 0)))
    return emitOpError() << "operand 'X' has shape " << printDims(data) << "; integers of one or two dims are needed";
  int64_t places = 0;
  for (int64_t index : getNgramIndexes())
    places = std::max(places, index + 1);
  llvm::SmallVector<int64_t, 2> dims(data.drop_back());
  dims.push_back(places);
  return addType(*this, dims, mlir::Float32Type::get(getContext()), types);
}

mlir::FailureOr<FactorRule> TfIdfVectorizerOp::getRule() {
  RuleBuilder rule(*this);
  llvm::SmallVector<DimFactors, 4> data;
  for (int64_t size : dimsOf(getX()).drop_back())
    data.push_back(rule.parallel(size));
  llvm::SmallVector<DimFactors, 4> result = data;
  data.push_back(rule.whole(dimsOf(getX()).back()));
  result.push_back(rule.whole(dimsOf(getY()).back()));
  rule.setOperand(0, data);
  rule.setResult(0, result);
  return rule.take(Work::Stream);
}

Evaluated TfIdfVectorizerOp::evaluate(Operands operands) {
  auto grams = readGrams(*this);
  if (!operands[0] || operands[0]->isFloat() || mlir::failed(grams))
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  int64_t size = operands[0]->dims.back(), places = result.dims.back();
  for (int64_t row = 0; size > 0 && row < operands[0]->numElements() / size; ++row)
    countGrams(*this, *grams, llvm::ArrayRef(operands[0]->ints).slice(row * size, size),
               [&](size_t number, int64_t place) {
                 double weight = getWeights() && getMode() != "TF" ? (*getWeights())[number] : 1;
                 double &count = result.floats[row * places + place];
                 count = getMode() == "IDF" ? weight : count + weight;
               });
  return evaluatedAs(std::move(result));
}

} // namespace apc

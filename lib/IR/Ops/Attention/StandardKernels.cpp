// The kernel of ONNX's own attention.
#include "../Attributes.h"
#include "Kernels.h"
#include "StandardHeads.h"
#include "apc/IR/Ops/Attention/Attention.h"

#include <cmath>

namespace apc {

namespace {

const Tensor *operandAt(Operands operands, unsigned index) {
  return index < operands.size() ? operands[index] : nullptr;
}

/// The keys that each query sees: by its mask, the length of the batch element and its own place.
struct Sight {
  ScoreMask mask;
  const Tensor *lengths = nullptr;
  bool isCausal = false;
  int64_t queries = 0;
  std::optional<int64_t> past; ///< positions of a cache before the first query

  double at(const ScoreIndex &index) const {
    std::optional<int64_t> length;
    if (lengths)
      length = getElement(*lengths, index.batch).integer;
    // The last query stands at the last key that counts.
    int64_t offset = past ? *past : length ? *length - queries : 0;
    bool isSeen = (!length || index.key < *length) && (!isCausal || index.key <= index.query + offset);
    return isSeen ? mask.at(index) : masked;
  }
};

} // namespace

std::optional<ScoreStage> returnedStage(mlir::Operation *attention) {
  constexpr std::array stages = {ScoreStage::Scaled, ScoreStage::Capped, ScoreStage::Biased, ScoreStage::Softmax};
  const int64_t mode = intAttribute(attention, "qk_matmul_output_mode", 0);
  return mode >= 0 && mode < static_cast<int64_t>(stages.size()) ? std::optional(stages[mode]) : std::nullopt;
}

Evaluated evaluateAttention(mlir::Operation *op, Operands operands) {
  if (!areAllKnown(op, operands))
    return std::nullopt;
  bool flat = operands[Standard::Queries]->dims.size() == 3;
  auto apart = [&](unsigned operand, llvm::StringRef heads) {
    const Tensor &tensor = *operands[operand];
    return flat ? splitHeads(tensor, intAttribute(op, heads, 1)) : tensor;
  };
  const Tensor *pastKey = operandAt(operands, Standard::PastKey);
  HeadTensors tensors{
      apart(Standard::Queries, "q_num_heads"), appendPositions(pastKey, apart(Standard::Keys, "kv_num_heads")),
      appendPositions(operandAt(operands, Standard::PastValue), apart(Standard::Values, "kv_num_heads"))};
  Sight sight{ScoreMask(operandAt(operands, Standard::Mask)), operandAt(operands, Standard::KeyLengths),
              intAttribute(op, "is_causal", 0) != 0, tensors.queries.dims[2],
              pastKey ? std::optional(pastKey->dims[2]) : std::nullopt};
  auto bias = [&](const ScoreIndex &index) { return sight.at(index); };
  double size = static_cast<double>(tensors.queries.dims[3]);
  Scoring scoring{floatAttribute(op, "scale", 1 / std::sqrt(size)), floatAttribute(op, "softcap", 0), bias};
  std::optional<ScoreStage> stage = returnedStage(op);
  if (!stage)
    return std::nullopt;
  scoring.returned = *stage;
  Attended attended = attend(tensors, scoring);
  llvm::SmallVector<Tensor, 1> results{flat ? joinHeads(attended.results) : std::move(attended.results)};
  if (op->getNumResults() == 1)
    return results;
  results.push_back(resultOrNone(op, 1, std::move(tensors.keys)));
  results.push_back(resultOrNone(op, 2, std::move(tensors.values)));
  results.push_back(resultOrNone(op, 3, std::move(attended.scores)));
  return results;
}

void localizeAttention(LocalOp &local) {
  if (dimsOf(local.original->getOperand(Standard::Queries)).size() != 3)
    return;
  local.setInt("q_num_heads", localHeads(local, {"kv", "g"}));
  local.setInt("kv_num_heads", localHeads(local, {"kv"}));
}

} // namespace apc

// Memory that the libraries of a training program hold beside it.
#include "Fields.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

constexpr int64_t kib = 1024, mib = 1024 * kib;

/// Of compute capability 9.0.
bool isHopper(llvm::StringRef hardware) {
  return hardware.contains_insensitive("h100") || hardware.contains_insensitive("h200");
}
bool isAmpere(llvm::StringRef hardware) { return hardware.contains_insensitive("a100"); }

/// One workspace of cuBLAS for each of two streams: PyTorch takes ":4096:2:16:8", which is 2 times 4,096 KiB and 8
/// times 16, and on compute capability 9.0 ":4096:8" (aten/src/ATen/cuda/CublasHandlePool.cpp), which tests that have
/// to repeat exactly ask for.
int64_t workspacesOfProducts(llvm::StringRef hardware, llvm::StringRef notes) {
  const bool isLarge = isHopper(hardware) || notes.contains("CUBLAS_WORKSPACE_CONFIG=:4096:8");
  return 2 * (isLarge ? 8 * 4096 * kib : (2 * 4096 + 8 * 16) * kib);
}

/// Transformer Engine has a workspace of its own, and with grouped products four more
/// (transformer_engine/pytorch/module/base.py, get_cublas_workspace_size_bytes).
int64_t workspacesOfLayers(llvm::StringRef hardware, llvm::StringRef notes) {
  return (notes.contains("moe-grouped-gemm") ? 5 : 1) * (isAmpere(hardware) ? 4 : 32) * mib;
}

/// Layers of Megatron's own keep a buffer of scores (megatron/core/utils.py, GlobalMemoryBuffer).
int64_t bufferOfScores(const Measurement &row) {
  const int64_t positions = row.model.sequence / std::max<int64_t>(1, row.layout.context);
  const int64_t heads = row.model.heads / std::max<int64_t>(1, row.layout.tensor);
  return row.layout.microBatch.value_or(1) * heads * positions * positions * 2;
}

/// Softmaxes between products make the causal mask of a length once, and keep it (megatron/core/transformer/utils.py,
/// get_default_causal_mask; Transformer Engine's softmax.py does the same).
int64_t keptMask(const Measurement &row) { return row.model.sequence * row.model.sequence; }

/// Bytes that a state of an optimizer, of so many elements, takes beyond its own. States are made in the first update,
/// in blocks that its passes have left, whose sizes are multiples of 2 MiB; PyTorch does not split a block of more than
/// 1 MiB of which no more than that would be left (c10/cuda/CUDACachingAllocator.cpp, should_split).
int64_t unsplitBytes(int64_t elements) {
  const int64_t bytes = 4 * elements, left = (2 * mib - bytes % (2 * mib)) % (2 * mib);
  return bytes > mib && left <= mib ? left : 0;
}

/// The same of both states of all matrices of the layers of a rank; states in pieces lie in one buffer.
int64_t unsplitStates(const Measurement &row) {
  const TransformerShape &model = row.model;
  const ParallelDegrees &layout = row.layout;
  if (layout.zero > 0)
    return 0;
  const int64_t ways = std::max<int64_t>(1, layout.tensor), heads = model.heads * model.headSize;
  const int64_t inner = model.inner * model.hidden / ways, attended = heads * model.hidden / ways;
  const int64_t projected = (heads + 2 * model.keyHeads * model.headSize) * model.hidden / ways;
  const int64_t copies = std::max<int64_t>(1, model.experts / std::max<int64_t>(1, layout.experts));
  const int64_t ofLayer = unsplitBytes(projected) + unsplitBytes(attended) +
                          copies * (unsplitBytes((model.isGated() ? 2 : 1) * inner) + unsplitBytes(inner));
  constexpr int64_t numStates = 2;
  return numStates * model.layers / std::max<int64_t>(1, layout.pipeline) * ofLayer;
}

/// The schedule keeps what each chunk received and what arrived for its gradients until the next step
/// (megatron/core/pipeline_parallel/schedules.py).
int64_t tensorsBetweenStages(const Measurement &row) {
  if (row.layout.pipeline <= 1)
    return 0;
  const int64_t positions = row.model.sequence / std::max<int64_t>(1, row.layout.context);
  const int64_t ways = row.layout.cutsSequences ? std::max<int64_t>(1, row.layout.tensor) : 1;
  return 2 * row.layout.numChunks() * row.layout.microBatch.value_or(1) * positions * row.model.hidden * 2 / ways;
}

} // namespace

void setMemoryBeside(Fields &fields, Measurement &into) {
  const llvm::StringRef hardware = fields.text("hardware"), notes = fields.text("notes");
  into.besideBytes = workspacesOfProducts(hardware, notes) + tensorsBetweenStages(into) + unsplitStates(into);
  if (fields.text("transformer_impl") == "local")
    into.besideBytes += bufferOfScores(into);
  else
    into.besideBytes += workspacesOfLayers(hardware, notes);
  const bool isInParts =
      fields.text("transformer_impl") == "local" || fields.text("attention_backend").contains("unfused");
  if (isInParts && into.model.kind == TransformerKind::Decoder)
    into.besideBytes += keptMask(into);
  if (into.model.kind == TransformerKind::EncoderDecoder)
    into.boundaryBytes.reset();
  if (!into.seconds && !into.memoryBytes && !into.boundaryBytes)
    fields.leaveOut("memory between steps alone, which is not known of encoders beside decoders");
  into.overrides.emplace_back("device.workspace_bytes=1"); // counted here; clusters take no 0
}

} // namespace apc

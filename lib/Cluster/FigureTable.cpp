// One row for each figure. A new figure is a field in Cluster.h and a row here.
#include "FigureTable.h"

using namespace llvm;

namespace apc {

namespace {

constexpr FigureUnit none;
constexpr FigureUnit text{"a text"};
constexpr FigureUnit flag{"true or false"};
constexpr FigureUnit bytes{"bytes", 0x1p60, true};
constexpr FigureUnit bytesPerSecond{"bytes per second", 1e18};
constexpr FigureUnit flopsPerSecond{"floating-point operations per second", 1e21};
constexpr FigureUnit seconds{"seconds", 1};
constexpr FigureUnit flopsOfOneOp{"floating-point operations", 1e30};
constexpr FigureUnit headSizes{"elements of a head", 1e6};
constexpr FigureUnit bytesOfOneOp{"bytes", 1e30};
constexpr FigureUnit bytesOfOneScore{"bytes", 1e3};
constexpr FigureUnit timesUnit{"times", 1e3};
constexpr FigureUnit deviation{"a fraction", 1, false, /*mayBeZero=*/true};

constexpr FigureRow<Device> deviceRows[] = {
    {"name", &Device::name, text, true},
    {"peak_flops_per_second", &Device::peakFlopsPerSecond, flopsPerSecond, true, nullptr, FigureKind::ComputeRate},
    {"peak_vector_flops_per_second", &Device::peakVectorFlopsPerSecond, flopsPerSecond, true, nullptr,
     FigureKind::ComputeRate},
    {"memory_bytes", &Device::memoryBytes, bytes, true, nullptr, FigureKind::MemorySize},
    {"memory_bytes_per_second", &Device::memoryBytesPerSecond, bytesPerSecond, true, nullptr, FigureKind::MemoryRate},
    {"launch_seconds", &Device::launchSeconds, seconds, true},
    {"graph_launch_seconds", &Device::graphLaunchSeconds, seconds},
    {"collective_launch_seconds", &Device::collectiveLaunchSeconds, seconds, false, &Device::launchSeconds},
    {"workspace_bytes", &Device::workspaceBytes, bytes},
    {"contraction_efficiency", &Device::contractionEfficiency, flopsOfOneOp},
    {"narrow_contraction_share", &Device::narrowContractionShare, fractionUnit},
    {"multiprocessors", &Device::multiprocessors, countUnit},
    {"attention_efficiency", &Device::attentionEfficiency, headSizes},
    {"tuned_attention_efficiency", &Device::tunedAttention, headSizes},
    {"masked_attention_share", &Device::maskedAttentionShare, fractionUnit},
    {"memory_efficiency", &Device::memoryEfficiency, bytesOfOneOp},
    {"speed_variation", &Device::speedVariation, deviation},
    {"overlapped_compute_share", &Device::overlappedComputeShare, fractionUnit},
    {"overlapped_communication_share", &Device::overlappedCommunicationShare, fractionUnit},
    {"tf32_for_f32", &Device::tf32ForF32, flag},
    {"bf16_for_f32", &Device::bf16ForF32, flag},
};

constexpr FigureRow<Level> levelRows[] = {
    {"name", &Level::name, text, true},
    {"size", &Level::size, countUnit, true},
    {"bytes_per_second", &Level::bytesPerSecond, bytesPerSecond, true, nullptr, FigureKind::LinkRate},
    {"latency_seconds", &Level::latencySeconds, seconds, true},
    {"bulk_latency_seconds", &Level::bulkLatencySeconds, seconds, false, &Level::latencySeconds},
    {"efficiency", &Level::efficiency, fractionUnit},
    {"shared", &Level::shared, flag},
    {"switch_reduction_efficiency", &Level::switchReductionEfficiency, fractionUnit},
    {"switch_reduction_latency_seconds", &Level::switchReductionLatencySeconds, seconds, false,
     &Level::bulkLatencySeconds},
    {"topology", &Level::topology, none},
};

constexpr FigureRow<Host> hostRows[] = {
    {"memory_bytes", &Host::memoryBytes, bytes},
    {"device_bytes_per_second", &Host::deviceBytesPerSecond, bytesPerSecond},
    {"storage_bytes", &Host::storageBytes, bytes},
    {"storage_bytes_per_second", &Host::storageBytesPerSecond, bytesPerSecond},
};

constexpr FigureRow<Runtime> runtimeRows[] = {
    {"name", &Runtime::name, text, true},
    {"description", &Runtime::description, text},
    {"fuses_attention", &Runtime::fusesAttention, flag},
    {"tunes_attention", &Runtime::tunesAttention, flag},
    {"attention_share", &Runtime::attentionShare, fractionUnit},
    {"skips_masked_keys", &Runtime::skipsMaskedKeys, flag},
    {"score_forward_bytes", &Runtime::scoreForwardBytes, bytesOfOneScore},
    {"score_backward_bytes", &Runtime::scoreBackwardBytes, bytesOfOneScore},
    {"score_kept_bytes", &Runtime::scoreKeptBytes, bytesOfOneScore},
    {"score_work_bytes", &Runtime::scoreWorkBytes, bytesOfOneScore},
    {"reads_transposed", &Runtime::readsTransposed, flag},
    {"full_f32_products", &Runtime::fullF32Products, flag},
    {"fuses_elementwise", &Runtime::fusesElementwise, flag},
    {"fuses_sums", &Runtime::fusesSums, flag},
    {"normalization_passes", &Runtime::normalizationPasses, timesUnit},
    {"normalization_kernels", &Runtime::normalizationKernels, timesUnit},
    {"loss_passes", &Runtime::lossPasses, timesUnit},
    {"fuses_loss", &Runtime::fusesLoss, flag},
    {"overwrites_scores", &Runtime::overwritesScores, flag},
    {"attention_kept_bytes", &Runtime::attentionKeptBytes, bytesOfOneScore},
    {"batched_attention_kept_bytes", &Runtime::batchedKeptBytes, bytesOfOneScore},
    {"rotation_kept_bytes", &Runtime::rotationKeptBytes, bytesOfOneScore},
    {"staying_score_bytes", &Runtime::stayingScoreBytes, bytesOfOneScore},
    {"loss_bytes", &Runtime::lossBytes, bytesOfOneScore},
    {"normalization_kept_bytes", &Runtime::normalizationKeptBytes, bytesOfOneScore},
    {"allocator_share", &Runtime::allocatorShare, fractionUnit},
    {"caches_blocks", &Runtime::cachesBlocks, flag},
    {"gradient_sum_bytes", &Runtime::gradientSumBytes, bytes},
    {"gradient_exchange_bytes", &Runtime::gradientExchangeBytes, bytes},
    {"fp16_gradient_sum_bytes", &Runtime::fp16GradientSumBytes, bytes},
    {"fp16_gradient_held_bytes", &Runtime::fp16GradientHeldBytes, bytes},
    {"keeps_gradients", &Runtime::keepsGradients, flag},
    {"exchanges_gradients_together", &Runtime::exchangesGradientsTogether, flag},
    {"gathers_logits", &Runtime::gathersLogits, flag},
    {"gathers_inputs_again", &Runtime::gathersInputsAgain, flag},
    {"recomputes_last_products", &Runtime::recomputesLastProducts, flag},
    {"recomputes_logits", &Runtime::recomputesLogits, flag},
    {"collective_share", &Runtime::collectiveShare, fractionUnit},
    {"dispatch_seconds", &Runtime::dispatchSeconds, seconds},
    {"waits_for_transfers", &Runtime::waitsForTransfers, flag},
    {"keeps_sent_values", &Runtime::keepsSentValues, flag},
    {"keeps_receive_buffers", &Runtime::keepsReceiveBuffers, flag},
    {"waits_for_kernels", &Runtime::waitsForKernels, flag},
};

} // namespace

template <>
ArrayRef<FigureRow<Device>> figureRows<Device>() {
  return deviceRows;
}
template <>
ArrayRef<FigureRow<Level>> figureRows<Level>() {
  return levelRows;
}
template <>
ArrayRef<FigureRow<Host>> figureRows<Host>() {
  return hostRows;
}

template <>
ArrayRef<FigureRow<Runtime>> figureRows<Runtime>() {
  return runtimeRows;
}

std::string figureName(FigurePlace place, const Pool &pool) {
  switch (place.section) {
  case FigurePlace::Section::Device:
    return ("device." + deviceRows[place.row].key).str();
  case FigurePlace::Section::Level:
    return "level." + pool.levels[place.level].name + "." + levelRows[place.row].key.str();
  case FigurePlace::Section::Host:
    return ("host." + hostRows[place.row].key).str();
  }
  llvm_unreachable("a section without a name");
}

} // namespace apc

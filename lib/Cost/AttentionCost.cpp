// Attention as runtimes run it: COSTS.md has the formulas and their sources.
#include "AttentionCost.h"

#include <cmath>

using namespace llvm;

namespace apc {

namespace {

/// Rows of scores that a fused attention computes at a time, at least: those of one matrix instruction.
constexpr double attentionRows = 16;
/// Key positions' worth of time that it takes to start and end the rows of an attention: FlashAttention-2 and -3 at 512
/// to 16,384 positions (test/Cost/Measurements/attention.csv). Under a causal mask rows end at different times.
constexpr double attentionStart = 100, causalStart = 500;
/// The efficiency of an attention beside that of a large contraction, where a device has no figure for it: A100, 0.73
/// of 0.87 for heads of 128, and 0.63 for heads of 64.
constexpr double attentionShare = 0.84, smallHeadShare = 0.72, smallHead = 64;

/// Each gradient of an attention for its queries, keys or values has this share of the FLOPs of the attention: all
/// three take 5 products for its 2.
constexpr double gradientShare = 2.5 / 3;
/// Times that products of an attention in parts write or read a matrix of scores: forward 2, backward 4.
constexpr double productPasses = 2, gradientPasses = 4;

/// Batches of small products run on the matrix units where the rows of a head start at multiples of as many elements
/// (16 bytes: NVIDIA, Matrix Multiplication Background User's Guide, section 2), on the vector units else: steps of
/// BigScience with heads of 108 and 225 take a third longer than those with 104, 144 and 216.
constexpr double alignedHead = 8;

/// The share of the matrix units' peak that an attention of many long sequences reaches, by the size of its heads.
double attentionEfficiency(const Device &device, const Runtime &runtime, double headSize) {
  if (runtime.tunesAttention && !device.tunedAttention.points.empty())
    return device.tunedAttention.at(headSize);
  if (!device.attentionEfficiency.points.empty())
    return device.attentionEfficiency.at(headSize);
  return (headSize > smallHead ? attentionShare : smallHeadShare) * device.contractionEfficiency.top();
}

/// Small attentions reach as much less than large ones as contractions of their FLOPs do.
double fusedSeconds(const LocalAttention &local, const Device &device, const DeviceRates &rates,
                    const Runtime &runtime) {
  const FusedAttention &attention = *local.rule.attention;
  double rows = 1, keys = static_cast<double>(attention.keys);
  for (FactorId factor : attention.rows)
    rows *= static_cast<double>(local.localSizes[factor.index()]);
  double padded = local.flops / fill(rows, attentionRows);
  double size = device.contractionEfficiency.at(padded) / device.contractionEfficiency.top();
  double atBest = padded / (attentionEfficiency(device, runtime, static_cast<double>(attention.headSize)) *
                            runtime.attentionShare * rates.matrixFlopsPerSecond(local.format));
  double seconds = atBest / size + atBest * attentionStart / keys;
  if (attention.causal && runtime.skipsMaskedKeys)
    seconds = std::min(seconds, (atBest / size + atBest * causalStart / keys) / 2);
  return attention.masked ? seconds / device.maskedAttentionShare : seconds;
}

/// Products of all scores, and the kernels between them by their bytes. Products over a head have few steps of k,
/// behind which their tiles are written or before which they are read: no roof hides the other. Korthikanti et al. 2022
/// table 4: 1.3 ms to recompute 134 million scores with heads of 96 on an A100; so 1.3 ms, with the greater of both 1.0
/// ms.
double secondsInParts(const LocalAttention &local, const Device &device, const DeviceRates &rates,
                      const Runtime &runtime) {
  bool ofGradient = isGradientOfAttention(local.rule);
  auto headSize = static_cast<double>(local.rule.attention->headSize);
  double scores = scoresOf(local.rule, local.flops);
  ContractionShape shape{1, 1, 1, headSize};
  constexpr double aligned = 64;
  shape.m = shape.n = aligned;
  bool isOnMatrix = std::fmod(headSize, alignedHead) == 0;
  double products = local.flops / (device.contractionEfficiency.at(local.flops) * tileEfficiency(shape) *
                                   (isOnMatrix ? rates.matrixFlopsPerSecond(local.format)
                                               : rates.vectorFlopsPerSecond(local.format)));
  double bytesOfScore = local.rule.results.front().elementBits / 8.0;
  double ownBytes = scores * bytesOfScore * (ofGradient ? gradientPasses / 3 : productPasses);
  double between = scores * (ofGradient ? runtime.scoreBackwardBytes / 3 : runtime.scoreForwardBytes);
  auto streamed = [&](double bytes) {
    return bytes > 0 ? bytes / (device.memoryBytesPerSecond * device.memoryEfficiency.at(bytes)) : 0;
  };
  return products + streamed(ownBytes) + streamed(between);
}

} // namespace

double scoresOf(const FactorRule &rule, double flops) {
  return flops / (4 * static_cast<double>(rule.attention->headSize)) /
         (isGradientOfAttention(rule) ? gradientShare : 1);
}

double attentionSeconds(const LocalAttention &local, const Device &device, const DeviceRates &rates,
                        const Runtime &runtime) {
  double onMatrix = runtime.fusesAttention ? fusedSeconds(local, device, rates, runtime)
                                           : secondsInParts(local, device, rates, runtime);
  double onVector =
      local.flops / (device.contractionEfficiency.at(local.flops) * rates.vectorFlopsPerSecond(local.format));
  return runtime.fusesAttention ? std::min(onMatrix, onVector) : onMatrix;
}

} // namespace apc

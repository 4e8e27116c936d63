// The roofline: which peaks a number format has on a device, how well a shape fills the matrix units, the two roofs.
#include "AttentionCost.h"
#include "LocalSizes.h"

#include <cassert>
#include <cmath>
#include <limits>
#include <optional>

using namespace llvm;

namespace apc {

namespace {

/// Rows and columns of the tile of a result that a matrix unit computes at a time, and its step along k.
constexpr double tileRows = 64, tileColumns = 64, tileDepth = 16;
/// Filling and draining the pipeline of one tile costs as much as this many steps of k. FlashAttention-2's throughput
/// at head size 64 is 0.83 of that at 128: (64 / 96) / (128 / 160).
constexpr double tileStartDepth = 32;
/// Elements that a matrix unit loads at a time, and what remains of its speed where rows do not start at a multiple of
/// them: stas00/ml-engineering @744d01e1, SwiGLU alignment, 272.7 of 398.4 TFLOP/s for d_ff 10922 and 10944.
constexpr double alignedElements = 8, unalignedShare = 0.7;

/// Tiles of a result that kernels are made for, and the speed of each beside the largest: smaller tiles load more for
/// each FLOP (NVIDIA, Matrix Multiplication Background User's Guide, section 3; the speeds are assumptions).
struct ResultTile {
  double rows, columns, speed;
};
constexpr ResultTile resultTiles[] = {{256, 128, 1},   {128, 256, 1},   {128, 128, 0.95},
                                      {128, 64, 0.85}, {64, 128, 0.85}, {64, 64, 0.7}};

/// The formats in which an op of `format` may run on matrix units, best first.
ArrayRef<NumberFormat> matrixChoices(NumberFormat format, NumberFormat ofF32Products) {
  using enum NumberFormat;
  static constexpr NumberFormat f64[] = {F64}, f32[] = {F32}, tf32[] = {TF32, F32};
  static constexpr NumberFormat bf16[] = {BF16, F16, F32}, f16[] = {F16, BF16, F32}, f8[] = {F8, F16, BF16, F32};
  static constexpr NumberFormat f4[] = {F4, F8, F16, BF16, F32}, i8[] = {I8, F16, BF16, F32};
  static constexpr NumberFormat i4[] = {I4, I8, F16, BF16, F32};
  switch (format) {
  case F64:
    return f64;
  case F32:
    return ofF32Products == F32 ? ArrayRef(f32) : matrixChoices(ofF32Products, F32);
  case TF32:
    return tf32;
  case BF16:
    return bf16;
  case F16:
    return f16;
  case F8:
    return f8;
  case F4:
    return f4;
  case I8:
    return i8;
  case I4:
    return i4;
  case Other:
    return {};
  }
  llvm_unreachable("a number format without matrix units");
}

double vectorPeak(const Device &device, NumberFormat format) {
  const auto &peaks = device.peakVectorFlopsPerSecond;
  if (auto found = peaks.find(format); found != peaks.end())
    return found->second;
  auto f32 = peaks.find(NumberFormat::F32);
  assert(f32 != peaks.end() && "a device without an f32 vector peak");
  return format == NumberFormat::F64 ? f32->second / 2 : f32->second;
}

/// The format in which products of f32 run.
NumberFormat formatOfF32Products(const Device &device, const Runtime &runtime) {
  if (device.bf16ForF32)
    return NumberFormat::BF16;
  return device.tf32ForF32 && !runtime.fullF32Products ? NumberFormat::TF32 : NumberFormat::F32;
}

double localTensorBytes(const RuleTensor &tensor, ArrayRef<int64_t> localSizes) {
  return std::ceil(localElements(tensor, localSizes) * tensor.elementBits / 8);
}

double touchedBytes(const FactorRule &rule, ArrayRef<int64_t> localSizes) {
  double results = 0;
  for (const RuleTensor &result : rule.results)
    results += localTensorBytes(result, localSizes);
  double first = rule.results.empty() ? 0 : localTensorBytes(rule.results.front(), localSizes);
  double bytes = results;
  for (const RuleTensor &operand : rule.operands) {
    double whole = localTensorBytes(operand, localSizes);
    bytes += operand.sparse ? std::min(whole, first) : whole;
  }
  return bytes;
}

/// FLOPs of whole waves: each multiprocessor computes one tile of the result at a time, and the last wave takes as long
/// as the others. Of the tiles those which end first. Few tiles are cut along k, in halves as long as that makes no
/// further wave. A100, 2048 x 12288 x 12288: 768 tiles of 256 x 128 are 8 waves of 108, of which 0.89 are filled;
/// LLMCompass measured 0.90 of the speed at 16384 rows.
double flopsOfWaves(const ContractionShape &shape, double flopsPerPoint, int64_t multiprocessors) {
  std::optional<double> least;
  auto units = static_cast<double>(multiprocessors);
  for (const ResultTile &tile : resultTiles) {
    double tiles = shape.batch * std::ceil(shape.m / tile.rows) * std::ceil(shape.n / tile.columns);
    double parts = tiles > units ? 1 : std::exp2(std::floor(std::log2(units / tiles)));
    double computed = std::ceil(tiles * parts / units) * units / parts * tile.rows * tile.columns;
    double own = flopsPerPoint * shape.k * computed / tile.speed;
    least = std::min(own, least.value_or(own));
  }
  return *least;
}

/// Whole tiles are computed, on the matrix units or without them, whichever is faster. The efficiency is that of the
/// work that is done, padding included: so more rows never take less time.
double contractionSeconds(const FactorRule &rule, ArrayRef<int64_t> localSizes, NumberFormat format, double flops,
                          const Device &device, const DeviceRates &rates) {
  ContractionShape shape = contractionShape(rule, localSizes);
  double padded = flops / tileFill(shape);
  double rate = rates.matrixFlopsPerSecond(format) * tileEfficiency(shape);
  if (isNarrow(rates.matrixFormat(format)))
    rate *= device.narrowContractionShare;
  double onMatrix = padded / (device.contractionEfficiency.at(padded) * rate);
  if (device.multiprocessors > 0)
    onMatrix = std::max(onMatrix, flopsOfWaves(shape, rule.flopsPerPoint, device.multiprocessors) /
                                      (device.contractionEfficiency.top() * rate));
  double onVector = flops / (device.contractionEfficiency.at(flops) * rates.vectorFlopsPerSecond(format));
  return std::min(onMatrix, onVector);
}

} // namespace

double fill(double size, double tile) { return size / (tile * std::ceil(size / tile)); }

ContractionShape contractionShape(const FactorRule &rule, ArrayRef<int64_t> localSizes) {
  ContractionShape shape;
  size_t numMultiplied = std::min<size_t>(rule.operands.size(), 2);
  for (size_t i = 0; i < rule.factors.size(); ++i) {
    auto size = static_cast<double>(localSizes[i]);
    bool isResult = any_of(rule.results, [&](const RuleTensor &result) { return result.has(FactorId(i)); });
    bool isFirst = !rule.operands.empty() && rule.operands[0].has(FactorId(i));
    bool isSecond = rule.operands.size() > 1 && rule.operands[1].has(FactorId(i));
    bool isOther = any_of(drop_begin(rule.operands, numMultiplied), [&](const RuleTensor &operand) {
      return operand.has(FactorId(i)) && !isOfFactors(operand, rule.results);
    });
    double &target = !isResult                           ? shape.k
                     : isFirst && isSecond               ? shape.batch
                     : !isFirst && (isSecond || isOther) ? shape.n
                                                         : shape.m;
    target *= size;
  }
  return shape;
}

double tileFill(const ContractionShape &shape) {
  return fill(shape.m, tileRows) * fill(shape.n, tileColumns) * fill(shape.k, tileDepth);
}

double tileEfficiency(const ContractionShape &shape) {
  bool isAligned = std::fmod(shape.n, alignedElements) == 0 && std::fmod(shape.k, alignedElements) == 0;
  double depth = tileDepth * std::ceil(shape.k / tileDepth);
  return depth / (depth + tileStartDepth) * (isAligned ? 1 : unalignedShare);
}

DeviceRates::DeviceRates(const Device &device, const Runtime &runtime)
    : narrowsConvolutions(device.tf32ForF32 && !device.bf16ForF32) {
  const NumberFormat ofF32Products = formatOfF32Products(device, runtime);
  for (size_t i = 0; i < matrix.size(); ++i) {
    auto format = static_cast<NumberFormat>(i);
    vector[i] = matrix[i] = vectorPeak(device, format);
    units[i] = format;
    for (NumberFormat choice : matrixChoices(format, ofF32Products))
      if (auto found = device.peakFlopsPerSecond.find(choice); found != device.peakFlopsPerSecond.end()) {
        matrix[i] = found->second;
        units[i] = choice;
        break;
      }
    matrix[i] *= device.slowestShare;
    vector[i] *= device.slowestShare;
  }
}

NumberFormat DeviceRates::formatOf(const FactorRule &contraction, NumberFormat format) const {
  const bool isNarrowed = narrowsConvolutions && contraction.isConvolution && format == NumberFormat::F32;
  return isNarrowed ? NumberFormat::TF32 : format;
}

OpCost opCost(const FactorRule &rule, ArrayRef<int64_t> localSizes, NumberFormat format, const Device &device,
              const DeviceRates &rates, const Runtime &runtime) {
  OpCost cost;
  if (rule.work == Work::View)
    return cost;
  if (rule.work == Work::Contraction)
    format = rates.formatOf(rule, format);
  cost.flops = localFlops(rule, localSizes);
  double bytes = touchedBytes(rule, localSizes);
  constexpr auto most = static_cast<double>(std::numeric_limits<int64_t>::max());
  cost.bytes = bytes < most ? static_cast<int64_t>(bytes) : std::numeric_limits<int64_t>::max();
  if (cost.flops > 0)
    cost.computeSeconds =
        rule.attention ? attentionSeconds({rule, localSizes, format, cost.flops}, device, rates, runtime)
        : rule.work == Work::Contraction ? contractionSeconds(rule, localSizes, format, cost.flops, device, rates)
                                         : cost.flops / rates.vectorFlopsPerSecond(format);
  if (bytes > 0)
    cost.memorySeconds = bytes / (device.memoryBytesPerSecond * device.memoryEfficiency.at(bytes));
  const double waiting = runtime.waitsForKernels ? runtime.dispatchSeconds : 0;
  cost.launchSeconds = device.launchSeconds * static_cast<double>(rule.steps) + waiting;
  cost.dispatchSeconds = runtime.dispatchSeconds;
  return cost;
}

} // namespace apc

// Parameters by closed forms, as `LayerWriter` makes them.
#include "apc/Measure/Transformer.h"

namespace apc {

// Counted in floating point, as sizes may be slips: exact below 2^53.

static double ofNorm(const TransformerShape &shape) {
  return static_cast<double>(shape.hidden) * (shape.hasRmsNorm ? 1 : 2);
}

static double ofLinear(const TransformerShape &shape, int64_t rows, int64_t columns) {
  const auto wide = static_cast<double>(columns);
  return static_cast<double>(rows) * wide + (shape.hasBias ? wide : 0);
}

static double ofAttention(const TransformerShape &shape) {
  const int64_t own = shape.heads * shape.headSize, keyed = shape.keyHeads * shape.headSize;
  return ofLinear(shape, shape.hidden, own + 2 * keyed) + ofLinear(shape, own, shape.hidden) + ofNorm(shape);
}

static double ofDense(const TransformerShape &shape, int64_t inner) {
  return ofLinear(shape, shape.hidden, inner) * (shape.isGated() ? 2 : 1) + ofLinear(shape, inner, shape.hidden);
}

static double behindAttention(const TransformerShape &shape) {
  if (shape.experts == 0)
    return ofDense(shape, shape.inner) + ofNorm(shape);
  const auto hidden = static_cast<double>(shape.hidden);
  const double expert = hidden * static_cast<double>(shape.inner) * (shape.isGated() ? 3 : 2);
  const double shared = shape.sharedInner > 0 ? ofDense(shape, shape.sharedInner) : 0;
  return static_cast<double>(shape.experts) * (expert + hidden) + shared + ofNorm(shape);
}

ParameterCount countParameters(const TransformerShape &shape) {
  const auto layers = static_cast<double>(shape.layers), decoderLayers = static_cast<double>(shape.decoderLayers);
  const bool hasBoth = shape.kind == TransformerKind::EncoderDecoder;
  const int64_t positions =
      shape.positions == TransformerPositions::Learned ? shape.sequence + shape.decoderSequence : 0;
  const int64_t rows = shape.vocabulary * (shape.isTied ? 1 : 2) + positions;
  ParameterCount count;
  count.ofTables = static_cast<double>(shape.hidden) * static_cast<double>(rows);
  count.all = count.ofTables + ofNorm(shape) * (hasBoth ? 2 : 1) +
              (layers + decoderLayers) * (ofAttention(shape) + behindAttention(shape)) +
              decoderLayers * ofAttention(shape); // to what the encoder has read
  if (shape.kind == TransformerKind::Encoder)
    count.all += ofLinear(shape, shape.hidden, shape.hidden) + ofNorm(shape);
  return count;
}

} // namespace apc

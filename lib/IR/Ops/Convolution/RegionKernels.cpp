// Kernels of pools over regions, RoiAlign and MaxRoiPool, and of their gradients.
#include "Convolution.h"
#include "WindowWalk.h"
#include "apc/IR/RuleBuilder.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace apc {

namespace {

/// One dim of a region's grid: where its samples stand.
struct GridSide {
  double start = 0, bin = 1;
  int64_t samples = 1; ///< in each cell
  int64_t size = 1;    ///< of the feature map

  /// The two points around one sample, with their shares; empty more than a point outside of the map.
  struct Between {
    int64_t low, high;
    double lowShare, highShare;
  };
  std::optional<Between> sampleAt(int64_t cell, int64_t sample) const {
    double at = start + static_cast<double>(cell) * bin +
                (static_cast<double>(sample) + 0.5) * bin / static_cast<double>(samples);
    if (!(at >= -1 && at <= static_cast<double>(size)))
      return std::nullopt;
    at = std::max(at, 0.0);
    int64_t low = std::min(static_cast<int64_t>(at), size - 1), high = std::min(low + 1, size - 1);
    double share = low == high ? 0 : at - static_cast<double>(low);
    return Between{low, high, 1 - share, share};
  }
};

/// Before half pixels, regions are at least one point wide.
GridSide sideOf(double begin, double end, int64_t cells, int64_t size, int64_t samplingRatio, bool halfPixel) {
  double start = begin - (halfPixel ? 0.5 : 0), extent = end - (halfPixel ? 0.5 : 0) - start;
  GridSide side{start, (halfPixel ? extent : std::max(extent, 1.0)) / static_cast<double>(cells), samplingRatio, size};
  if (samplingRatio <= 0)
    side.samples = std::clamp<int64_t>(truncated(std::ceil(side.bin), false), 0, 1 << 20);
  return side;
}

/// A point of a plane and its share in a sample.
struct Neighbour {
  int64_t place = -1; ///< -1 outside of the map
  double share = 0;

  double of(const double *plane) const { return place < 0 ? 0 : share * plane[place]; }
};
using Neighbours = llvm::SmallVector<Neighbour, 4>;

/// A cell of the grid over one region.
struct Cell {
  GridSide rows, columns;
  int64_t row = 0, column = 0;

  int64_t numSamples() const { return rows.samples * columns.samples; }
  /// The neighbours of a sample; none outside of the map.
  Neighbours neighboursOf(int64_t sample) const {
    auto y = rows.sampleAt(row, sample / columns.samples);
    auto x = columns.sampleAt(column, sample % columns.samples);
    if (!x || !y)
      return {};
    int64_t low = y->low * columns.size, high = y->high * columns.size;
    return {{low + x->low, y->lowShare * x->lowShare},
            {low + x->high, y->lowShare * x->highShare},
            {high + x->low, y->highShare * x->lowShare},
            {high + x->high, y->highShare * x->highShare}};
  }
  /// The part of a mean that each sample is.
  double share() const { return 1 / static_cast<double>(std::max<int64_t>(numSamples(), 1)); }
  /// The neighbour with the greatest share in a sample, the first of them; a sample outside of the map is 0.
  Neighbour greatest(const double *plane) const {
    Neighbour best;
    for (int64_t sample = 0; sample < numSamples(); ++sample) {
      Neighbours all = neighboursOf(sample);
      if (all.empty())
        all.emplace_back();
      for (auto [index, one] : llvm::enumerate(all))
        if ((sample == 0 && index == 0) || best.of(plane) < one.of(plane))
          best = one;
    }
    return best;
  }
};

/// The mean of the samples in a cell.
double meanOf(const Cell &cell, const double *plane) {
  double sum = 0;
  for (int64_t sample = 0; sample < cell.numSamples(); ++sample)
    for (const Neighbour &one : cell.neighboursOf(sample))
      sum += one.of(plane);
  return sum / static_cast<double>(std::max<int64_t>(cell.numSamples(), 1));
}

/// The cells' bounds of a region in points of the map: cell 1 of 2 over points 3 to 6 is [5, 7).
std::pair<int64_t, int64_t> cellBounds(double first, double last, int64_t cells, int64_t cell, int64_t size) {
  double begin = std::round(first), extent = std::max(std::round(last) - begin + 1, 1.0);
  double bin = extent / static_cast<double>(cells);
  auto bound = [&](double at) { return std::clamp<int64_t>(truncated(at + begin, false), 0, size); };
  return {bound(std::floor(static_cast<double>(cell) * bin)), bound(std::ceil(static_cast<double>(cell + 1) * bin))};
}

/// The regions of RoiAlign on maps of `data`, [n, channels, height, width], pooled to `result`.
struct AlignedRegions {
  llvm::ArrayRef<int64_t> data, result;
  const Tensor &boxes, &images;

  /// Calls `visit(cell, position in the result, position of the plane in the maps)` for each element of the result.
  template <typename Op, typename Visit>
  void forEachCell(Op op, Visit visit) const {
    double scale = op.getSpatialScale().convertToDouble();
    bool halfPixel = op.getCoordinateTransformationMode() == "half_pixel" && op.getOpsetVersion() >= 16;
    auto ratio = static_cast<int64_t>(op.getSamplingRatio());
    int64_t channels = data[1], cells = result[2] * result[3];
    for (int64_t region = 0; region < result[0]; ++region) {
      const double *box = boxes.floats.data() + region * 4;
      Cell cell{sideOf(box[1] * scale, box[3] * scale, result[2], data[2], ratio, halfPixel),
                sideOf(box[0] * scale, box[2] * scale, result[3], data[3], ratio, halfPixel)};
      int64_t sample = std::clamp<int64_t>(images.ints[region], 0, data[0] - 1);
      for (int64_t i = 0; i < channels * cells; ++i) {
        cell.row = i % cells / result[3];
        cell.column = i % result[3];
        visit(cell, region * channels * cells + i, (sample * channels + i / cells) * data[2] * data[3]);
      }
    }
  }
};

/// Calls `visit(position in the result, position in the maps)` for each element of the result of MaxRoiPool and the
/// first maximum in its cell; a cell without points has none.
template <typename Visit>
void forEachMaximum(const Tensor &data, const Tensor &boxes, llvm::ArrayRef<int64_t> result, double scale,
                    Visit visit) {
  int64_t channels = result[1], height = data.dims[2], width = data.dims[3];
  for (int64_t i = 0, count = mergedSize(result); i < count; ++i) {
    int64_t cell = i % (result[2] * result[3]), plane = i / (result[2] * result[3]);
    const double *box = boxes.floats.data() + plane / channels * 5;
    int64_t sample = std::clamp<int64_t>(truncated(box[0], false), 0, data.dims[0] - 1);
    auto [top, bottom] = cellBounds(box[2] * scale, box[4] * scale, result[2], cell / result[3], height);
    auto [left, right] = cellBounds(box[1] * scale, box[3] * scale, result[3], cell % result[3], width);
    int64_t first = (sample * channels + plane % channels) * height * width, best = -1;
    for (int64_t y = top; y < bottom; ++y)
      for (int64_t x = left; x < right; ++x)
        if (int64_t at = first + y * width + x; best < 0 || data.floats[best] < data.floats[at])
          best = at;
    if (best >= 0)
      visit(i, best);
  }
}

} // namespace

Evaluated RoiAlignOp::evaluate(Operands operands) {
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  bool isMax = getMode() == "max";
  AlignedRegions{operands[0]->dims, result.dims, *operands[1], *operands[2]}.forEachCell(
      *this, [&](const Cell &cell, int64_t at, int64_t plane) {
        const double *data = operands[0]->floats.data() + plane;
        result.floats[at] = isMax ? cell.greatest(data).of(data) : meanOf(cell, data);
      });
  return evaluatedAs(std::move(result));
}

Evaluated RoiAlignGradOp::evaluate(Operands operands) {
  bool isMax = getMode() == "max";
  if (!operands[0] || !operands[2] || !operands[3] || (isMax && !operands[1]))
    return std::nullopt;
  Tensor result = zeros(getDX().getType());
  AlignedRegions{result.dims, operands[0]->dims, *operands[2], *operands[3]}.forEachCell(
      *this, [&](const Cell &cell, int64_t at, int64_t plane) {
        double gradient = operands[0]->floats[at], *to = result.floats.data() + plane;
        if (isMax) {
          Neighbour one = cell.greatest(operands[1]->floats.data() + plane);
          if (one.place >= 0)
            to[one.place] += one.share * gradient;
          return;
        }
        for (int64_t sample = 0; sample < cell.numSamples(); ++sample)
          for (const Neighbour &one : cell.neighboursOf(sample))
            to[one.place] += one.share * cell.share() * gradient;
      });
  return evaluatedAs(std::move(result));
}

Evaluated MaxRoiPoolOp::evaluate(Operands operands) {
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  Tensor result = zeros(getY().getType());
  forEachMaximum(*operands[0], *operands[1], result.dims, getSpatialScale().convertToDouble(),
                 [&](int64_t to, int64_t from) { result.floats[to] = operands[0]->floats[from]; });
  return evaluatedAs(std::move(result));
}

Evaluated MaxRoiPoolGradOp::evaluate(Operands operands) {
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  Tensor result = zeros(getDX().getType());
  forEachMaximum(*operands[1], *operands[2], operands[0]->dims, getSpatialScale().convertToDouble(),
                 [&](int64_t from, int64_t to) { result.floats[to] += operands[0]->floats[from]; });
  return evaluatedAs(std::move(result));
}

} // namespace apc

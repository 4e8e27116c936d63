// Kernels of pools over regions: RoiAlign and MaxRoiPool.
#include "Convolution.h"
#include "WindowWalk.h"

#include <algorithm>
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

/// The mean of the samples in a cell, or the greatest share that a neighbour of a sample has.
double poolCell(const double *plane, const GridSide &rows, const GridSide &columns, int64_t row, int64_t column,
                bool isMax) {
  double value = 0;
  for (int64_t i = 0; i < rows.samples * columns.samples; ++i) {
    auto y = rows.sampleAt(row, i / columns.samples);
    auto x = columns.sampleAt(column, i % columns.samples);
    double corners[4] = {0, 0, 0, 0};
    if (x && y) {
      const double *low = plane + y->low * columns.size, *high = plane + y->high * columns.size;
      corners[0] = y->lowShare * x->lowShare * low[x->low];
      corners[1] = y->lowShare * x->highShare * low[x->high];
      corners[2] = y->highShare * x->lowShare * high[x->low];
      corners[3] = y->highShare * x->highShare * high[x->high];
    }
    double greatest = *std::max_element(corners, corners + 4);
    if (!isMax)
      value += corners[0] + corners[1] + corners[2] + corners[3];
    else
      value = i == 0 ? greatest : std::max(value, greatest);
  }
  return isMax ? value : value / static_cast<double>(std::max<int64_t>(rows.samples * columns.samples, 1));
}

/// The cells' bounds of a region in points of the map: cell 1 of 2 over points 3 to 6 is [5, 7).
std::pair<int64_t, int64_t> cellBounds(double first, double last, int64_t cells, int64_t cell, int64_t size) {
  double begin = std::round(first), extent = std::max(std::round(last) - begin + 1, 1.0);
  double bin = extent / static_cast<double>(cells);
  auto bound = [&](double at) { return std::clamp<int64_t>(truncated(at + begin, false), 0, size); };
  return {bound(std::floor(static_cast<double>(cell) * bin)), bound(std::ceil(static_cast<double>(cell + 1) * bin))};
}

} // namespace

Evaluated RoiAlignOp::evaluate(Operands operands) {
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  std::vector<double> data = realsOf(*operands[0]), regions = realsOf(*operands[1]), values;
  Tensor result = zeros(getY().getType());
  int64_t channels = result.dims[1], height = operands[0]->dims[2], width = operands[0]->dims[3];
  double scale = getSpatialScale().convertToDouble();
  bool halfPixel = getCoordinateTransformationMode() == "half_pixel" && getOpsetVersion() >= 16;
  auto ratio = static_cast<int64_t>(getSamplingRatio());
  for (int64_t region = 0; region < result.dims[0]; ++region) {
    const double *box = regions.data() + region * 4;
    GridSide rows = sideOf(box[1] * scale, box[3] * scale, result.dims[2], height, ratio, halfPixel);
    GridSide columns = sideOf(box[0] * scale, box[2] * scale, result.dims[3], width, ratio, halfPixel);
    int64_t sample = std::clamp<int64_t>(operands[2]->ints[region], 0, operands[0]->dims[0] - 1);
    for (int64_t channel = 0; channel < channels; ++channel)
      for (int64_t cell = 0; cell < result.dims[2] * result.dims[3]; ++cell)
        values.push_back(poolCell(data.data() + (sample * channels + channel) * height * width, rows, columns,
                                  cell / result.dims[3], cell % result.dims[3], getMode() == "max"));
  }
  return evaluatedAsReals(*this, std::move(values));
}

Evaluated MaxRoiPoolOp::evaluate(Operands operands) {
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  std::vector<double> data = realsOf(*operands[0]), regions = realsOf(*operands[1]);
  Tensor result = zeros(getY().getType());
  int64_t channels = result.dims[1], height = operands[0]->dims[2], width = operands[0]->dims[3];
  double scale = getSpatialScale().convertToDouble();
  std::vector<double> values(result.numElements(), 0);
  for (int64_t i = 0; i < result.numElements(); ++i) {
    int64_t cell = i % (result.dims[2] * result.dims[3]), plane = i / (result.dims[2] * result.dims[3]);
    const double *box = regions.data() + plane / channels * 5;
    int64_t sample = std::clamp<int64_t>(truncated(box[0], false), 0, operands[0]->dims[0] - 1);
    auto [top, bottom] = cellBounds(box[2] * scale, box[4] * scale, result.dims[2], cell / result.dims[3], height);
    auto [left, right] = cellBounds(box[1] * scale, box[3] * scale, result.dims[3], cell % result.dims[3], width);
    bool isFirst = true;
    for (int64_t y = top; y < bottom; ++y)
      for (int64_t x = left; x < right; ++x) {
        double value = data[((sample * channels + plane % channels) * height + y) * width + x];
        values[i] = isFirst ? value : std::max(values[i], value);
        isFirst = false;
      }
  }
  return evaluatedAsReals(*this, std::move(values));
}

} // namespace apc

// Kernels of GridSample and its gradients.
#include "../Attributes.h"
#include "Convolution.h"
#include "Taps.h"
#include "WindowWalk.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace apc {

namespace {

constexpr double cubicSteepness = -0.75;

int64_t productOf(llvm::ArrayRef<int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t(1), std::multiplies<>());
}

/// A position in points of the map, and its slope over the coordinate of the grid.
struct Place {
  double at = 0, slope = 1;
};

/// The way in which one dim of a feature map is sampled.
struct GridDim {
  int64_t size = 1;
  llvm::StringRef mode, padding;
  bool alignCorners = false, inPoints = false;

  bool isCubic() const { return mode == "cubic" || mode == "bicubic"; }
  double last() const { return static_cast<double>(size - 1); }
  double least() const { return alignCorners ? 0 : -0.5; }
  double greatest() const { return static_cast<double>(size) - (alignCorners ? 1 : 0.5); }

  /// -1 to 1 as a position.
  Place position(double x) const {
    auto points = static_cast<double>(size);
    if (inPoints)
      return {x, 1};
    return alignCorners ? Place{(x + 1) / 2 * (points - 1), (points - 1) / 2}
                        : Place{((x + 1) * points - 1) / 2, points / 2};
  }

  /// `x` mirrored at the borders until it is between them.
  Place reflected(double x) const {
    double low = least(), high = greatest(), range = high - low;
    bool isBelow = x < low;
    if (!isBelow && !(x > high))
      return {x, 1};
    if (!(range > 0) || std::isinf(x))
      return {low, 0};
    double beyond = isBelow ? low - x : x - high, turns = std::floor(beyond / range), rest = beyond - turns * range;
    bool isEven = std::fmod(turns, 2) == 0, fromLow = isBelow == isEven;
    return {fromLow ? low + rest : high - rest, isEven ? -1.0 : 1.0};
  }

  /// `x` brought into the map as padding says. On the outermost points themselves the slope is 0, as in PyTorch.
  Place padded(Place place) const {
    double x = place.at;
    if (padding == "border") {
      place.at = std::clamp(x, 0.0, last());
    } else if (padding == "reflection") {
      Place inside = reflected(x);
      place = {inside.at, place.slope * inside.slope};
    }
    if (padding != "zeros" && !(padding == "reflection" && isCubic()) && !(place.at > 0 && place.at < last()))
      place.slope = 0;
    return place;
  }

  /// The point that is read at index `x`; none outside of the map with zeros as padding.
  std::optional<int64_t> indexAt(double x) const {
    if (padding == "border")
      x = std::clamp(x, 0.0, last());
    else if (padding == "reflection")
      x = std::trunc(reflected(x).at);
    if (!(x >= 0 && x < static_cast<double>(size)))
      return std::nullopt;
    return static_cast<int64_t>(x);
  }

  /// The points mixed at coordinate `x`, with the slopes of their weights over it.
  Taps taps(double x) const {
    Place place = position(x);
    bool isNearest = mode == "nearest";
    if (isNearest)
      place = {roundTiesToEven(place.at), 0};
    place = padded(place);
    double below = std::floor(place.at);
    Taps result;
    for (int offset = isCubic() ? -1 : 0, end = isCubic() ? 2 : isNearest ? 0 : 1; offset <= end; ++offset) {
      double distance = place.at - below - offset;
      double weight = isCubic() ? cubicWeight(distance, cubicSteepness) : 1 - std::fabs(distance);
      double slope = isCubic() ? cubicSlope(distance, cubicSteepness) : offset == 0 ? -1 : 1;
      if (auto index = indexAt(below + offset))
        result.push_back({*index, weight, place.slope == 0 ? 0 : slope * place.slope});
    }
    return result;
  }
};

/// A grid over maps: sizes, and the points mixed at each of its points.
struct Sampling {
  llvm::SmallVector<int64_t, 3> spatial;
  int64_t samples, channels, plane, points;
  GridDim dim;
  const std::vector<double> &grid;

  Sampling(mlir::Operation *op, llvm::ArrayRef<int64_t> map, const Tensor &grid)
      : spatial(map.drop_front(2)), samples(map[0]), channels(map[1]), plane(productOf(spatial)),
        points(productOf(llvm::ArrayRef(grid.dims).drop_front().drop_back())), grid(grid.floats) {
    dim.mode = stringAttribute(op, "mode", "linear");
    dim.padding = stringAttribute(op, "padding_mode", "zeros");
    dim.alignCorners = intAttribute(op, "align_corners", 0) != 0;
    dim.inPoints = intAttribute(op, "in_points", 0) != 0;
  }

  /// Calls `visit(sample, point, taps of each dim)` for each point of the grid.
  template <typename Visit>
  void forEachPoint(Visit visit) const {
    llvm::SmallVector<Taps, 3> taps(spatial.size());
    GridDim own = dim;
    for (int64_t i = 0; i < samples * points; ++i) {
      // Coordinates begin with the last dim.
      for (size_t at = 0; at < spatial.size(); ++at) {
        own.size = spatial[at];
        taps[at] = own.taps(grid[i * spatial.size() + spatial.size() - 1 - at]);
      }
      visit(i / points, i % points, taps);
    }
  }
};

} // namespace

Evaluated GridSampleOp::evaluate(Operands operands) {
  if (!operands[0] || !operands[1])
    return std::nullopt;
  std::vector<double> data = realsOf(*operands[0]);
  Sampling sampling(*this, operands[0]->dims, *operands[1]);
  std::vector<double> values(zeros(getY().getType()).numElements());
  int64_t channels = sampling.channels;
  sampling.forEachPoint([&](int64_t sample, int64_t point, llvm::ArrayRef<Taps> taps) {
    for (int64_t channel = sample * channels; channel < (sample + 1) * channels; ++channel)
      values[channel * sampling.points + point] = mix(data.data() + channel * sampling.plane, sampling.spatial, taps);
  });
  return evaluatedAsReals(*this, std::move(values));
}

Evaluated GridSampleInputGradOp::evaluate(Operands operands) {
  if (!operands[0] || !operands[1])
    return std::nullopt;
  Tensor result = zeros(getDX().getType());
  Sampling sampling(*this, result.dims, *operands[1]);
  int64_t channels = sampling.channels;
  sampling.forEachPoint([&](int64_t sample, int64_t point, llvm::ArrayRef<Taps> taps) {
    for (int64_t channel = sample * channels; channel < (sample + 1) * channels; ++channel)
      spread(result.floats.data() + channel * sampling.plane, sampling.spatial, taps,
             operands[0]->floats[channel * sampling.points + point]);
  });
  return evaluatedAs(std::move(result));
}

Evaluated GridSampleGridGradOp::evaluate(Operands operands) {
  if (llvm::is_contained(operands, nullptr))
    return std::nullopt;
  Tensor result = zeros(getDgrid().getType());
  Sampling sampling(*this, operands[1]->dims, *operands[2]);
  auto count = static_cast<int64_t>(sampling.spatial.size());
  sampling.forEachPoint([&](int64_t sample, int64_t point, llvm::ArrayRef<Taps> taps) {
    for (int64_t dim = 0; dim < count; ++dim) {
      llvm::SmallVector<Taps, 3> sloped(taps);
      for (Tap &tap : sloped[dim])
        tap.weight = tap.slope;
      double sum = 0;
      for (int64_t channel = sample * sampling.channels; channel < (sample + 1) * sampling.channels; ++channel)
        sum += operands[0]->floats[channel * sampling.points + point] *
               mix(operands[1]->floats.data() + channel * sampling.plane, sampling.spatial, sloped);
      result.floats[((sample * sampling.points) + point) * count + count - 1 - dim] = sum;
    }
  });
  return evaluatedAs(std::move(result));
}

} // namespace apc

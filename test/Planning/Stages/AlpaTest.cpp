// Alpa's cut of layers into stages on submeshes (Zheng et al., OSDI 2022, section 5.2 and appendix A), beside the
// search of stages.
#include "../../ValueOf.h"

#include "apc/Planning/Stages/SearchStages.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>
#include <random>
#include <set>

using namespace apc;

namespace {

/// The submeshes that Alpa allows on `nodes` of `devices` each, by their devices: parts of a node that are powers of
/// two, and whole nodes.
std::vector<int64_t> allowedSubmeshes(int64_t nodes, int64_t devices) {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size < devices; size *= 2)
    sizes.push_back(size);
  for (int64_t count = 1; count <= nodes; ++count)
    sizes.push_back(count * devices);
  return sizes;
}

/// Layers whose backward pass takes twice their forward pass, on every width of a few devices, under gpipe.
StageProblem randomLayers(std::mt19937_64 &random) {
  StageProblem problem;
  problem.space.devices = uint32_t(1) << (1 + random() % 3);
  const size_t numLayers = 2 + random() % 5;
  for (uint32_t width = 1; width <= *problem.space.devices; width *= 2) {
    problem.space.widths.push_back(width);
    LayersOfWidth &own = problem.byWidth.emplace_back(LayersOfWidth{width, {}});
    for (size_t layer = 0; layer < numLayers; ++layer) {
      auto forward = static_cast<double>(1 + random() % 20), input = static_cast<double>(random() % 3) / 2 * forward;
      own.layers.push_back(
          {.forwardSeconds = forward, .inputGradientSeconds = input, .weightGradientSeconds = 2 * forward - input});
    }
  }
  problem.boundaryBytes.assign(numLayers - 1, 1);
  problem.microBatches = 1 + random() % 8;
  problem.space.schedules = {{"gpipe"}};
  for (uint32_t workers = 1; workers <= std::min<size_t>(numLayers, *problem.space.devices); ++workers)
    problem.space.workers.push_back(workers);
  return problem;
}

/// The least of sum t + (B - 1) max t, over all cuts and widths that use up the devices: for each bound of a stage's
/// seconds, ascending, a dynamic program gives the least sum. \p stops: at the first bound that B times is no less than
/// the best.
struct AlpaSearch {
  const StageProblem &problem;
  bool stops;
  size_t numBounds = 0;

  double secondsOf(const LayersOfWidth &layers, size_t first, size_t last) const {
    double seconds = 0;
    for (const StageWork &layer : llvm::ArrayRef(layers.layers).slice(first, last - first))
      seconds += layer.forwardSeconds + layer.inputGradientSeconds + layer.weightGradientSeconds;
    return seconds;
  }

  /// The least sum of seconds of stages that hold the layers from `first` on, on so many devices.
  std::optional<double> leastSum(size_t first, size_t devices, double bound,
                                 std::map<std::pair<size_t, size_t>, std::optional<double>> &known) const {
    if (first == problem.numLayers())
      return devices == 0 ? std::optional(0.0) : std::nullopt;
    auto [entry, isNew] = known.try_emplace({first, devices});
    if (!isNew)
      return entry->second;
    std::optional<double> least;
    for (const LayersOfWidth &layers : problem.byWidth)
      for (size_t last = first + 1; last <= problem.numLayers() && layers.width <= devices; ++last) {
        double own = secondsOf(layers, first, last);
        if (own > bound)
          break;
        if (std::optional<double> rest = leastSum(last, devices - layers.width, bound, known))
          least = std::min(least.value_or(own + *rest), own + *rest);
      }
    return known[{first, devices}] = least;
  }

  double best() {
    std::set<double> bounds;
    for (const LayersOfWidth &layers : problem.byWidth)
      for (size_t first = 0; first < problem.numLayers(); ++first)
        for (size_t last = first + 1; last <= problem.numLayers(); ++last)
          bounds.insert(secondsOf(layers, first, last));
    std::optional<double> least;
    for (double bound : bounds) {
      if (stops && least && problem.microBatches * bound >= *least)
        break;
      ++numBounds;
      std::map<std::pair<size_t, size_t>, std::optional<double>> known;
      if (std::optional<double> sum = leastSum(0, *problem.space.devices, bound, known)) {
        double seconds = *sum + (problem.microBatches - 1) * bound;
        least = std::min(least.value_or(seconds), seconds);
      }
    }
    return *least;
  }
};

} // namespace

TEST_CASE("submeshes that Alpa allows, and that add up to the devices, lie in the nodes side by side") {
  std::mt19937_64 random(28);
  for (size_t draw = 0; draw < 2000; ++draw) {
    const int64_t nodes = 1 + static_cast<int64_t>(random() % 6), devices = int64_t(1) << random() % 5;
    const std::vector<int64_t> allowed = allowedSubmeshes(nodes, devices);
    std::vector<int64_t> sizes;
    for (int64_t left = nodes * devices; left > 0; left -= sizes.back()) {
      auto fits = llvm::to_vector(llvm::make_filter_range(allowed, [&](int64_t size) { return size <= left; }));
      sizes.push_back(fits[random() % fits.size()]);
    }
    llvm::sort(sizes, std::greater<>());
    int64_t first = 0;
    for (int64_t size : sizes) { // the larger ones first
      INFO(size << " devices from " << first << " on, in nodes of " << devices);
      if (size < devices)
        CHECK(first / devices == (first + size - 1) / devices);
      else
        CHECK(first % devices == 0);
      first += size;
    }
    CHECK(first == nodes * devices);
  }
}

TEST_CASE("Alpa's rule to stop loses no optimum, which is that of the search of stages under gpipe") {
  std::mt19937_64 random(29);
  size_t numStopped = 0, numAll = 0;
  for (size_t draw = 0; draw < 300; ++draw) {
    StageProblem problem = randomLayers(random);
    AlpaSearch stopped{problem, true}, whole{problem, false};
    INFO("problem " << draw << ": " << problem.numLayers() << " layers, " << *problem.space.devices << " devices");
    const double best = whole.best();
    CHECK(stopped.best() == best);
    StageResult found = valueOf(searchStages(problem, {}));
    CHECK(found.status == SearchStatus::Optimal);
    CHECK(found.seconds == best);
    numStopped += stopped.numBounds;
    numAll += whole.numBounds;
  }
  CHECK(numStopped < numAll);
}

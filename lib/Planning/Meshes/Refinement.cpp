// Finer meshes, the most promising first, up to a limit on their work.
#include "Refinement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace apc {

namespace {

/// One more axis multiplies the pairs of strategies by so many. Measured on 64 and 1,024 devices from three to four
/// axes: Llama 3 70B 16, GPT-3 175B 23 and 28, its training step 29, Mixtral 8x7B 31.
constexpr double growth = 30;

/// Pairs of strategies that may be searched on finer meshes. Measured on two cores: to build and to search 10 million
/// takes most of a second, and six meshes of GPT-3 175B on 64 devices have 60 million.
constexpr double mostPairs = 6.4e7;

/// A training step is searched twice, with and without parameters that are gathered, each time near its memory limit in
/// several rounds or under several weightings of its seconds.
constexpr double searchesOfTrainingStep = 6;

/// The ways that the axes up to each one cut: [2, 4 | 8] is {2, 8, 64}.
std::vector<int64_t> waysUpTo(const Mesh &mesh) {
  std::vector<int64_t> ways;
  int64_t product = 1;
  for (const MeshAxis &axis : mesh.getAxes())
    ways.push_back(product *= axis.size);
  return ways;
}

/// Is every axis of `coarse` made of neighbouring axes of `fine`? Both are groupings of the same prime axes.
bool refines(const Mesh &fine, const Mesh &coarse) {
  std::vector<int64_t> ways = waysUpTo(fine);
  return llvm::all_of(waysUpTo(coarse), [&](int64_t own) { return llvm::is_contained(ways, own); });
}

/// A finer mesh.
struct Finer {
  Mesh mesh;
  double pairs = 0;                 ///< about so many pairs of strategies
  std::vector<double> answers = {}; ///< seconds on the meshes that it refines, ascending
};

Finer describe(const Mesh &mesh, llvm::ArrayRef<SearchedMesh> searched) {
  Finer finer{mesh};
  for (const SearchedMesh &coarse : searched)
    if (refines(mesh, coarse.mesh)) {
      finer.answers.push_back(fastestSeconds(coarse).value_or(HUGE_VAL));
      if (coarse.planning)
        finer.pairs = std::max(finer.pairs, growth * numPairs(coarse.planning->problem));
    }
  llvm::sort(finer.answers);
  return finer;
}

/// All finer meshes that pins allow, the most promising first.
std::vector<Finer> finerMeshes(const PlanningTask &task, llvm::ArrayRef<SearchedMesh> searched) {
  std::vector<Finer> finer;
  llvm::Expected<std::vector<Mesh>> meshes = task.pins.suitableMeshes(task.graph, mostAxes(task.request));
  if (!meshes) {
    llvm::consumeError(meshes.takeError()); // the meshes that were searched are all that suit the pins
    return finer;
  }
  size_t numAxes = searched.front().mesh.numAxes();
  for (const Mesh &mesh : *meshes)
    if (mesh.numAxes() > numAxes)
      finer.push_back(describe(mesh, searched));
  llvm::stable_sort(finer, [](const Finer &a, const Finer &b) { return a.answers < b.answers; });
  return finer;
}

/// How many of them, from the first on, are within the limit.
size_t numWithinLimit(const PlanningTask &task, llvm::ArrayRef<Finer> finer) {
  double left = mostPairs / (task.graph.isTrainingStep() ? searchesOfTrainingStep : 1);
  size_t count = 0;
  for (const Finer &own : finer) {
    left -= own.pairs;
    if (left < 0)
      break;
    ++count;
  }
  return count;
}

} // namespace

Refinement refine(const PlanningTask &task, llvm::ArrayRef<SearchedMesh> searched) {
  std::vector<Finer> finer = finerMeshes(task, searched);
  bool hasTime = !task.isStopped() && !task.isOutOfTime(PlanningTask::Part::Search);
  size_t count = hasTime ? numWithinLimit(task, finer) : 0;
  Refinement refinement;
  for (const Finer &own : llvm::ArrayRef(finer).take_front(count))
    refinement.meshes.push_back(own.mesh);
  if (count < finer.size())
    refinement.note = llvm::formatv("{0} of {1} meshes of {2} axes were not searched, for {3}: the bound says nothing "
                                    "about them; --mesh-axes {2} searches all",
                                    finer.size() - count, finer.size(), finer.front().mesh.numAxes(),
                                    hasTime            ? "their problems are large"
                                    : task.isStopped() ? "the search was stopped"
                                                       : "the time was over")
                          .str();
  return refinement;
}

} // namespace apc

// Meshes of one more axis than those that were searched: which of them are searched as well.
#pragma once

#include "SearchedMeshes.h"

namespace apc {

/// Finer meshes, each with more axes than any mesh that was searched.
struct Refinement {
  std::vector<Mesh> meshes; ///< to be searched
  std::string note;         ///< on those that are left out; empty where none is
};

/// An assignment of a mesh is one of every mesh that refines it, so the finer meshes hold all that was found, and more;
/// but a problem grows with the square of its strategies. As many meshes are chosen as a limit on the pairs of
/// strategies allows: first those that refine the mesh with the fastest answer. The choice follows from the task and
/// the answers alone, unless the time limit is over. None where the request names a number of axes.
Refinement refine(const PlanningTask &task, llvm::ArrayRef<SearchedMesh> searched);

} // namespace apc

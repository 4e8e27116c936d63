// The device mesh: an ordered list of named axes, outermost (slowest link) first.
#pragma once

#include "apc/Support/Id.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace apc {

using AxisId = Id<struct AxisTag>;

/// Axes in order, major first: `{1, 2}` on a dim of 64 over sizes 2 and 4 cuts it in 2, and each half in 4.
using AxisList = llvm::SmallVector<AxisId, 4>;

/// One dimension of the mesh. `level` counts the interconnect's levels from the outermost (0 = slowest).
struct MeshAxis {
  std::string name;
  int64_t size = 1;
  unsigned level = 0;

  friend bool operator==(const MeshAxis &, const MeshAxis &) = default;
};

/// Devices arranged in axes. 64 devices as 8 nodes of 8 give the prime mesh `[2, 2, 2 | 2, 2, 2]` (`|` between levels);
/// grouping consecutive axes gives the logical mesh `[8 | 4, 2]`. Rank r has the row-major coordinates of r.
class Mesh {
public:
  Mesh() = default;
  explicit Mesh(std::vector<MeshAxis> axes);

  /// The prime factors of each level, largest first within a level, outermost level first, named `x0`, `x1`, ...:
  /// `{6, 8}` -> `[3, 2 | 2, 2, 2]`. Levels of size 1 contribute no axis.
  static Mesh fromLevels(llvm::ArrayRef<int64_t> devicesPerLevel);

  unsigned numAxes() const { return static_cast<unsigned>(axes.size()); }
  int64_t numDevices() const { return devices; }
  const MeshAxis &axis(AxisId id) const { return axes[id.index()]; }
  llvm::ArrayRef<MeshAxis> getAxes() const { return axes; }
  int64_t size(AxisId id) const { return axes[id.index()].size; }
  /// The product of the sizes; 1 for no axes.
  int64_t size(llvm::ArrayRef<AxisId> ids) const;

  /// Row-major coordinates of a rank, one per axis; and back.
  llvm::SmallVector<int64_t, 4> coordinates(int64_t rank) const;
  int64_t rankOf(llvm::ArrayRef<int64_t> coordinates) const;
  /// The ranks that differ from `rank` only along `axes`, ordered by their coordinates along `axes` (major first):
  /// mesh [2,3], rank 0, axis 0 -> {0, 3}.
  std::vector<int64_t> group(int64_t rank, llvm::ArrayRef<AxisId> axes) const;
  /// The position of `rank` in its group: its coordinates along `axes` read as one number, major first.
  int64_t indexInGroup(int64_t rank, llvm::ArrayRef<AxisId> axes) const;

  /// `[x0=8 | x1=4, x2=2]`; `parse` reads the same, and sizes alone: `[8 | 4, 2]` (named x0, x1, ...).
  std::string str() const;
  static llvm::Expected<Mesh> parse(llvm::StringRef text);

  friend bool operator==(const Mesh &, const Mesh &) = default;

private:
  std::vector<MeshAxis> axes;
  int64_t devices = 1;
};

/// All groupings of consecutive axes of one level of `prime` into at most `maxAxes` axes in all, coarsest first,
/// without those that another of them refines (a finer mesh offers every strategy of the coarser one). Deterministic
/// order. Each level keeps at least one axis, even where `maxAxes` is smaller than the number of levels. 1,024 = [128 |
/// 8] with at most 3 axes: [2, 64 | 8], [4, 32 | 8], ..., [128 | 2, 4], [128 | 4, 2].
std::vector<Mesh> logicalMeshes(const Mesh &prime, unsigned maxAxes);

} // namespace apc

// Which strategies of two plans are the same although their meshes cut the devices into other axes.
#pragma once

#include "apc/Sharding/NamedStrategy.h"

#include <map>
#include <set>
#include <string>

namespace apc {

/// The axes of a mesh as spans of the devices of their levels, so that strategies of different meshes compare.
/// On `process=4`, `n:process` cuts n over process[1,4); on `process.a=2 process.b=2`, `n:(process.a process.b)` cuts
/// it over process[2,4) and, inside, process[1,2): the same. A level behind the name counts before the name: `data=4
/// (process)`.
class AxisSpans {
public:
  /// Reads the text of a plan's meshes (`Plan::meshText`); unknown words name no axes. An axis that is another one in
  /// another stage, `device.a=2 device.b=4 | device.a=4 device.b=2`, is told by its name alone.
  explicit AxisSpans(llvm::StringRef meshes);

  /// True when \p strategy here does what \p other does on the mesh of \p those: it cuts the same factors over the same
  /// part of each level, whatever the axes are called. All devices of a level are the same part of levels that differ
  /// in size: `b0:data` on data=2 (node) and `b0:model` on model=4 (node).
  bool isSame(llvm::StringRef strategy, const AxisSpans &those, llvm::StringRef other) const;
  /// True when both meshes have as many devices on each level.
  bool hasSameDevices(const AxisSpans &those) const { return devices == those.devices; }

private:
  AxisSpans() = default;
  void readStage(llvm::StringRef mesh);

  struct Span {
    std::string level;
    int64_t from = 1, to = 1; ///< strides among the level's devices: the axis counts from / from, 2 from / from, ...

    friend bool operator==(const Span &, const Span &) = default;
  };
  /// The strategy in terms of spans, neighbouring ones joined: "b0:data n:(data2 model)" -> "b0:node[1,8) ...". Levels
  /// in \p unequal differ in size between two meshes: all devices of one are "node[all)".
  std::string inSpans(llvm::StringRef strategy, const std::set<std::string> &unequal) const;
  std::string inSpansOf(const AxisNames &names, const std::set<std::string> &unequal) const;

  std::map<std::string, Span> spans;
  std::map<std::string, int64_t> devices; ///< by level
};

} // namespace apc

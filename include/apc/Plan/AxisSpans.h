// Which strategies of two plans are the same although their meshes cut the devices into other axes.
#pragma once

#include "apc/Sharding/NamedStrategy.h"

#include <map>
#include <string>

namespace apc {

/// The axes of a mesh as spans of the devices of their levels, so that strategies of different meshes compare.
/// On `data=4 (process)`, `n:data` cuts n over process[1,4); on `data=2 (process) data2=2 (process)`, `n:(data data2)`
/// cuts it over process[2,4) and, inside, process[1,2): the same.
class AxisSpans {
public:
  /// Reads the text of a plan's mesh (`Plan::meshText`); unknown words name no axes.
  explicit AxisSpans(llvm::StringRef mesh);

  /// The strategy in terms of spans, neighbouring ones joined: "b0:data n:(data2 model)" -> "b0:node[1,8) ...".
  std::string inSpans(llvm::StringRef strategy) const;

  /// True when \p strategy here does what \p other does on the mesh of \p those: it cuts over the same devices; where
  /// the meshes differ in devices, it is written alike.
  bool isSame(llvm::StringRef strategy, const AxisSpans &those, llvm::StringRef other) const;

private:
  struct Span {
    std::string level;
    int64_t from = 1, to = 1; ///< strides among the level's devices: the axis counts from / from, 2 from / from, ...
  };
  std::string inSpansOf(const AxisNames &names) const;

  std::map<std::string, Span> spans;
  std::map<std::string, int64_t> devices; ///< by level
};

} // namespace apc

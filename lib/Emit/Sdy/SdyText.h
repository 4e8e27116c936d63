// Words of Shardy's dialect in text.
#pragma once

#include "apc/Sharding/Sharding.h"

#include "mlir/IR/Types.h"

namespace apc {

/// A tensor of the whole program: its name in the text, its dims and elements, and how devices hold it.
struct SdyValue {
  std::string name; ///< "%3"; empty for a number of the rank, which tensors of whole sizes do without
  llvm::SmallVector<int64_t, 4> dims;
  mlir::Type element;
  Sharding sharding;

  std::string type() const; ///< `tensor<8x16xf32>`
};

/// `{"node", "device"}`
std::string sdyAxes(llvm::ArrayRef<AxisId> axes, const Mesh &mesh);
/// `<@mesh, [{"node"}, {}], unreduced={"device"}>`
std::string sdySharding(const Sharding &sharding, const Mesh &mesh);
/// `sdy.mesh @mesh = <["node"=2, "device"=8]>`
std::string sdyMesh(const Mesh &mesh);

/// The reason why Shardy cannot hold a tensor so: parts inside dims, dims that do not divide, partial results other
/// than sums. Empty where it can.
std::string sdyRefusal(const SdyValue &value, const Mesh &mesh);

} // namespace apc

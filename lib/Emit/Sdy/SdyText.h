// Words of Shardy's dialect in text.
#pragma once

#include "apc/Sharding/Sharding.h"

#include "mlir/IR/Types.h"

namespace apc {

/// A tensor of the whole program: its name in the text, its dims and elements, and how devices hold it.
struct SdyValue {
  std::string name; ///< "%3"
  llvm::SmallVector<int64_t, 4> dims;
  mlir::Type element;
  Sharding sharding;

  std::string type() const; ///< `tensor<8x16xf32>`
};

/// Partial results that combine by other than sums have a dim of their own in front, which their axes cut: a maximum
/// `[device, -] max{node}` of 8 x 4 is 2 x 8 x 4 with `[{"node"}, {"device"}, {}]`.
bool hasDimOfSummands(const Sharding &sharding);
/// The sharding with that dim.
Sharding sdyHeld(const Sharding &sharding);

/// A tensor of the program: one tensor in the text, or one for each part where a dim is cut inside parts, row-major
/// where several dims are. None for a number of the rank.
struct SdyTensor {
  SdyValue whole; ///< has no name
  std::vector<SdyValue> parts;
};
/// The parts of a tensor, without names: `[device{12 12 12}, -]` of 36 x 8 are three tensors of 12 x 8.
std::vector<SdyValue> sdyParts(const SdyValue &whole, const Mesh &mesh);

/// `{"node", "device"}`
std::string sdyAxes(llvm::ArrayRef<AxisId> axes, const Mesh &mesh);
/// `<@mesh, [{"node"}, {}], unreduced={"device"}>`
std::string sdySharding(const Sharding &sharding, const Mesh &mesh);
/// `array<i64: 0, 12>`
std::string sdyInts(llvm::ArrayRef<int64_t> values);
/// `sdy.mesh @mesh = <["node"=2, "device"=8]>`
std::string sdyMesh(const Mesh &mesh);

/// The reason why Shardy cannot hold a tensor so: dims, or their parts, that do not divide. Empty where it can.
std::string sdyRefusal(const SdyValue &value, const Mesh &mesh);

} // namespace apc

// Random tensors, the same on every machine.
#include "apc/Interpret/DrawTensor.h"

#include "apc/IR/Kernels/Evaluate.h"
#include "apc/Support/StableHash.h"

#include <cmath>
#include <random>

namespace apc {

Tensor drawTensor(llvm::StringRef name, mlir::RankedTensorType type, int64_t bound) {
  StableHash hash;
  hash.add(name);
  std::mt19937_64 random(hash.value());
  Tensor tensor = zeros(type);
  double scale = 1 / std::sqrt(static_cast<double>(tensor.dims.empty() ? 1 : std::max<int64_t>(1, tensor.dims.back())));
  // 53 bits to [0, 1): distributions of the library differ between implementations.
  for (double &value : tensor.floats)
    value = (std::ldexp(static_cast<double>(random() >> 11), -53) * 2 - 1) * scale;
  int64_t limit = tensor.element.isInteger(1) ? 2 : bound;
  for (int64_t &value : tensor.ints)
    value = static_cast<int64_t>(random() % static_cast<uint64_t>(limit));
  roundToElement(tensor);
  return tensor;
}

} // namespace apc

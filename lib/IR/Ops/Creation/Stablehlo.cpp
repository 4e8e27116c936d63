// Operators that make elements, in StableHLO.
#include "Creation.h"
#include "apc/IR/Hlo/HloWriter.h"

namespace apc {

namespace hlo {
namespace {

HloList range(RangeOp op, HloWriter &h) {
  Hlo start = h(op.getStart()), step = h(op.getDelta());
  return iota(h, start.element(), dimsOf(op.getOutput()), 0) * step + start;
}

constexpr HloLowering rows[] = {hloRow<RangeOp, range>()};

} // namespace
} // namespace hlo

llvm::ArrayRef<HloLowering> hloCreation();
llvm::ArrayRef<HloLowering> hloCreation() { return hlo::rows; }

} // namespace apc

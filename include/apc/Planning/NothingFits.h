// The error of a choice among several points, none of which fits.
#pragma once

#include "apc/Plan/TriedPoint.h"
#include "apc/Support/Error.h"

namespace apc {

/// No plan, with the points that were tried.
class NothingFits : public llvm::ErrorInfo<NothingFits, PlannerError> {
public:
  static char ID;
  NothingFits(std::string message, std::vector<TriedPoint> tried)
      : ErrorInfo(Fault::NoPlan, std::move(message)), points(std::move(tried)) {}

  const std::vector<TriedPoint> &tried() const { return points; }

private:
  std::vector<TriedPoint> points;
};

/// The points of \p error, where it is such an error; otherwise none. The error is returned as it was.
std::pair<llvm::Error, std::vector<TriedPoint>> triedBefore(llvm::Error error);

} // namespace apc

// Errors of points: of those that cannot be, and of a choice among several, none of which fits.
#pragma once

#include "apc/Plan/PlanRequest.h"
#include "apc/Plan/TriedPoint.h"
#include "apc/Support/Error.h"

namespace apc {

/// A pipeline of more stages than the model can be cut into, with any number of micro-batches of several samples.
class TooManyStages : public llvm::ErrorInfo<TooManyStages, PlannerError> {
public:
  static char ID;
  using ErrorInfo::ErrorInfo;
};

/// No plan, with the points that were tried.
class NothingFits : public llvm::ErrorInfo<NothingFits, PlannerError> {
public:
  static char ID;
  /// \p boundSeconds: no plan that was asked for takes less; none where that is not known.
  NothingFits(std::string message, std::vector<TriedPoint> tried, std::optional<double> boundSeconds = std::nullopt)
      : ErrorInfo(Fault::NoPlan, std::move(message)), points(std::move(tried)), boundSeconds(boundSeconds) {}
  /// \p reason: in short, for the point of \p last.
  NothingFits(std::string message, const std::string &reason, std::vector<TriedPoint> tried,
              const std::optional<PlanRequest> &last)
      : ErrorInfo(Fault::NoPlan, message + reason), points(std::move(tried)) {
    if (last)
      unexplained = Unexplained{std::move(message), *last};
  }

  const std::vector<TriedPoint> &tried() const { return points; }
  std::optional<double> getBoundSeconds() const { return boundSeconds; }

  /// The message on all points, and the last of them, whose reason is a short one.
  struct Unexplained {
    std::string message;
    PlanRequest last;
  };
  const std::optional<Unexplained> &getUnexplained() const { return unexplained; }

private:
  std::vector<TriedPoint> points;
  std::optional<double> boundSeconds;
  std::optional<Unexplained> unexplained;
};

/// The points of \p error, where it is such an error; otherwise none. The error is returned as it was.
std::pair<llvm::Error, std::vector<TriedPoint>> triedBefore(llvm::Error error);

} // namespace apc

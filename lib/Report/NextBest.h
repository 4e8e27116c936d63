// The points of the whole plan that were tried beside it.
#pragma once

#include "apc/Plan/Plan.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

/// The best point that differs from a plan in one choice, whatever its others are: {"other schedule", {4, "gpipe",
/// ...}, "planned quickly"}.
struct NextBest {
  std::string kind;
  TriedPoint point;
  std::string remark; ///< why it does not fit, where it is known from, how far it was planned
};

/// One for each kind of choice of which a point is known: those that were tried and the layouts among the references,
/// for ZeRO the same program without cut storage. One that fits comes before faster ones that do not, which its remark
/// names.
std::vector<NextBest> nextBest(const Plan &plan);

/// "no other schedule was tried": the kinds of choices of a training step of which no point is known.
std::vector<std::string> untriedKinds(const Plan &plan);

/// The table of `nextBest`; nothing where it is empty.
void printNextBest(const Plan &plan, llvm::raw_ostream &os);

/// The table of all points that the plan has, and the kinds that were not tried; nothing for inference.
void printTried(const Plan &plan, llvm::raw_ostream &os);

} // namespace apc

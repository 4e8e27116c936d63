// Plans of a training step, each carried out on all ranks and held against a case.
#pragma once

#include "TrainingRun.h"

#include "apc/Conformance/Conformance.h"
#include "apc/Plan/Plan.h"

#include <set>

namespace apc {

/// The first fault with the place where it is; empty when there is none.
using TrainingFault = llvm::Expected<std::optional<std::string>>;

/// `fault` with `place` in front of it; errors are faults.
TrainingFault at(const std::string &place, TrainingFault fault);

class TrainingPlans {
public:
  TrainingPlans(const TrainingCase &own, ParameterSource initial, const ConformanceOptions &options)
      : own(own), initial(std::move(initial)), options(options) {}

  /// The plan of a request, by the default search where `search` names no other.
  TrainingFault judgePlan(mlir::ModuleOp built, int64_t devices, llvm::StringRef search = {});
  /// Data parallelism with gradients exchanged in buckets of several sizes, and each alone.
  TrainingFault judgeBuckets(mlir::ModuleOp built, const std::string &place, int64_t devices);
  /// All plans of a step, for every number of devices, search and stage of ZeRO; with stages also the layouts that cut
  /// the batch as far as it goes.
  TrainingFault judgeAll(mlir::ModuleOp built, const std::string &place);

  /// "12 plans, 9 programs": equal plans have one.
  std::string countsText() const;
  /// "ilp on 8 devices": searches that found a problem too large.
  const std::set<std::string> &tooLarge() const { return refused; }

private:
  PlanRequest requestOn(int64_t devices) const;
  /// The texts of plans of one module whose programs were judged.
  using Known = std::set<std::string>;
  TrainingFault judgeRequest(mlir::ModuleOp built, const PlanRequest &request, Known &known);
  TrainingFault judgeLayout(mlir::ModuleOp built, int64_t devices, int zero, Known &known);
  /// Proves and runs the program of a plan, unless it is known.
  TrainingFault carryOut(mlir::ModuleOp built, const Plan &plan, Known &known);
  bool isWanted(llvm::StringRef search) const;
  /// A search may find a problem too large; the default one may not.
  llvm::Error refuse(llvm::Error error, llvm::StringRef search, int64_t devices);

  const TrainingCase &own;
  ParameterSource initial;
  const ConformanceOptions &options;
  unsigned plans = 0, programs = 0;
  std::set<std::string> refused;
};

} // namespace apc

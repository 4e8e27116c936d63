// ONNX's operator tests: models with inputs and the outputs that they must give.
#pragma once

#include "apc/Plan/PlanRequest.h"
#include "apc/Sharding/Mesh.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

struct ConformanceOptions {
  std::vector<std::string> folders;  ///< searched for folders that hold a model.onnx
  std::optional<std::string> filter; ///< regular expression that a part of the case's name matches
  std::optional<std::string> junit;  ///< where to write the results as JUnit XML
  unsigned jobs = 1;                 ///< processes at a time
  unsigned timeLimitSeconds = 300;   ///< for one case
  std::vector<Mesh> meshes;          ///< also run the cases as programs of all ranks of these
  /// Strategies to run for each case and mesh, at most; fewer (at least 4) where the loop nests of the model have more
  /// than 2e7 points in all.
  unsigned maxPrograms = 64;
  bool training = false;              ///< cases are folders with a train.json
  std::vector<int64_t> deviceCounts;  ///< of training: also plan for so many devices, and run the plans
  std::vector<std::string> searches;  ///< of training: those that plan; none: all that finish on large problems
  std::vector<ZeroChoice> zeroStages; ///< of training: plan within each of these; none: without a limit
  bool allInMicroBatches =
      false; ///< of training: all of these plan micro-batches, too, and not the default search alone
};

struct ConformanceTotals {
  unsigned passed = 0, failed = 0, skipped = 0;
};

/// Imports every `model.onnx` below the folders, runs it on the inputs of each `test_data_set_*` beside it and compares
/// with the outputs there, with ONNX's tolerances. Prints a line for each case, in the order of their names, and at the
/// end "N passed, N failed, N skipped":
///
///   passed  node/test_abs: 38 programs on ranks, for 26 strategies
///   failed  node/test_add: output 'sum': element [0] is 1, expected 2 (1 of 6 differ)
///   skipped node/test_if_seq: sequences
///
/// With `meshes`, each case that passes on one rank is partitioned for every legal strategy of every op, proven, run on
/// all ranks and compared in the same way.
///
/// With `training`, a case is a model with batches and with the losses, gradients and parameters that training on them
/// gives: the training step is built and run step after step, on one device before composites are recognised and then
/// with every recompute policy, and with the policies "none" and "full" as the programs of the plans of every search
/// for every number of devices. Without `deviceCounts` there is one program, of policy "full" on two devices. Data
/// parallelism on two devices is run with buckets of several sizes. With stages of ZeRO there are plans within each of
/// them, and the layout that cuts the batch as far as it goes. Equal plans are carried out once.
///
/// Skipped cases work on strings, sequences, optionals or other values that are no tensors of numbers, are control flow
/// or random, use an "unsupported operator NAME" or one for which there is "no kernel NAME", or have no data. Each case
/// runs in a process of its own, so that none can end or hold up the others. Errors (input): no folder,
/// no case, a bad expression, a JUnit file that cannot be written.
llvm::Expected<ConformanceTotals> runConformance(const ConformanceOptions &options, llvm::raw_ostream &out);

} // namespace apc

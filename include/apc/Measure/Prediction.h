// The cost of measured steps, by the path of `apc evaluate --layout`.
#pragma once

#include "apc/Measure/Measurement.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace apc {

/// The cost of one row, or the reason why there is none.
struct Prediction {
  double seconds = 0;
  double computeSeconds = 0;       ///< of a device; of a pipeline the mean of its workers, as the next two
  double communicationSeconds = 0; ///< of which no op hides `exposedSeconds`
  double exposedSeconds = 0;
  double hostSeconds = 0;       ///< in which a device waits for launches of a slower host, in the same mean
  double bubbleSeconds = 0;     ///< the step is compute, exposed, host and bubble together
  int64_t memoryBytes = 0;      ///< of the fullest device
  int64_t lastStageBytes = 0;   ///< of a device that holds the last stage
  int64_t boundaryBytes = 0;    ///< of such a device between two steps
  int64_t memoryLimitBytes = 0; ///< of a device
  std::string failure;          ///< empty: the row was costed

  bool isCosted() const { return failure.empty(); }
  bool fits() const { return memoryBytes <= memoryLimitBytes; }
};

/// The command that costs a row whose model is at \p path: "apc evaluate net.onnx --layout dp=2 --devices 2 ...".
std::string commandOf(const Measurement &row, llvm::StringRef path);

/// The cost of each row that is not left out, in their order; rows that are left out have the reason as failure. Each
/// model is built once for each recomputation and precision, and apart for a step of one micro-batch; micro-batches of
/// a few rows have models of their own, which are built apart, too. `report` is told how many rows are done, in rising
/// numbers and by one thread at a time; may be empty. \p numThreads never changes the answer.
std::vector<Prediction> predictAll(llvm::ArrayRef<Measurement> rows, unsigned numThreads,
                                   llvm::function_ref<void(size_t)> report = {});

} // namespace apc

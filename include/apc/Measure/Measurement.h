// A training step that somebody has measured, and what is needed to cost it.
#pragma once

#include "apc/Measure/Transformer.h"
#include "apc/Plan/PlanRequest.h"

#include "llvm/Support/Error.h"

namespace apc {

/// The part of the devices whose memory a measurement gives.
enum class MeasuredDevice : uint8_t { Fullest, LastStage };

/// One row of a file of measurements. A row that cannot be used has a reason; its other fields then hold what was read
/// until the reason was found.
struct Measurement {
  std::string file;
  size_t line = 0;
  std::string id;
  std::string source;  ///< what rows are listed by: the publication
  std::string group;   ///< within it rows are compared that differ in their layout alone; empty for none
  std::string leftOut; ///< the reason; empty: the row is used
  /// The first cell that should be a number and is none, or the number of cells: "t.csv:7: column 'tp': ..."
  std::string unreadable;

  TransformerShape model;
  ParallelDegrees layout;
  int64_t devices = 0;
  int64_t globalBatch = 0;
  std::string cluster;                ///< preset or file
  std::vector<std::string> overrides; ///< of its figures
  std::string runtime;                ///< preset or file
  PrecisionChoice precision = PrecisionChoice::Bf16;
  bool overlaps = false;       ///< collectives run beside ops
  bool widensGradients = true; ///< sums of the gradients of weights in bf16 have 32 bits

  std::optional<double> seconds;       ///< of a step
  std::optional<double> memoryBytes;   ///< at the fullest moment
  std::optional<double> boundaryBytes; ///< of the last stage between two steps: parameters, gradients, states
  MeasuredDevice memoryOf = MeasuredDevice::Fullest;
  bool ranOut = false;     ///< of memory
  int64_t besideBytes = 0; ///< that the trainer's libraries hold for good beside the program, as far as a row says
};

/// The request and layout with which `apc evaluate` costs a row; `model` is the path of the model.
PlanRequest requestOf(const Measurement &row, llvm::StringRef model);

/// Reads a file of measurements; its columns say which of the two formats it has (lib/Measure/README.md). Rows that
/// cannot be used are part of the answer. Errors (input): those of `parseCsv`; columns of neither format; no row can
/// be read, each having a fault or a cell that should be a number and is none: the first, with file, line and column.
/// \p numThreads never changes the answer.
llvm::Expected<std::vector<Measurement>> readMeasurements(llvm::StringRef path, unsigned numThreads = 1);
/// The same from the text of a file.
llvm::Expected<std::vector<Measurement>> parseMeasurements(llvm::StringRef text, llvm::StringRef source,
                                                           unsigned numThreads = 1);

} // namespace apc

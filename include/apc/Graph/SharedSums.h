// Sums over micro-batches to which several stages of a pipeline contribute.
#pragma once

#include "apc/Graph/StageSplit.h"

namespace apc {

/// A sum over micro-batches with terms that other stages make for it alone. Each stage adds up its own terms over the
/// micro-batches, and hands them on once a step to the stage of the sum, which adds them to its own.
///
/// The table of GPT-3 is looked up by stage 0 and multiplied by in stage 7, each of which makes a term of its gradient:
/// {op "wte.weight.grad", 0, {{0, {0}}, {7, {1}}}}.
struct SharedSum {
  struct Part {
    unsigned stage = 0;
    std::vector<unsigned> operands; ///< of the sum, ascending

    friend bool operator==(const Part &, const Part &) = default;
  };
  OpId sum;
  unsigned stage = 0;      ///< of the sum
  std::vector<Part> parts; ///< by stage, ascending

  friend bool operator==(const SharedSum &, const SharedSum &) = default;
};

/// "wte.weight.grad.stage7": the name of the op that adds up the terms of one stage, and of its result.
std::string nameOfPart(llvm::StringRef sum, unsigned stage);

/// The sums of `graph` that stages share, ascending. A term that the stage of the sum reads for something else as well
/// comes with every micro-batch anyway, and is no other stage's part.
std::vector<SharedSum> sharedSums(const OpGraph &graph, const StageSplit &split);

/// `graph` with the parts of each sum in its place, and the sum of the parts, which keeps the name, in front of the
/// first op that reads it. Both the new sum and the part of its stage are tied like the sum before. The order of all
/// other ops stays.
OpGraph withParts(const OpGraph &graph, llvm::ArrayRef<SharedSum> sums);

/// A step as its stages carry it out: {graph with the parts of shared sums, those sums, split of that graph}.
struct SplitStep {
  OpGraph graph;
  std::vector<SharedSum> sums; ///< numbers are those of the graph as it was before
  StageSplit split;
};

/// Cuts `graph` like `splitStages`, with the parts of its shared sums. Errors: those of `splitStages`.
llvm::Expected<SplitStep> splitStep(const OpGraph &graph, llvm::ArrayRef<size_t> cuts);

} // namespace apc

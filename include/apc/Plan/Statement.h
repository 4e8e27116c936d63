// Statements of a plan, held against what they should be.
#pragma once

#include "apc/Plan/Plan.h"
#include "apc/Support/Error.h"
#include "apc/Support/Json/JsonWriter.h"

namespace apc {

/// A failed check (exit code 1) that names the field unless `stated` is `truth`: "value 'y': local_shape is [9,9], the
/// model has [4,8]". `source` says where the truth is from: "the model has".
template <typename T>
llvm::Error expectSame(const llvm::Twine &field, const T &stated, const T &truth, llvm::StringRef source) {
  if (stated == truth)
    return llvm::Error::success();
  return noPlanError("{0} is {1}, {2} {3}", field.str(), printJson(stated, 0), source, printJson(truth, 0));
}

/// The same for sums of seconds, which agree to rounding.
llvm::Error expectClose(const llvm::Twine &field, double stated, double truth, llvm::StringRef source);

/// The first error among checks that are made one after the other. `FirstError check; check(...); check(...); return
/// check.take();`.
class FirstError {
public:
  ~FirstError() { llvm::consumeError(std::move(first)); }
  void operator()(llvm::Error error) {
    if (!first)
      first = std::move(error);
    else
      llvm::consumeError(std::move(error));
  }
  llvm::Error take() { return std::move(first); }

private:
  llvm::Error first = llvm::Error::success();
};

/// Holds the figures of a plan against each other: ranks, sums of seconds, the bound and the gap, memory,
/// bytes of collectives. Errors: as `expectSame`.
llvm::Error checkSums(const Plan &plan);

/// Holds the training step that a plan names against its request, as far as that says one, and its batch against its
/// micro-batches. Errors: as `expectSame`.
llvm::Error checkRequestedTraining(const Plan &plan);

} // namespace apc

// The model of a request at the batch that one micro-batch has.
#pragma once

#include "apc/Import/Import.h"
#include "apc/Plan/PlanRequest.h"

namespace apc {

/// The same error, which begins with the path of the model.
llvm::Error inModelOf(const PlanRequest &request, llvm::Error error);

/// The part of a request that importing a model needs.
ImportOptions importOptionsOf(const PlanRequest &request);

/// The micro-batches of one step; 1 where the request does not say both batches. 512 samples in micro-batches of 64: 8.
int64_t microBatchesOf(const PlanRequest &request);

/// The batch that the model of `request` has as it was exported, or as its dims are bound. Errors (input): those of the
/// importer, and a model without a batch.
llvm::Expected<int64_t> exportedBatch(const PlanRequest &request);

/// Imports the model, at the batch of one copy of a micro-batch where the request says both batches
/// (apc/Transforms/ChangeBatch.h). Errors (input): those of the importer and of `changeBatch`; batches that do not
/// divide, also by the copies.
llvm::Expected<ImportedModel> importForRequest(const PlanRequest &request, mlir::MLIRContext &context);

/// `request` with the batches and the policy of recomputation that `layout` says; pins are left out. A layout
/// dp=4,mb=2 has micro-batches of 8 samples, and as many of them as the global batch holds (none given: the model's
/// own). Errors (input): a layout of training without training; flags that say otherwise; batches that do not divide.
llvm::Expected<PlanRequest> requestOfLayout(PlanRequest request, const ParallelDegrees &layout);
/// A stage of ZeRO beyond that of \p request is refused (input): a layout that is evaluated is carried out as it
/// stands.
llvm::Error checkStorage(const PlanRequest &request, const ParallelDegrees &layout);

} // namespace apc

// module -> module: from a model's forward pass to a whole training step.
#pragma once

#include "apc/Autodiff/HeldBackward.h"
#include "apc/Autodiff/Optimizer.h"
#include "apc/Autodiff/Precision.h"
#include "apc/Autodiff/Recompute.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/Error.h"

#include <optional>
#include <string>
#include <vector>

namespace apc {

/// Two parameters that an exporter stored twice: `second` holds `first`, or its transpose.
struct TiedParameters {
  std::string first, second;
  bool transposed = false;
};

struct TrainingOptions {
  /// An output of one element by its name, or `cross-entropy`, `mse` or `sum` of an output, `cross-entropy:logits`; of
  /// the only output of floats where no name stands behind. Empty: the only output of one float.
  std::string loss;
  Optimizer optimizer;
  Precision precision = Precision::Model; ///< of weights, activations and gradients; masters and states are in f32
  bool widensGradients = false;   ///< gradients of parameters in fewer than 32 bits are summed and reduced in f32
  LossScaling lossScaling;        ///< with `Fp16` the gradients of a larger loss are taken
  std::optional<double> clipNorm; ///< the largest global norm that gradients may have
  bool freezesBatchNorm = false;  ///< batch normalisation keeps to the model's statistics, not those of the batch
  std::string freeze;             ///< parameters whose whole name matches this expression stay as they are
  RecomputePolicy recompute = RecomputePolicy::None;
  std::optional<int64_t> recomputedLayers;               ///< so many repeated layers, the first; none: all
  RecomputePolicy recomputeRest = RecomputePolicy::None; ///< of the other layers
  std::vector<TiedParameters> ties;                      ///< `second` is read from `first`, and has no state of its own
  bool derivesBackward = false;  ///< a backward pass that the model holds itself is left out, and another one derived
  bool returnsGradients = false; ///< further results "W.grad", before clipping, of the scaled loss where it is scaled
  /// Runs of forward and backward pass in a step, each on inputs of its own; the model has the shapes of one of them.
  int64_t microBatches = 1;
  int64_t copies = 1; ///< so many runs in a row are copies of one micro-batch, which run in turn
};

/// A floating parameter of the model: "is trained", or why it is not.
struct ParameterUse {
  std::string name;
  bool isTrained = false;
  std::string reason; ///< "matches --freeze", "the loss does not depend on it"; empty for trained ones
};

struct TrainingStep {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<ParameterUse> parameters;  ///< in the order of the model
  int64_t layers = 0;                    ///< repeated layers of the forward pass; 0 where it holds its backward pass
  std::optional<HeldBackward> held = {}; ///< the backward pass of the model itself, where the step has it
  /// The op from which on the loss of the whole batch does not follow from those of micro-batches, such as the root of
  /// a mean; empty where it does, or where there is one micro-batch.
  std::string lossUnknownSince = {};
};

/// Builds forward pass, loss, backward pass and update of `model`, which stays as it is. Behind the model's inputs
/// `main` takes what the loss compares with ("target", for cross-entropy and mse), the number of the draw ("draw", i64:
/// another one for each step and micro-batch) where ops draw random numbers, the number of the step ("step", i64, from
/// 1 on) and the learning rate ("learning_rate"). It returns the loss, the new value of each trained parameter
/// ("W.updated") and of each state of the optimizer ("W.momentum.updated"); states are parameters of the module that
/// begin at zero (`source` "zeros").
///
///   y = x . W, mse:y      main(x, target, step, learning_rate) -> (loss, W.updated)
///
/// With several micro-batches, what belongs to each of them stands above `micro_batch_end`, the update below it.
/// Gradients are sums over all of them, divided once: the result is that of the whole batch. Sums over samples are
/// added up and means averaged, each term of a loss by itself; a mean over labels that count, or of a mask, is a sum
/// that is divided by all that count. Of any other loss the mean of the micro-batches is taken, which is not that of
/// the whole batch: `lossUnknownSince` names the op.
///
/// Ops that the planner decides together carry `apc.tie` (apc/IR/AttributeNames.h). Every gradient is the reverse of
/// its op by `OperatorInterface::differentiate`; contributions to one value are summed where the value is made.
///
/// A model that holds its backward pass (apc/Autodiff/HeldBackward.h) keeps it as it is, unless `derivesBackward`: its
/// gradients are summed, clipped and applied like others, and no op is tied to another by being its gradient. Where it
/// holds new values of its parameters, too, these take the parameters' place, and there is no optimizer. Its backward
/// pass does not allow recomputation, scaling of the loss and ties of parameters; with new values neither several
/// micro-batches, another precision, clipping nor frozen parameters. Errors (input) say so.
///
/// Errors (input): a number of micro-batches below 1, more recomputed layers than there are, a loss that is no scalar
/// or not there, nothing to train, ops without a gradient on the way (all of them), ties of parameters that are not
/// there, of other shapes, or one, ties that contradict each other, an expression that freezes none.
llvm::Expected<TrainingStep> buildTrainingStep(mlir::ModuleOp model, const TrainingOptions &options);

} // namespace apc

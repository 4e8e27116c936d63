// One sequence of one direction, position by position: the recurrent cells and their derivatives.
#pragma once

#include "Sizes.h"

namespace apc {

/// The weights of one direction, row-major; null where they are absent.
struct CellWeights {
  const double *w = nullptr, *r = nullptr, *b = nullptr, *p = nullptr;
};

/// Everything that the positions of a lane share.
struct LaneCell {
  const RecurrentSizes &sizes;
  CellWeights weights;
  llvm::ArrayRef<Activation> activations; ///< f, g, h
  std::optional<double> clip = {};        ///< bounds of what enters the gates' activations
  bool linearBeforeReset = false, inputForget = false;
};

using Units = std::vector<double>;

struct LaneState {
  Units hidden, cell;
};

/// The computation of one position of a lane: `sums` enter the activations of its gates.
struct LaneStep {
  LaneState before, after;
  Units sums, gates;
  Units reset; ///< Gru: r H', or R H' + Rb of the third gate where the reset comes behind it
};

/// The gradients of one position.
struct LaneSlopes {
  Units gates;     ///< of the gates' sums
  Units recurrent; ///< of what R and Rb add to them: for a Gru with the reset behind R, its third block is r times that
  LaneState before;
};

/// One position: the input's elements and the state before.
LaneStep runStep(const LaneCell &cell, const double *input, const LaneState &before);

/// The reverse, from the gradient of the state after the position, what arrives at the result there included.
LaneSlopes reverseStep(const LaneCell &cell, const LaneStep &step, LaneState arriving);

} // namespace apc

// Sizes and settings of a recurrent operator, read once from its operands and attributes for shapes, rule and kernels.
#pragma once

#include "../Elementwise/Activation.h"
#include "Recurrent.h"

namespace apc {

namespace recurrent {
enum Operand : unsigned { X, W, R, B, Lengths, InitialH, InitialC, P };

/// The first operand of a gradient that is none of the operator's: what arrives at Y, Y_h and (Lstm) Y_c.
inline unsigned arrivingAt(Cell cell) { return cell == Cell::Lstm ? 8 : 6; }
/// The operator's operands, offsets left out.
inline unsigned numOperands(Cell cell) { return arrivingAt(cell); }
} // namespace recurrent

/// LSTM of X [5, 3, 4] (5 positions, batch 3, 4 inputs) with W [2, 24, 4]: 2 directions, 4 gates of 6 hidden units.
struct RecurrentSizes {
  Cell cell = Cell::Rnn;
  bool batchFirst = false; ///< `layout` 1
  int64_t positions = 1, batch = 1, inputs = 1, directions = 1, hidden = 1;

  int64_t gates() const { return cell == Cell::Rnn ? 1 : cell == Cell::Gru ? 3 : 4; }
  /// Rows of W and R in each direction.
  int64_t rows() const { return gates() * hidden; }
  /// Peepholes of an Lstm's gates i, o and f.
  int64_t peepholes() const { return 3 * hidden; }

  llvm::SmallVector<int64_t, 4> inputDims() const;
  /// [s, d, b, width], or [b, s, d, width].
  llvm::SmallVector<int64_t, 4> sequenceDims(int64_t width) const;
  llvm::SmallVector<int64_t, 4> stateDims() const;

  // The row of a position, direction and batch element in tensors of these dims.
  int64_t inputRow(int64_t position, int64_t element) const;
  int64_t sequenceRow(int64_t position, int64_t direction, int64_t element) const;
  int64_t stateRow(int64_t direction, int64_t element) const;
};

/// An error at `op` where shapes, `hidden_size`, `direction` or `activations` do not fit one another.
mlir::FailureOr<RecurrentSizes> readRecurrent(mlir::Operation *op, Cell cell);

/// The activations of all directions one behind the other: f, g, h of an Lstm's first direction, then of its second.
llvm::SmallVector<Activation, 6> activationsOf(mlir::Operation *op, Cell cell);

} // namespace apc

// StableHLO as values and functions: what the lowerings of the operators are written with.
#pragma once

#include "apc/Sharding/Sharding.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"

namespace apc {

class HloWriter;
struct Hlo;
using HloDims = llvm::SmallVector<int64_t, 6>;
using HloList = llvm::SmallVector<Hlo, 4>;

/// A tensor of a StableHLO program, or none where an optional operand is absent. Functions on tensors add ops to the
/// program. Arithmetic broadcasts as NumPy does: `x - hlo::mean(x, {1}, true)`.
struct Hlo {
  mlir::Value value = {};
  HloWriter *writer = nullptr;

  explicit operator bool() const { return static_cast<bool>(value); }
  operator HloList() const { return {*this}; }
  mlir::RankedTensorType type() const { return llvm::cast<mlir::RankedTensorType>(value.getType()); }
  mlir::Type element() const { return type().getElementType(); }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element()); }
  llvm::ArrayRef<int64_t> dims() const { return type().getShape(); }
  unsigned numDims() const { return static_cast<unsigned>(type().getRank()); }
  int64_t size(unsigned dim) const { return type().getDimSize(dim); }
};

Hlo operator+(Hlo a, Hlo b);
Hlo operator-(Hlo a, Hlo b);
Hlo operator*(Hlo a, Hlo b);
Hlo operator/(Hlo a, Hlo b);
Hlo operator&(Hlo a, Hlo b); ///< of bools, or of bits
Hlo operator|(Hlo a, Hlo b);
Hlo operator-(Hlo a);
Hlo operator+(Hlo a, double b);
Hlo operator-(Hlo a, double b);
Hlo operator*(Hlo a, double b);
Hlo operator/(Hlo a, double b);
Hlo operator-(double a, Hlo b);
inline Hlo operator+(double a, Hlo b) { return b + a; }
inline Hlo operator*(double a, Hlo b) { return b * a; }

namespace hlo {

/// An op of one operand that leaves dims and type: "stablehlo.exponential".
Hlo unary(llvm::StringRef name, Hlo x);
/// An op of two operands, broadcast to one shape and converted to no other type.
Hlo binary(llvm::StringRef name, Hlo a, Hlo b);

Hlo exp(Hlo x);
Hlo log(Hlo x);
Hlo sqrt(Hlo x);
Hlo rsqrt(Hlo x);
Hlo tanh(Hlo x);
Hlo sigmoid(Hlo x);
Hlo sin(Hlo x);
Hlo cos(Hlo x);
Hlo erf(Hlo x);    ///< CHLO's, which every consumer of StableHLO expands
Hlo probit(Hlo x); ///< by CHLO's inverse of erf
Hlo abs(Hlo x);
Hlo square(Hlo x);
Hlo isNot(Hlo x);
Hlo max(Hlo a, Hlo b);
Hlo min(Hlo a, Hlo b);
Hlo power(Hlo a, Hlo b);
Hlo remainder(Hlo a, Hlo b);                          ///< with the sign of a
Hlo compare(Hlo a, llvm::StringRef direction, Hlo b); ///< EQ, NE, LT, LE, GT or GE
Hlo compare(Hlo a, llvm::StringRef direction, double b);
/// `a` where the condition holds, `b` elsewhere.
Hlo select(Hlo condition, Hlo a, Hlo b);
Hlo convert(Hlo x, mlir::Type element);
/// Floats of 16 bits as 32 bits; others as they are.
Hlo precise(Hlo x);

/// A tensor of one value, of the type of `like`, with the dims of `like` or of its own.
Hlo filled(Hlo like, double value);
Hlo filled(HloWriter &writer, mlir::Type element, llvm::ArrayRef<int64_t> dims, double value);
/// Counts along `dim`: 0, 1, 2, ...
Hlo iota(HloWriter &writer, mlir::Type element, llvm::ArrayRef<int64_t> dims, unsigned dim);

Hlo reshape(Hlo x, llvm::ArrayRef<int64_t> dims);
/// Dims of size 1 and missing ones in front are repeated.
Hlo broadcast(Hlo x, llvm::ArrayRef<int64_t> dims);
/// Dim i of `x` becomes dim `places[i]` of the result.
Hlo broadcastInDim(Hlo x, llvm::ArrayRef<int64_t> dims, llvm::ArrayRef<int64_t> places);
Hlo transpose(Hlo x, llvm::ArrayRef<int64_t> perm);
/// `x` with the last two dims exchanged.
Hlo flip(Hlo x);
/// The order of a dim turned round.
Hlo reverse(Hlo x, llvm::ArrayRef<int64_t> dims);
/// A dim of size 1 more, at `dim`.
Hlo unsqueeze(Hlo x, unsigned dim);
Hlo slice(Hlo x, unsigned dim, int64_t begin, int64_t end, int64_t step = 1);
/// Elements of `value` before and behind a dim; negative counts take elements away.
Hlo pad(Hlo x, unsigned dim, int64_t before, int64_t behind, double value = 0);
Hlo concat(llvm::ArrayRef<Hlo> parts, unsigned dim);
/// `size` elements of a dim from `begin` on, a scalar; the caller sees to it that they are there.
Hlo dynamicSlice(Hlo x, unsigned dim, Hlo begin, int64_t size);
/// `x` with `part` in a dim from `begin` on, a scalar.
Hlo dynamicUpdate(Hlo x, unsigned dim, Hlo begin, Hlo part);

/// The reduction of some dims, which stay as dims of size 1 where `keep`.
Hlo reduce(Combiner combiner, Hlo x, llvm::ArrayRef<int64_t> dims, bool keep = false);
Hlo sum(Hlo x, llvm::ArrayRef<int64_t> dims, bool keep = false);
Hlo mean(Hlo x, llvm::ArrayRef<int64_t> dims, bool keep = false);
/// The sum of what was broadcast: from the dims of `x` to `dims`.
Hlo sumTo(Hlo x, llvm::ArrayRef<int64_t> dims);
/// The reduction of each window of a tensor that is padded already; one number a dim.
Hlo reduceWindow(Combiner combiner, Hlo x, llvm::ArrayRef<int64_t> window, llvm::ArrayRef<int64_t> strides,
                 llvm::ArrayRef<int64_t> dilations);
Hlo logSumExp(Hlo x, llvm::ArrayRef<int64_t> dims, bool keep);
/// Along one dim.
Hlo softmax(Hlo x, unsigned dim);

/// A sum of products, in the notation of Einsum: "bik,kj->bij".
Hlo einsum(llvm::StringRef equation, llvm::ArrayRef<Hlo> operands);
/// NumPy's matmul.
Hlo matmul(Hlo a, Hlo b);

/// The slices of `x` along `dim` at the places that a list of one dim names; these must be there.
Hlo take(Hlo x, Hlo places, unsigned dim);
/// The elements of `x` at coordinates, which the last dim of `places` lists; these must be there.
Hlo pick(Hlo x, Hlo places);
/// `x` with one element of `updates` at each of them, combined with what is there ("stablehlo.add") or in its place
/// ("").
Hlo put(Hlo x, Hlo places, Hlo updates, llvm::StringRef combination);
/// Zeros of `dims`, with the slices of `updates` along `dim` added at the places that a list names; slices whose place
/// is not there are dropped.
Hlo addAt(llvm::ArrayRef<int64_t> dims, Hlo places, Hlo updates, unsigned dim);

} // namespace hlo
} // namespace apc

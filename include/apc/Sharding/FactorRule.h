// Factor rules: how the dims of an op's operands and results correspond. Everything else about parallelism is read off
// them.
#pragma once

#include "apc/Sharding/Sharding.h"

#include <array>
#include <string>

namespace apc {

using FactorId = Id<struct FactorTag>;

/// One index of an op's loop nest.
struct Factor {
  std::string name; ///< "m", "k", "b0" (the leading dims of `...` are named b0, b1, ... major first)
  int64_t size = 1;
  bool whole = false;                ///< `!k`: must be whole on every device
  Combiner combiner = Combiner::Sum; ///< how partial results over this factor combine (reductions only)

  friend bool operator==(const Factor &, const Factor &) = default;
};

/// The factors of one dim, major first; none for a dim of size 1 that corresponds to nothing (a broadcast dim).
using DimFactors = llvm::SmallVector<FactorId, 2>;

/// One tensor of a rule. An absent optional operand or result has `absent` set and no dims.
struct RuleTensor {
  llvm::SmallVector<DimFactors, 4> dims;
  unsigned elementBits = 32;
  bool absent = false;
  /// Only as many bytes are touched as the first result has (an embedding table, a cache).
  bool sparse = false;
  /// The parts inside which a dim is cut when it is cut: a split of 512 into 256, 128 and 128 has the operand
  /// `(i w){256 128 128}` with i=128, and the results `(i w)`, `i`, `i`.
  PartedDims parted = {};

  /// True when a dim consists of `factor`, or of it and others.
  bool has(FactorId factor) const {
    return llvm::any_of(dims, [&](const DimFactors &dim) { return llvm::is_contained(dim, factor); });
  }

  friend bool operator==(const RuleTensor &, const RuleTensor &) = default;
};

/// The kind of work that an op is for a device. View: nothing moves (Reshape, Squeeze). Stream: every byte passes once
/// (Add, Softmax). Contraction: the matrix units (MatMul, Conv).
enum class Work : uint8_t { View, Stream, Contraction };

/// A softmax attention, whose scores never leave the device's fast memory: what the speed of such a kernel depends on
/// beside its FLOPs. Llama-3-8B at 8,192 positions: {128, 8192, causal, unmasked, rows s and g}.
struct FusedAttention {
  int64_t headSize = 1;                    ///< elements of a query and of a key
  int64_t keys = 1;                        ///< key positions that a query looks at
  bool causal = false;                     ///< only keys up to the query's own position count: half of them
  bool masked = false;                     ///< reads a mask of its own for each query
  llvm::SmallVector<FactorId, 2> rows;     ///< queries that share the keys of one head: positions, heads of a group
  std::optional<unsigned> causalMask = {}; ///< the operand that is no more than the causal mask that the kernel knows

  /// Does the kernel know what the operand holds, so that it need not be read?
  bool knowsMask(unsigned operand) const { return causalMask == operand; }

  friend bool operator==(const FusedAttention &, const FusedAttention &) = default;
};

/// A rule bound to shapes.
///
/// MatMul X[8,128,512] . W[512,1024]:
///   `b0 m k, k n -> b0 m n {b0=8, m=128, k=512 sum, n=1024} flops=2`
/// Factors in operands and not in results are reductions: cut over axes A, they leave every result partial over A.
/// Factors in results only are new dims (Expand, Range).
///
/// `linear` holds groups of operands (indices) that may enter while still partial (sum), all of a group at once; the
/// results then leave partial over the same axes. Add: {{0, 1}}; Transpose: {{0}}; Mul: {{0}, {1}}.
struct FactorRule {
  llvm::SmallVector<Factor, 6> factors;
  llvm::SmallVector<RuleTensor, 4> operands;
  llvm::SmallVector<RuleTensor, 2> results;
  llvm::SmallVector<llvm::SmallVector<unsigned, 2>, 2> linear;
  /// Floating-point operations for each point of the loop nest (the product of all factor sizes): MatMul 2, Add 1.
  double flopsPerPoint = 0;
  Work work = Work::Stream;
  std::optional<FusedAttention> attention; ///< of a contraction that is an attention
  bool isConvolution = false; ///< of a contraction: one, or a gradient of one, for which runtimes narrow f32 apart
  /// Kernels that wait for each other: the positions of a recurrent layer, each of which needs the state before it.
  int64_t steps = 1;

  unsigned numFactors() const { return static_cast<unsigned>(factors.size()); }
  const Factor &factor(FactorId id) const { return factors[id.index()]; }
  /// True for factors of operands that no result has.
  bool isReduction(FactorId id) const;
  /// The op only puts dims in another order, or gives parts of them: no arithmetic, one operand, no new elements. A
  /// kernel that makes the operand, or reads a result, can go over it in that order instead (Transpose, Split).
  bool isRearrangement() const;
  /// The product of the factor sizes.
  double numPoints() const;
  double flops() const { return flopsPerPoint * numPoints(); }
  /// The product of the sizes of a dim's factors.
  int64_t dimSize(const DimFactors &dim) const;
  TensorShape operandShape(unsigned index) const;
  TensorShape resultShape(unsigned index) const;

  /// The text form shown above: tensors, then `{name=size flags}`, flags being `!` (whole) and the combiner of a
  /// reduction; then `linear={0 1|2}`, `flops=`, `attention={d=128 t=8192 causal masked}` and, of more than one,
  /// `steps=512`. An absent tensor prints as `_`.
  std::string str() const;
  friend bool operator==(const FactorRule &, const FactorRule &) = default;
};

/// Cuts `factor` inside parts from now on, in every tensor in which it is a dim of its own. It must be so wherever it
/// is, and the parts must make it up.
void cutInsideParts(FactorRule &rule, FactorId factor, llvm::ArrayRef<int64_t> sizes);

/// A rule as written in an operator's definition, before shapes are known. Tensors are separated by `,`, dims by
/// blanks, operands and results by `->`; `...` is leading dims that broadcast as NumPy does; `!k` is a factor that must
/// stay whole;
/// `(h d)` a dim made of several factors, major first; `max:k` gives the combiner of a reduction; `_` a tensor that
/// takes no part (an absent operand, or one whose sharding is always replicated); `1` a dim of extent 1 that
/// corresponds to nothing. No operands are written as nothing before `->`; nothing after it is one result of no dims.
///
///   "... m k, ... k n -> ... m n"      "n c !h !w, o c !r !s -> n o !y !x"      "b s (h d) -> b h s d"
class RuleText {
public:
  /// The error points at the offending word.
  static llvm::Expected<RuleText> parse(llvm::StringRef text);

  unsigned numOperands() const { return static_cast<unsigned>(operands.size()); }
  unsigned numResults() const { return static_cast<unsigned>(results.size()); }

  /// A tensor to bind: its shape, or none when the optional operand or result is absent.
  using BoundShape = std::optional<TensorShape>;

  /// Binds factor sizes from the operands' shapes alone and returns the results' dims (NumPy broadcasting for `...`):
  /// shape inference. Compound dims need all factors but one from other dims or from `known` (name -> size). Operands
  /// beyond those given are absent. A result `_` comes back without dims. Errors name tensor, dim, factor and sizes.
  llvm::Expected<llvm::SmallVector<llvm::SmallVector<int64_t, 4>, 2>>
  inferResults(llvm::ArrayRef<BoundShape> operands, llvm::ArrayRef<std::pair<std::string, int64_t>> known = {}) const;

  /// Binds all factors to shapes; verifies that every use of a factor has one size. A dim of size 1 under `...` gets no
  /// factor where another tensor has a larger extent.
  llvm::Expected<FactorRule> bind(llvm::ArrayRef<BoundShape> operands, llvm::ArrayRef<BoundShape> results,
                                  double flopsPerPoint = 0,
                                  llvm::ArrayRef<std::pair<std::string, int64_t>> known = {}) const;

private:
  friend class RuleTextParser;
  friend class RuleBinder;

  struct DimText {
    llvm::SmallVector<std::string, 2> factors;
    bool ellipsis = false;
  };
  struct TensorText {
    std::vector<DimText> dims;
    bool ignored = false;
  };
  std::vector<TensorText> operands, results;
  std::vector<std::string> wholeFactors;
  std::vector<std::pair<std::string, Combiner>> combiners;
};

/// Builds a rule dim by dim, for ops whose correspondence depends on attributes.
///
///   FactorRuleBuilder b;                                     // Transpose [2,3] -> [3,2]
///   FactorId i = b.addFactor("i", 2), j = b.addFactor("j", 3);
///   b.addOperand({{i}, {j}}, 32); b.addResult({{j}, {i}}, 32); b.addLinear({0});
///   FactorRule rule = b.take();
class FactorRuleBuilder {
public:
  FactorId addFactor(llvm::StringRef name, int64_t size);
  FactorId addWhole(llvm::StringRef name, int64_t size);
  FactorId addReduction(llvm::StringRef name, int64_t size, Combiner combiner);
  /// Factors `prefix0`, `prefix1`, ... for each dim of a shape; dims of size 1 get one, too.
  llvm::SmallVector<DimFactors, 4> addFactors(llvm::StringRef prefix, llvm::ArrayRef<int64_t> dims);

  void addOperand(llvm::SmallVector<DimFactors, 4> dims, unsigned elementBits);
  void addResult(llvm::SmallVector<DimFactors, 4> dims, unsigned elementBits);
  /// An operand that is always whole on every device (a table of sizes, say): each dim gets a whole factor of its own.
  void addReplicatedOperand(const TensorShape &shape);
  void addReplicatedResult(const TensorShape &shape);
  void addAbsentOperand();
  void addAbsentResult();
  void addLinear(llvm::SmallVector<unsigned, 2> operands);
  void setFlopsPerPoint(double flops);
  void setWork(Work work);
  /// The work of the matrix units in a fused attention.
  void setAttention(FusedAttention attention);
  void setSteps(int64_t steps);
  /// Marks the operand added last as touched only in part.
  void markSparse();
  /// The rule. The whole factors of replicated tensors take no part in the loop nest: flops per point are divided by
  /// their sizes, so that `flops()` stays what was meant.
  FactorRule take();

private:
  llvm::SmallVector<DimFactors, 4> addFactorsApart(llvm::ArrayRef<int64_t> sizes);

  FactorRule rule;
  double pointsApart = 1;
};

/// The rule of a reshape: dims are split into common factors, so that `[8, 6] -> [4, 12]` becomes `(i0=4 i1=2) 6 -> 4
/// (2 6)`. Where extents do not divide (`[4, 6] -> [3, 8]`), the run of dims that do not factor is one whole factor on
/// both sides. Linear. Source: the greedy factorisation of Shardy's reshape rule and facts 22-26, 66, 67 of MindSpore's
/// layout unification.
FactorRule reshapeRule(const TensorShape &from, const TensorShape &to);

} // namespace apc

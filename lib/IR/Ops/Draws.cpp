// Random numbers by the place of an element in the whole tensor.
#include "Draws.h"

#include "HeldSpan.h"

#include "apc/IR/Ops/Elementwise/Elementwise.h"
#include "apc/IR/Random.h"
#include "apc/Support/StableHash.h"

#include <cmath>

namespace apc {

/// The operand that numbers the draws of a random operator.
static constexpr llvm::StringLiteral drawOperand = "draw";

bool isRandom(mlir::Operation *op) {
  if (auto dropout = llvm::dyn_cast<DropoutOp>(op))
    return mayDrop(dropout);
  auto interface = llvm::dyn_cast<OperatorInterface>(op);
  return interface && llvm::is_contained(interface.getArgumentNames(), drawOperand);
}

void numberDraws(mlir::Operation *op, mlir::Value number) {
  llvm::ArrayRef<llvm::StringRef> names = llvm::cast<OperatorInterface>(op).getArgumentNames();
  op->setOperand(static_cast<unsigned>(llvm::find(names, drawOperand) - names.begin()), number);
}

void keepSeeds(mlir::Operation *root) {
  root->walk([](mlir::Operation *op) {
    mlir::Builder builder(op->getContext());
    if (auto dropout = llvm::dyn_cast<DropoutOp>(op))
      dropout.setSeed(seedOf(dropout));
    else if (isRandom(op))
      op->setAttr("stream", builder.getI64IntegerAttr(static_cast<int64_t>(streamOf(op))));
  });
}

uint64_t seedOfName(mlir::Operation *op) {
  StableHash hash;
  if (auto name = llvm::dyn_cast<mlir::NameLoc>(op->getLoc()))
    hash.add(name.getName().getValue());
  return hash.value();
}

std::optional<uint64_t> seedOfRun(uint64_t seed, mlir::Value draw, const Tensor *number) {
  if (isAbsent(draw))
    return seed;
  if (!number || number->ints.size() != 1)
    return std::nullopt;
  StableHash hash;
  hash.add(seed);
  hash.add(static_cast<uint64_t>(number->ints.front()));
  return hash.value();
}

double drawAt(uint64_t seed, int64_t position) {
  StableHash hash;
  hash.add(seed);
  hash.add(static_cast<uint64_t>(position));
  return std::ldexp(static_cast<double>(hash.value() >> 11), -53);
}

int64_t PlaceInWhole::positionOf(llvm::ArrayRef<int64_t> index) const {
  int64_t position = 0;
  for (auto [at, begin, size] : llvm::zip_equal(index, begins, whole))
    position = position * size + begin + at;
  return position;
}

std::optional<PlaceInWhole> placeInWhole(llvm::ArrayRef<int64_t> dims, Operands offsets,
                                         std::optional<llvm::ArrayRef<int64_t>> whole) {
  PlaceInWhole place{llvm::SmallVector<int64_t, 4>(dims.size(), 0), llvm::SmallVector<int64_t, 4>(dims)};
  if (offsets.empty())
    return place;
  if (!whole || offsets.size() != dims.size() || whole->size() != dims.size())
    return std::nullopt;
  place.whole.assign(whole->begin(), whole->end());
  for (auto [begin, offset] : llvm::zip_equal(place.begins, offsets)) {
    std::optional<HeldSpan> held = HeldSpan::read(offset);
    if (!held)
      return std::nullopt;
    begin = held->begin;
  }
  return place;
}

} // namespace apc

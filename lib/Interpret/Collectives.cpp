// Collectives carried out element by element.
#include "Collectives.h"

#include "Boxes.h"

#include <cmath>

namespace apc {

namespace {

template <typename T>
T combined(Combiner combiner, T a, T b) {
  switch (combiner) {
  case Combiner::Sum:
    return a + b;
  case Combiner::Product:
    return a * b;
  case Combiner::Max:
    return std::isnan(static_cast<double>(a)) || a > b ? a : b;
  case Combiner::Min:
    return std::isnan(static_cast<double>(a)) || a < b ? a : b;
  case Combiner::And:
    return T(a != 0 && b != 0);
  case Combiner::Or:
    return T(a != 0 || b != 0);
  case Combiner::LogSumExp: {
    // Infinite pieces are left out of differences: they are the result, or change nothing.
    auto x = static_cast<double>(a), y = static_cast<double>(b), greatest = std::max(x, y);
    return T(std::isinf(greatest) ? greatest : greatest + std::log(std::exp(x - greatest) + std::exp(y - greatest)));
  }
  }
  llvm_unreachable("every combiner combines");
}

void combineElement(Combiner combiner, const Tensor &from, int64_t at, Tensor &to, int64_t toAt) {
  if (to.isFloat()) {
    double &value = to.floats[static_cast<size_t>(toAt)];
    value = combined(combiner, value, from.floats[static_cast<size_t>(at)]);
  } else {
    int64_t &value = to.ints[static_cast<size_t>(toAt)];
    value = combined(combiner, value, from.ints[static_cast<size_t>(at)]);
  }
}

} // namespace

TensorRef bufferOf(llvm::ArrayRef<TensorRef> pieces) {
  if (pieces.size() == 1)
    return pieces.front();
  auto buffer = std::make_shared<Tensor>();
  buffer->element = pieces.front()->element;
  for (const TensorRef &piece : pieces) {
    llvm::append_range(buffer->ints, piece->ints);
    llvm::append_range(buffer->floats, piece->floats);
  }
  buffer->dims = {static_cast<int64_t>(buffer->ints.size() + buffer->floats.size())};
  return buffer;
}

Tensor runCollective(CollectiveKind kind, const CoalescedCollective::Value &value, const Mesh &mesh, int64_t rank,
                     llvm::ArrayRef<int64_t> members, llvm::ArrayRef<TensorRef> buffers, int64_t offset,
                     int64_t padding) {
  llvm::ArrayRef<int64_t> whole(value.dims);
  auto fromDims = pieceDims(whole, value.from, mesh), toDims = pieceDims(whole, value.to, mesh);
  Tensor output = poisoned(toDims, buffers.front()->element, padding);
  Box held = boxOf(whole, value.to, mesh, rank);
  bool combines = isReduction(kind);
  std::vector<bool> isSet(static_cast<size_t>(output.numElements()));
  for (auto [member, buffer] : llvm::zip_equal(members, buffers))
    forEachShared(boxOf(whole, value.from, mesh, member), fromDims, held, toDims, [&](int64_t at, int64_t toAt) {
      bool wasSet = isSet[static_cast<size_t>(toAt)];
      if (combines && wasSet)
        combineElement(value.from.combiner, *buffer, offset + at, output, toAt);
      else if (!wasSet)
        copyElement(*buffer, offset + at, output, toAt);
      isSet[static_cast<size_t>(toAt)] = true;
    });
  roundToElement(output);
  return output;
}

} // namespace apc

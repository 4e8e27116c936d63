// Readers of values, those that take 8 bits and others.
#include "NarrowMemory.h"

#include "apc/Cost/NarrowProducts.h"

#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace apc {

namespace {

bool takesNarrow(const OpGraph &graph, OpGraph::Use use) {
  return !graph.op(use.op).kernel.narrows.empty() && use.operand < numMultiplied;
}

/// The last place of readers of 16 bits, and of the first product, which makes the copies.
class LastWide {
public:
  void read(size_t at, bool isNarrow) {
    if (!isNarrow)
      lastWide = std::max(lastWide, at);
    else if (!firstNarrow || at < *firstNarrow)
      firstNarrow = at;
  }
  std::optional<size_t> place() const {
    return firstNarrow ? std::optional(std::max(*firstNarrow, lastWide)) : std::nullopt;
  }

private:
  size_t lastWide = 0;
  std::optional<size_t> firstNarrow;
};

} // namespace

NarrowedPlaces narrowedPlaces(const OpGraph &graph, ArrayRef<GraphMove> moves, const Timeline &time) {
  NarrowedPlaces places{std::vector<std::optional<size_t>>(graph.values.size()),
                        std::vector<std::optional<size_t>>(moves.size())};
  if (!graph.keepsNarrowCopies)
    return places;
  const std::vector<ValueId> storages = graph.storages();
  std::vector<LastWide> readers(graph.values.size()); // by storage
  for (auto [index, op] : enumerate(graph.ops)) {
    auto isView = [&](std::optional<ValueId> result) { return !result || graph.isView(*result); };
    if (!op.results.empty() && all_of(op.results, isView))
      continue; // its own readers count
    for (auto [operand, value] : enumerate(op.operands))
      if (value)
        readers[storages[value->index()].index()].read(
            time.at(OpId(index)), takesNarrow(graph, {OpId(index), static_cast<unsigned>(operand)}));
  }
  for (size_t value = 0; value < graph.values.size(); ++value)
    if (storages[value] == ValueId(value))
      places.values[value] = readers[value].place();
  for (auto [move, place] : zip_equal(moves, places.moves)) {
    LastWide ofCopy;
    for (OpGraph::Use use : move.users)
      ofCopy.read(time.at(use.op), takesNarrow(graph, use));
    place = ofCopy.place();
  }
  return places;
}

} // namespace apc

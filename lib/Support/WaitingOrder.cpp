// A walk over the list that takes an item when its turn has come and nothing holds it up.
#include "apc/Support/WaitingOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <queue>

namespace apc {

namespace {

class WaitingWalk {
public:
  explicit WaitingWalk(llvm::ArrayRef<llvm::SmallVector<size_t, 4>> waitsFor)
      : numMissing(waitsFor.size()), heldUp(waitsFor.size()) {
    for (size_t item = 0; item < waitsFor.size(); ++item) {
      numMissing[item] = waitsFor[item].size();
      for (size_t other : waitsFor[item])
        heldUp[other].push_back(item);
    }
  }

  std::vector<size_t> run() {
    order.reserve(numMissing.size());
    for (turn = 0; turn < numMissing.size(); ++turn)
      if (numMissing[turn] == 0)
        take(turn);
    return std::move(order);
  }

private:
  /// Takes an item, then those whose turn is over and that nothing holds up any more.
  void take(size_t item) {
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    ready.push(item);
    while (!ready.empty()) {
      size_t next = ready.top();
      ready.pop();
      order.push_back(next);
      for (size_t other : heldUp[next])
        if (--numMissing[other] == 0 && other < turn)
          ready.push(other);
    }
  }

  std::vector<size_t> numMissing;                   ///< items that an item still waits for
  std::vector<llvm::SmallVector<size_t, 4>> heldUp; ///< the items that wait for an item
  size_t turn = 0;                                  ///< items before it have had their turn
  std::vector<size_t> order;
};

} // namespace

std::vector<size_t> orderWithWaits(llvm::ArrayRef<llvm::SmallVector<size_t, 4>> waitsFor) {
  auto isInOrder = [&](const auto &entry) {
    return llvm::all_of(entry.value(), [&](size_t other) { return other < entry.index(); });
  };
  if (!llvm::all_of(llvm::enumerate(waitsFor), isInOrder))
    return WaitingWalk(waitsFor).run();
  std::vector<size_t> list(waitsFor.size());
  std::iota(list.begin(), list.end(), 0);
  return list;
}

} // namespace apc

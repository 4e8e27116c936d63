// Collectives in the words of Shardy's dialect.
#pragma once

#include "SdyText.h"

#include "apc/IR/CollectivePlaces.h"

namespace apc {

/// A collective on one part of a tensor.
struct SdyMove {
  std::string text;      ///< `sdy.all_gather [{}, {"device"}]`: the op up to its operand; empty where Shardy has none
  Sharding after;        ///< of the part
  bool combines = false; ///< summands other than those of sums, which it brings together
};

/// The move of one of a collective's values.
SdyMove sdyMove(CollectiveKind kind, const CoalescedCollective::Value &value, const Mesh &mesh);

/// The reason why a move between parts and one run of a dim has no words; empty where it has.
std::string sdyPartsRefusal(const Sharding &from, const Sharding &to);

} // namespace apc

// Tensors of one collective that are told together.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace apc {

/// A tensor of a collective as its call has it: the expression, the place, and the name that the result gets.
struct ListedTensor {
  std::string text, place, result;
};

/// Tensors whose results are entries of one table become lists, where they are entries of a table, too, or weights of
/// layers. Their order changes, which is that of nothing but the buffer.
///
///   kept.add[0] -> kept.add_sum[0], x -> x_sum, kept.add[1] -> kept.add_sum[1]
///     = kept.add[0:2] -> kept.add_sum[0:2], x -> x_sum
///   weights["h.4.w"] -> kept.w[0], weights["h.5.w"] -> kept.w[1]
///     = [weights[f"h.{i}.w"] for i in range(4, 6)] -> kept.w[0:2]
std::vector<ListedTensor> foldLists(llvm::ArrayRef<ListedTensor> tensors);

} // namespace apc

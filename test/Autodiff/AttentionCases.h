// Attention of several heads as ops under test.
#pragma once

#include "GradientCheck.h"

namespace apc {

/// An attention with `count` operands, those behind the given ones absent.
inline OpCase attention(const std::string &op, std::vector<std::string> operands, size_t count,
                        const std::string &attributes, unsigned numResults) {
  operands.resize(count, "none");
  return {op, std::move(operands), attributes, numResults};
}

/// MultiHeadAttention of two heads.
inline OpCase multiHead(std::vector<std::string> operands, const std::string &attributes, unsigned numResults = 1) {
  return attention("apc.multi_head_attention", std::move(operands), 10, "num_heads = 2 : i64" + attributes, numResults);
}

} // namespace apc

// The operands of attention with fewer key heads than query heads.
#pragma once

namespace apc {

enum GroupQueryOperand : unsigned {
  Query,
  Key,
  Value,
  PastKey,
  PastValue,
  Lengths,
  TotalLength,
  CosCache,
  SinCache,
  PositionIds,
  AttentionBias,
  HeadSink,
  KeyScale,
  ValueScale,
  QueryNorm,
  KeyNorm
};

} // namespace apc

// Reads one figure out of a JSON document.
#pragma once

#include "FigureTable.h"
#include "apc/Support/Json/JsonReader.h"

namespace apc {

/// Reads `value` into the member of `owner` that `row` names; peaks are set format by format, and the others stay.
template <typename Owner>
void readFigure(JsonReader value, const FigureRow<Owner> &row, Owner &owner);

extern template void readFigure(JsonReader, const FigureRow<Device> &, Device &);
extern template void readFigure(JsonReader, const FigureRow<Level> &, Level &);
extern template void readFigure(JsonReader, const FigureRow<Host> &, Host &);
extern template void readFigure(JsonReader, const FigureRow<Runtime> &, Runtime &);

/// A figure out of its `{"value": ..., "source": ...}`, when it has one.
struct SourcedFigure {
  JsonReader value;
  std::string source;

  explicit SourcedFigure(JsonReader figure);
};

/// 1048576, 4e+11, 0.85.
std::string shortText(double value);

} // namespace apc

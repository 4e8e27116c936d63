// Figures by type: names, numbers with their units, flags, peaks of number formats and efficiency curves.
#include "ReadFigure.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;

namespace apc {

namespace {

void read(JsonReader value, const FigureUnit &unit, double &target) {
  double number = value.value().isNumber() ? value.value().number() : -1;
  bool isWhole = !unit.isWhole || number == std::floor(number);
  // The comparison is written so that NaN fails it.
  if (!((unit.mayBeZero ? number >= 0 : number > 0) && number <= unit.maximum) || !isWhole)
    return value.fail(formatv("a {0} {1} {2} is expected{3}, not {4}", unit.isWhole ? "whole number" : "number",
                              unit.mayBeZero ? "from 0 to" : "above 0 and at most", shortText(unit.maximum),
                              unit.name.starts_with("a ") ? "" : ", in " + unit.name, value.quote())
                          .str());
  target = number;
}

void read(JsonReader value, const FigureUnit &unit, int64_t &target) {
  auto number = static_cast<double>(target);
  read(value, unit, number);
  target = static_cast<int64_t>(number);
}

void read(JsonReader value, const FigureUnit &, bool &target) { value.into(target); }
void read(JsonReader value, const FigureUnit &, Topology &target) { value.into(target); }

void read(JsonReader value, const FigureUnit &, std::string &target) {
  if (value.value().isText() && value.value().text().empty())
    return value.failExpecting("a text");
  value.into(target);
}

void read(JsonReader value, const FigureUnit &unit, Peaks &target) {
  ArrayRef<StringLiteral> formats = enumNames(NumberFormat::Other).drop_back(); // without Other
  if (!value.expectKeys(SmallVector<StringRef>(formats)))
    return;
  if (value.value().members().empty())
    return value.fail("at least one number format is expected, such as {\"f32\": 19.5e12}");
  for (auto [index, name] : enumerate(formats))
    if (std::optional<JsonReader> peak = value.find(name))
      read(*peak, unit, target[static_cast<NumberFormat>(index)]);
}

void readPoint(JsonReader value, const FigureUnit &sizes, EfficiencyCurve &target) {
  if (!value.value().isList() || value.value().list().size() != 2)
    return value.failExpecting("a pair [" + sizes.name + ", fraction]");
  auto &[size, fraction] = target.points.emplace_back();
  bool isFraction = false;
  value.forEach([&](JsonReader part) {
    read(part, isFraction ? fractionUnit : sizes, isFraction ? fraction : size);
    isFraction = true;
  });
  if (value.hasFailed())
    return;
  if (target.points.size() > 1 && target.points.rbegin()[1].first >= size)
    value.fail("sizes must ascend (in " + sizes.name + ")");
  else if (!target.isMonotoneInTime())
    value.fail("the fraction rises so steeply that more work would take less time; points further apart in size or "
               "closer in fraction are expected");
}

void read(JsonReader value, const FigureUnit &sizes, EfficiencyCurve &target) {
  if (!value.value().isList() || value.value().list().empty())
    return value.failExpecting("a list of pairs [" + sizes.name + ", fraction]");
  EfficiencyCurve curve;
  value.forEach([&](JsonReader point) { readPoint(point, sizes, curve); });
  target = std::move(curve);
}

} // namespace

std::string shortText(double value) {
  constexpr double mostDigits = 1e7;
  if (value == std::floor(value) && std::abs(value) < mostDigits)
    return std::to_string(static_cast<int64_t>(value));
  std::string text;
  raw_string_ostream(text) << format("%g", value);
  return text;
}

template <typename Owner>
void readFigure(JsonReader value, const FigureRow<Owner> &row, Owner &owner) {
  std::visit([&](auto member) { read(value, row.unit, owner.*member); }, row.member);
}

template void readFigure(JsonReader, const FigureRow<Device> &, Device &);
template void readFigure(JsonReader, const FigureRow<Level> &, Level &);
template void readFigure(JsonReader, const FigureRow<Host> &, Host &);
template void readFigure(JsonReader, const FigureRow<Runtime> &, Runtime &);

SourcedFigure::SourcedFigure(JsonReader figure) : value(figure) {
  if (!figure.value().find("value") || !figure.expectKeys({"value", "source"}))
    return;
  value = figure.at("value");
  std::optional<JsonReader> origin = figure.find("source");
  if (origin && (!origin->value().isText() || origin->value().text().empty()))
    origin->fail("the name of a document is expected");
  else if (origin)
    origin->into(source);
}

} // namespace apc

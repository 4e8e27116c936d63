// Figures in, not in trust: every error names key, line and unit.
#include "FigureReader.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

using namespace llvm;
using nlohmann::json;

namespace apc {

namespace {

std::string dump(const json &value) { return value.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string listKeys(ArrayRef<StringLiteral> keys) {
  std::string list;
  for (StringRef key : keys)
    list += (list.empty() ? "" : ", ") + key.str();
  return list;
}

/// ", did you mean 'size'?" for a key that is at most a third off.
std::string suggestion(StringRef wrong, ArrayRef<StringLiteral> keys) {
  unsigned bestDistance = static_cast<unsigned>(wrong.size()) / 3 + 1;
  StringRef best;
  for (StringRef key : keys) {
    unsigned distance = wrong.edit_distance(key, true, bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = key;
    }
  }
  return best.empty() ? "" : formatv(", did you mean '{0}'?", best).str();
}

} // namespace

std::string quote(const json &value) {
  std::string text = dump(value);
  return text.size() > 40 ? text.substr(0, 37) + "..." : text;
}

std::string shortText(double value) {
  std::string text;
  raw_string_ostream(text) << format("%g", value);
  return text;
}

Error FigureReader::takeError() const {
  if (problem.empty())
    return Error::success();
  return inputError("{0}", problem);
}

void FigureReader::fail(const Place &place, const Twine &message) {
  if (hasFailed())
    return;
  problem = text.empty() ? formatv("{0}: {1}", source, message.str()).str()
                         : formatv("{0}:{1}: {2}: {3}", source, lineOfPath(text, place.path), pathText(place.path),
                                   message.str())
                               .str();
}

bool FigureReader::expectObject(const Place &place, KeyList keys) {
  if (!place.value->is_object()) {
    fail(place, formatv("an object with the keys {0} is expected, not {1}", listKeys(keys), quote(*place.value)).str());
    return false;
  }
  for (const auto &[key, value] : place.value->items())
    if (!is_contained(keys, StringRef(key))) {
      fail(place.member(key, value),
           formatv("unknown key{0} ({1} are known)", suggestion(key, keys), listKeys(keys)).str());
      return false;
    }
  return !hasFailed();
}

std::optional<std::string> FigureReader::sourceOf(const Place &place) {
  if (!place.value->is_object() || !place.value->contains("value"))
    return "";
  static constexpr StringLiteral keys[] = {"value", "source"};
  if (!expectObject(place, keys))
    return std::nullopt;
  auto origin = place.value->find("source");
  if (origin == place.value->end())
    return "";
  if (!origin->is_string() || origin->get_ref<const std::string &>().empty()) {
    fail(place.member("source", *origin), "the name of a document is expected");
    return std::nullopt;
  }
  return origin->get<std::string>();
}

std::optional<Place> FigureReader::figure(const Place &object, StringRef key, const char *what, bool required) {
  auto found = object.value->find(key.str());
  if (found == object.value->end()) {
    if (required)
      fail(object, formatv("'{0}' is missing ({1} expected)", key, what).str());
    return std::nullopt;
  }
  Place place = object.member(key, *found);
  std::optional<std::string> source = sourceOf(place);
  if (!source)
    return std::nullopt;
  bool isWrapped = found->is_object() && found->contains("value");
  Place inner = isWrapped ? place.member("value", (*found)["value"]) : place;
  // What stands at the root are names and the objects that hold the figures.
  if (!object.path.empty() && key != "name")
    given.push_back({place.path, dump(*inner.value), *source});
  return inner;
}

std::optional<double> FigureReader::number(const Place &place, const NumberRule &rule) {
  double value = place.value->is_number() ? place.value->get<double>() : -1;
  bool isWhole = !rule.integer || value == std::floor(value);
  // The comparison is written so that NaN fails it.
  if (!place.value->is_number() || !(value > 0 && value <= rule.maximum) || !isWhole) {
    fail(place,
         formatv("a {0} above 0 and at most {1} is expected, in {2}, not {3}", rule.integer ? "whole number" : "number",
                 shortText(rule.maximum), rule.unit, quote(*place.value))
             .str());
    return std::nullopt;
  }
  return value;
}

void FigureReader::readNumber(const Place &object, StringRef key, double &target, const NumberRule &rule,
                              bool required) {
  if (std::optional<Place> place = figure(object, key, rule.unit, required))
    if (std::optional<double> value = number(*place, rule))
      target = *value;
}

void FigureReader::readInteger(const Place &object, StringRef key, int64_t &target, const NumberRule &rule,
                               bool required) {
  if (std::optional<Place> place = figure(object, key, rule.unit, required))
    if (std::optional<double> value = number(*place, rule))
      target = static_cast<int64_t>(*value);
}

void FigureReader::readBool(const Place &object, StringRef key, bool &target) {
  std::optional<Place> place = figure(object, key, "true or false", false);
  if (!place)
    return;
  if (!place->value->is_boolean())
    return fail(*place, formatv("true or false is expected, not {0}", quote(*place->value)).str());
  target = place->value->get<bool>();
}

void FigureReader::readString(const Place &object, StringRef key, std::string &target, bool required) {
  std::optional<Place> place = figure(object, key, "a text", required);
  if (!place)
    return;
  if (!place->value->is_string() || place->value->get_ref<const std::string &>().empty())
    return fail(*place, formatv("a text is expected, not {0}", quote(*place->value)).str());
  target = place->value->get<std::string>();
}

} // namespace apc

// Types, ranges and keys of JSON values, and what is said where they are not met.
#include "apc/Support/Json/JsonReader.h"

#include "apc/Support/Json/JsonWriter.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace apc {

namespace {

/// Stands for members that are absent; a fault has been told before it is handed out.
const JsonValue absent;

/// ", did you mean 'size'?" for a key that is at most a third off.
std::string suggestion(llvm::StringRef wrong, llvm::ArrayRef<llvm::StringRef> keys) {
  unsigned bestDistance = static_cast<unsigned>(wrong.size()) / 3 + 1;
  llvm::StringRef best;
  for (llvm::StringRef key : keys) {
    unsigned distance = wrong.edit_distance(key, /*AllowReplacements=*/true, bestDistance);
    if (distance < bestDistance) {
      bestDistance = distance;
      best = key;
    }
  }
  return best.empty() ? "" : (", did you mean '" + best + "'?").str();
}

/// {"a", "b", "c"} -> "a, b or c"
std::string alternatives(llvm::ArrayRef<llvm::StringLiteral> names) {
  std::string text;
  for (auto [index, name] : llvm::enumerate(names))
    text += (index == 0 ? "" : index + 1 == names.size() ? " or " : ", ") + name.str();
  return text;
}

/// The value as a whole number of 64 bits with a sign; also when it is written as 8e9.
std::optional<int64_t> wholeNumber(const JsonValue &value) {
  if (value.kind() == JsonValue::Kind::Integer)
    return value.integer();
  if (value.kind() == JsonValue::Kind::Unsigned && std::in_range<int64_t>(value.unsignedInteger()))
    return static_cast<int64_t>(value.unsignedInteger());
  if (value.kind() != JsonValue::Kind::Real)
    return std::nullopt;
  double number = value.number();
  bool fits = number == std::floor(number) && number >= -0x1p63 && number < 0x1p63;
  return fits ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
}

} // namespace

std::string JsonReader::quote() const {
  constexpr size_t shown = 40;
  std::string text = printJson(*place, 0);
  return text.size() > shown ? text.substr(0, shown - 3) + "..." : text;
}

void JsonReader::failExpecting(const llvm::Twine &expected) const { fail(expected + " is expected, not " + quote()); }

std::optional<JsonReader> JsonReader::find(llvm::StringRef key) const {
  if (!place->isObject()) {
    failExpecting("an object");
    return std::nullopt;
  }
  const JsonValue *member = place->find(key);
  return member ? std::optional(JsonReader(*document, *member)) : std::nullopt;
}

JsonReader JsonReader::at(llvm::StringRef key) const {
  std::optional<JsonReader> member = find(key);
  if (!member)
    fail("'" + key + "' is missing");
  return member.value_or(JsonReader(*document, absent));
}

void JsonReader::forEach(llvm::function_ref<void(JsonReader)> read) const {
  if (hasFailed())
    return;
  if (!place->isList())
    return failExpecting("a list");
  for (const JsonValue &item : place->list()) {
    if (hasFailed())
      return;
    read({*document, item});
  }
}

void JsonReader::forEachMember(llvm::function_ref<void(llvm::StringRef, JsonReader)> read) const {
  if (hasFailed())
    return;
  if (!place->isObject())
    return failExpecting("an object");
  for (const JsonMember &member : place->members()) {
    if (hasFailed())
      return;
    read(member.key, {*document, member.value});
  }
}

void JsonReader::object(llvm::function_ref<void(JsonObjectReader &)> read) const {
  if (hasFailed())
    return;
  JsonObjectReader visitor(*this);
  read(visitor);
  visitor.finish();
}

bool JsonReader::expectKeys(llvm::ArrayRef<llvm::StringRef> accepted) const {
  if (!place->isObject()) {
    failExpecting("an object with the keys " + llvm::join(accepted, ", "));
    return false;
  }
  for (const JsonMember &member : place->members())
    if (!llvm::is_contained(accepted, llvm::StringRef(member.key))) {
      document->fail(member.value, "unknown key" + suggestion(member.key, accepted) + " (" +
                                       llvm::join(accepted, ", ") + " are known)");
      return false;
    }
  return !hasFailed();
}

std::optional<int64_t> JsonReader::integerWithin(int64_t least, int64_t most) const {
  std::optional<int64_t> number = wholeNumber(*place);
  if (number && *number >= least && *number <= most)
    return hasFailed() ? std::nullopt : number;
  failExpecting("a whole number from " + llvm::Twine(least) + " to " + llvm::Twine(most));
  return std::nullopt;
}

void JsonReader::readUnsigned64(uint64_t &target) const {
  if (place->kind() == JsonValue::Kind::Unsigned)
    target = place->unsignedInteger();
  else if (std::optional<int64_t> number = wholeNumber(*place); number && *number >= 0)
    target = static_cast<uint64_t>(*number);
  else
    failExpecting("a whole number from 0 to " + llvm::Twine(std::numeric_limits<uint64_t>::max()));
}

void JsonReader::readBool(bool &target) const {
  if (place->kind() != JsonValue::Kind::Bool)
    return failExpecting("true or false");
  target = place->boolean();
}

void JsonReader::readNumber(double &target) const {
  if (!place->isNumber())
    return failExpecting("a number");
  target = place->number();
}

void JsonReader::readText(std::string &target) const {
  if (!place->isText())
    return failExpecting("a text");
  target = place->text();
}

std::optional<size_t> JsonReader::indexAmong(llvm::ArrayRef<llvm::StringLiteral> names) const {
  if (place->isText())
    for (auto [index, name] : llvm::enumerate(names))
      if (name == place->text())
        return index;
  failExpecting(alternatives(names));
  return std::nullopt;
}

std::optional<JsonReader> JsonObjectReader::find(llvm::StringRef key) {
  known.push_back(key);
  return hasFailed() || !object.value().isObject() ? std::nullopt : object.find(key);
}

std::optional<JsonReader> JsonObjectReader::required(llvm::StringRef key) {
  std::optional<JsonReader> member = find(key);
  if (!member && missing.empty())
    missing = key;
  return member;
}

void JsonObjectReader::finish() {
  if (!hasFailed() && object.expectKeys(known) && !missing.empty())
    object.fail("'" + missing + "' is missing");
}

} // namespace apc

// Parses JSON and says in our words what is wrong with it.
#include "JsonDocument.h"

#include "JsonLines.h"
#include "apc/Support/Error.h"
#include "apc/Support/JsonText.h"

using namespace llvm;
using nlohmann::json;

namespace apc {

namespace {

/// The number that nlohmann could not hold, from its message: "number overflow parsing '1e999'".
size_t offsetOfOverflow(StringRef text, StringRef message) {
  StringRef number = message.rsplit(" '").second.rtrim('\'');
  size_t offset = number.empty() ? StringRef::npos : text.find(number);
  return offset == StringRef::npos ? 0 : offset;
}

} // namespace

Expected<json> parseJson(StringRef text, StringRef source) {
  try {
    json document = json::parse(text.begin(), text.end());
    if (std::optional<size_t> repeated = offsetOfRepeatedKey(text))
      return inputError("{0}:{1}: key {2} is given twice in one object", source, lineOfOffset(text, *repeated),
                        text.substr(*repeated).take_until([](char c) { return c == ':'; }).rtrim());
    if (std::optional<size_t> deep = offsetOfDepth(text, maxJsonDepth))
      return inputError("{0}:{1}: brackets are nested more than {2} deep", source, lineOfOffset(text, *deep),
                        maxJsonDepth);
    return document;
  } catch (const json::parse_error &error) {
    return inputError("{0}:{1}: this is not JSON: {2}", source, lineOfOffset(text, error.byte),
                      jsonSyntaxProblem(text, error.byte));
  } catch (const json::exception &error) {
    return inputError("{0}:{1}: a number is too large; at most 1.79e308 is accepted", source,
                      lineOfOffset(text, offsetOfOverflow(text, error.what())));
  }
}

} // namespace apc

// JSON as it was read: values in the order of the text, each with the line on which it stands.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace apc {

struct JsonMember;

/// One value of a document. `{"a": [1, 2.5]}` is an object of one member, a list of an `Unsigned` and a `Real`.
class JsonValue {
public:
  /// Numbers without point and exponent are `Unsigned`, below 0 `Integer`; all others, and those too large for 64 bits,
  /// are `Real` and finite.
  enum class Kind : uint8_t { Null, Bool, Integer, Unsigned, Real, Text, List, Object };

  Kind kind() const { return static_cast<Kind>(content.index()); }
  bool isNull() const { return kind() == Kind::Null; }
  bool isNumber() const { return kind() == Kind::Integer || kind() == Kind::Unsigned || kind() == Kind::Real; }
  bool isText() const { return kind() == Kind::Text; }
  bool isList() const { return kind() == Kind::List; }
  bool isObject() const { return kind() == Kind::Object; }

  /// The content; the value must be of that kind.
  bool boolean() const { return std::get<bool>(content); }
  int64_t integer() const { return std::get<int64_t>(content); }
  uint64_t unsignedInteger() const { return std::get<uint64_t>(content); }
  const std::string &text() const { return std::get<std::string>(content); }
  llvm::ArrayRef<JsonValue> list() const { return std::get<std::vector<JsonValue>>(content); }
  llvm::ArrayRef<JsonMember> members() const;
  /// Of a number of any kind.
  double number() const;

  /// The member `key` of an object; null where it has none or the value is no object.
  const JsonValue *find(llvm::StringRef key) const;

  /// Counted from 1; a member's value has the line of its key.
  unsigned line = 1;
  std::variant<std::monostate, bool, int64_t, uint64_t, double, std::string, std::vector<JsonValue>,
               std::vector<JsonMember>>
      content;
};

/// A key of an object and its value.
struct JsonMember {
  std::string key;
  JsonValue value;
};

/// The most brackets inside each other. Readers and printers recurse.
constexpr unsigned maxJsonDepth = 16;

class JsonReader;

/// A document with the name that its faults are told under, and the first fault that a reader found.
///
///   llvm::Expected<JsonDocument> document = JsonDocument::parse("{\"size\": 4}", "my.json");
///   int64_t size = document->root().at("size").get<int64_t>();
///   if (llvm::Error error = document->takeError()) ...     "my.json:1: size: ..."
class JsonDocument {
public:
  /// Errors (input) are "source:line: ..." and tell of: text that is no JSON, numbers beyond 1.79e308, a key that its
  /// object already has, brackets inside more than `maxJsonDepth` others.
  static llvm::Expected<JsonDocument> parse(llvm::StringRef text, llvm::StringRef source);

  /// A value that the program made; its faults are told as "source: message".
  static JsonDocument made(JsonValue value, llvm::StringRef source) { return {std::move(value), source, false}; }

  const JsonValue &getRoot() const { return *value; }
  JsonReader root() const;

  /// Keeps the fault "source:line: levels[0].size: message" if it is the first.
  void fail(const JsonValue &place, const llvm::Twine &message) const;
  bool hasFailed() const { return !state->fault.empty(); }
  /// The first fault, as an input error; success when there is none.
  llvm::Error takeError() const;

  /// "levels[0].size"; "document" for the root.
  std::string pathOf(const JsonValue &place) const;

private:
  struct State {
    std::string source;
    bool hasLines;
    std::string fault = {};
  };
  JsonDocument(JsonValue value, llvm::StringRef source, bool hasLines)
      : value(std::make_unique<JsonValue>(std::move(value))),
        state(std::make_unique<State>(State{source.str(), hasLines})) {}

  std::unique_ptr<JsonValue> value; ///< stays where it is when the document moves
  std::unique_ptr<State> state;
};

} // namespace apc

// Writes JSON in the order of the calls.
#pragma once

#include "apc/Support/Json/JsonReader.h"

#include <string>

namespace apc {

class JsonObjectWriter;

/// Grows the text of one document. Numbers are as short as they can be and read back the same; numbers that are not
/// finite are null; bytes that are no UTF-8 become the replacement character.
///
///   JsonWriter json;
///   json.object([&](JsonObjectWriter &object) {
///     object("name", "node");
///     object.list("sizes", [&] { json.value(4); json.oneLine([&] { json.value(std::vector{1.5, 2.0}); }); });
///   });
///   json.take()      {
///                      "name": "node",
///                      "sizes": [
///                        4,
///                        [1.5,2.0]
///                      ]
///                    }
class JsonWriter {
public:
  /// Blanks for each level of nesting; 0 writes the document in one line.
  explicit JsonWriter(unsigned indent = 2) : indent(indent) {}

  /// Writes what `JsonReader::into` reads, views of texts and lists (llvm::StringRef, llvm::ArrayRef), nullptr and
  /// values of other documents.
  template <typename T>
  void value(const T &item);
  void object(llvm::function_ref<void(JsonObjectWriter &)> write);
  /// `write` calls `value`, `object` and `list` for each item.
  void list(llvm::function_ref<void()> write);
  /// The value that `write` writes stands in one line, without blanks.
  void oneLine(llvm::function_ref<void()> write);

  /// The document, without a line end.
  std::string take() { return std::move(text); }

private:
  friend class JsonObjectWriter;
  void key(llvm::StringRef name);
  void begin();
  void enclose(char open, char close, llvm::function_ref<void()> write);
  void lineBreak();
  void writeNull();
  void writeBool(bool item);
  void writeSigned(int64_t item);
  void writeUnsigned(uint64_t item);
  void writeReal(double item);
  void writeText(llvm::StringRef item);
  void writeValue(const JsonValue &item);

  std::string text;
  unsigned indent;
  unsigned depth = 0;
  unsigned inOneLine = 0;
  bool isFirst = true; ///< of its list or object
  bool hasKey = false; ///< the next value belongs to a key that is written
};

/// Writes the members of one object; what `fields` visits.
class JsonObjectWriter {
public:
  explicit JsonObjectWriter(JsonWriter &json) : json(json) {}

  template <typename T>
  void operator()(llvm::StringRef key, const T &member, llvm::StringRef = {}) {
    json.key(key);
    json.value(member);
  }
  /// Readers let the member be absent; here it is written like all others.
  template <typename T>
  void optional(llvm::StringRef key, const T &member, llvm::StringRef = {}) {
    (*this)(key, member);
  }
  void object(llvm::StringRef key, llvm::function_ref<void(JsonObjectWriter &)> write);
  void list(llvm::StringRef key, llvm::function_ref<void()> write);
  /// The key; its value is written next, by `JsonWriter`.
  void key(llvm::StringRef name) { json.key(name); }

private:
  JsonWriter &json;
};

/// `item` as a document.
template <typename T>
std::string printJson(const T &item, unsigned indent = 2) {
  JsonWriter json(indent);
  json.value(item);
  return json.take();
}

template <typename T>
void JsonWriter::value(const T &item) {
  if constexpr (std::same_as<T, bool>) {
    writeBool(item);
  } else if constexpr (std::same_as<T, JsonValue>) {
    writeValue(item);
  } else if constexpr (std::signed_integral<T>) {
    writeSigned(item);
  } else if constexpr (std::unsigned_integral<T>) {
    writeUnsigned(item);
  } else if constexpr (std::floating_point<T>) {
    writeReal(item);
  } else if constexpr (std::same_as<T, std::nullptr_t>) {
    writeNull();
  } else if constexpr (std::convertible_to<const T &, llvm::StringRef>) {
    writeText(item);
  } else if constexpr (HasEnumNames<T>) {
    writeText(enumNames(item)[static_cast<size_t>(item)]);
  } else if constexpr (json_detail::isOptional<T>) {
    item ? value(*item) : writeNull();
  } else if constexpr (HasFields<T, JsonObjectWriter>) {
    // One function serves readers and writers; a writer leaves the struct as it is.
    object([&](JsonObjectWriter &visit) { fields(visit, const_cast<T &>(item)); });
  } else if constexpr (json_detail::KeyedByText<T>) {
    object([&](JsonObjectWriter &visit) {
      for (const auto &[key, member] : item)
        visit(key, member);
    });
  } else {
    list([&] {
      for (const auto &entry : item)
        value(entry);
    });
  }
}

} // namespace apc

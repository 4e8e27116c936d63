// Reads values of the expected types out of a JSON document. The first fault is kept; after it, every read leaves its
// target alone.
#pragma once

#include "apc/Support/Json/JsonDocument.h"

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

namespace apc {

class JsonObjectReader;
class JsonReader;

/// A struct whose members one function walks, for readers and writers alike; the third argument describes the member:
///
///   struct Axis { std::string name; int64_t size = 1; };
///   template <typename Visitor>
///   void fields(Visitor &visit, Axis &axis) {
///     visit("name", axis.name);
///     visit.optional("size", axis.size, "devices along the axis");
///   }
///   Axis axis = document.root().get<Axis>();      {"name": "node", "size": 8}
template <typename T, typename Visitor>
concept HasFields = std::is_class_v<T> && requires(Visitor &visitor, T &value) { fields(visitor, value); };

/// An enum whose names one function lists in the order of its values, from 0:
///   llvm::ArrayRef<llvm::StringLiteral> enumNames(Topology);      {"switch", "mesh", "torus"}
template <typename T>
concept HasEnumNames = std::is_enum_v<T> && requires(T value) {
  { enumNames(value) } -> std::convertible_to<llvm::ArrayRef<llvm::StringLiteral>>;
};

/// A type with a form of its own beside it: `void readJson(JsonReader reader, T &target)`, which tells faults by
/// `reader.fail`, and `void writeJson(JsonWriter &json, const T &item)`.
template <typename T>
concept HasReadJson = std::is_class_v<T> && requires(JsonReader reader, T &target) { readJson(reader, target); };

/// A value of the document, as its reader sees it: {"levels": [{"size": 4}]}
///   reader.at("levels").forEach([&](JsonReader level) { level.at("size").into(size); });
///   my.json:1: levels[0].size: a whole number from 1 to 8 is expected, not 9
class JsonReader {
public:
  JsonReader(const JsonDocument &document, const JsonValue &place) : document(&document), place(&place) {}

  const JsonValue &value() const { return *place; }
  bool isNull() const { return place->isNull(); }

  /// The member `key`; a fault where there is none.
  JsonReader at(llvm::StringRef key) const;
  /// The member `key`, if there is one; a fault where this is no object.
  std::optional<JsonReader> find(llvm::StringRef key) const;

  /// Reads bool, integers, double, std::string, enums with names, structs with fields, and of these: std::optional
  /// (null is none), std::vector, llvm::SmallVector and std::map with keys of std::string. Integers may be written as
  /// 4.0 or 8e9.
  template <typename T>
  void into(T &target) const;
  template <typename T>
  T get() const {
    T target{};
    into(target);
    return target;
  }
  /// A whole number from `least` to `most`.
  template <std::integral T>
  void intoWithin(T &target, T least, T most) const {
    if (std::optional<int64_t> number = integerWithin(least, clampToSigned(most)))
      target = static_cast<T>(*number);
  }

  /// Calls `read` with each item of a list until one of them fails.
  void forEach(llvm::function_ref<void(JsonReader)> read) const;
  /// Calls `read` with each member of an object until one of them fails.
  void forEachMember(llvm::function_ref<void(llvm::StringRef, JsonReader)> read) const;
  /// Calls `read` once with a visitor for the members; afterwards keys that it did not name are refused.
  void object(llvm::function_ref<void(JsonObjectReader &)> read) const;
  /// Refuses what is no object and members other than `accepted`.
  bool expectKeys(llvm::ArrayRef<llvm::StringRef> accepted) const;

  void fail(const llvm::Twine &message) const { document->fail(*place, message); }
  /// The value's text for a message, at most 40 characters.
  std::string quote() const;
  /// "`expected` is expected, not 4.5".
  void failExpecting(const llvm::Twine &expected) const;
  bool hasFailed() const { return document->hasFailed(); }

private:
  static constexpr int64_t clampToSigned(auto value) {
    return std::in_range<int64_t>(value) ? static_cast<int64_t>(value) : std::numeric_limits<int64_t>::max();
  }
  /// The number, if it is whole and inside the range; else a fault.
  std::optional<int64_t> integerWithin(int64_t least, int64_t most) const;
  void readUnsigned64(uint64_t &target) const;
  void readBool(bool &target) const;
  void readNumber(double &target) const;
  void readText(std::string &target) const;
  std::optional<size_t> indexAmong(llvm::ArrayRef<llvm::StringLiteral> names) const;

  const JsonDocument *document;
  const JsonValue *place;
};

/// Visits the members of one object.
class JsonObjectReader {
public:
  explicit JsonObjectReader(JsonReader object) : object(object) {}

  /// A member that must be there. Its description is for other visitors.
  template <typename T>
  void operator()(llvm::StringRef key, T &member, llvm::StringRef = {}) {
    if (std::optional<JsonReader> found = required(key))
      found->into(member);
  }
  /// A member that may be absent, which leaves `member` as it is.
  template <typename T>
  void optional(llvm::StringRef key, T &member, llvm::StringRef = {}) {
    if (std::optional<JsonReader> found = find(key))
      found->into(member);
  }
  /// The member, for values that need a reader of their own; its absence is told when all members are known.
  std::optional<JsonReader> required(llvm::StringRef key);
  std::optional<JsonReader> find(llvm::StringRef key);
  bool hasFailed() const { return object.hasFailed(); }

private:
  friend class JsonReader;
  /// Refuses keys that were not asked for, then tells what is missing.
  void finish();

  JsonReader object;
  llvm::SmallVector<llvm::StringRef, 8> known;
  llvm::StringRef missing;
};

namespace json_detail {

template <typename T>
concept Appendable = requires(T &list, typename T::value_type item) { list.push_back(std::move(item)); };
template <typename T>
concept KeyedByText = std::same_as<typename T::key_type, std::string> && requires { typename T::mapped_type; };
template <typename T>
constexpr bool isOptional = false;
template <typename T>
constexpr bool isOptional<std::optional<T>> = true;

} // namespace json_detail

template <typename T>
void JsonReader::into(T &target) const {
  if (hasFailed())
    return;
  if constexpr (std::same_as<T, bool>) {
    readBool(target);
  } else if constexpr (std::same_as<T, uint64_t>) {
    readUnsigned64(target);
  } else if constexpr (std::integral<T>) {
    intoWithin(target, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  } else if constexpr (std::same_as<T, double>) {
    readNumber(target);
  } else if constexpr (std::same_as<T, std::string>) {
    readText(target);
  } else if constexpr (HasEnumNames<T>) {
    if (std::optional<size_t> index = indexAmong(enumNames(T{})))
      target = static_cast<T>(*index);
  } else if constexpr (HasReadJson<T>) {
    readJson(*this, target);
  } else if constexpr (json_detail::isOptional<T>) {
    if (isNull())
      target.reset();
    else
      into(target.emplace());
  } else if constexpr (HasFields<T, JsonObjectReader>) {
    object([&](JsonObjectReader &visit) { fields(visit, target); });
  } else if constexpr (json_detail::KeyedByText<T>) {
    target.clear();
    forEachMember([&](llvm::StringRef key, JsonReader member) { member.into(target[key.str()]); });
  } else {
    static_assert(json_detail::Appendable<T>, "this type needs a function `fields` beside it");
    target.clear();
    forEach([&](JsonReader item) { target.push_back(item.get<typename T::value_type>()); });
  }
}

} // namespace apc

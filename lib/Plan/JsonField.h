// Reads values of the expected types out of a JSON document. Knows no plan.
#pragma once

#include "OrderedJson.h"

#include "llvm/ADT/StringRef.h"

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace apc {

/// A value of the document and where it stands, "choices[3].seconds". Converts to what is expected there; what is not
/// it, or is absent, reads as empty, and `problem` keeps the first such fault.
class JsonField {
public:
  JsonField(const OrderedJson &json, std::string place, std::string &problem)
      : json(json), place(std::move(place)), problem(problem) {}

  JsonField at(llvm::StringRef key) const {
    static const OrderedJson absent;
    auto found = json.find(key);
    std::string inner = place.empty() ? key.str() : place + "." + key.str();
    if (found == json.end())
      report("key '" + inner + "' is missing");
    return {found == json.end() ? absent : *found, std::move(inner), problem};
  }
  bool contains(llvm::StringRef key) const { return json.contains(key); }
  bool isNull() const { return json.is_null(); }

  template <typename T>
  operator T() const {
    T value{};
    read(value);
    return value;
  }
  template <typename T>
  void into(T &value) const {
    read(value);
  }
  /// Calls `visit` with each item of a list.
  template <typename F>
  void forEach(F visit) const {
    if (!json.is_array())
      return expect("a list");
    for (size_t index = 0; index < json.size(); ++index)
      visit(JsonField(json[index], place + "[" + std::to_string(index) + "]", problem));
  }

private:
  void report(std::string text) const {
    if (problem.empty())
      problem = std::move(text);
  }
  void expect(llvm::StringRef expected) const {
    constexpr size_t shown = 40;
    std::string found = json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
    if (found.size() > shown)
      found = found.substr(0, shown) + "...";
    report("key '" + place + "' must be " + expected.str() + ", not " + found);
  }

  void read(std::string &text) const { json.is_string() ? json.get_to(text) : (expect("a text"), text); }
  void read(bool &flag) const { json.is_boolean() ? json.get_to(flag) : (expect("true or false"), flag); }
  void read(double &number) const { json.is_number() ? json.get_to(number) : (expect("a number"), number); }
  template <std::integral T>
  void read(T &number) const {
    bool fits = json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>())
                                          : json.is_number_integer() && std::in_range<T>(json.get<int64_t>());
    if (!fits)
      return expect("a whole number from " + std::to_string(std::numeric_limits<T>::min()) + " to " +
                    std::to_string(std::numeric_limits<T>::max()));
    json.get_to(number);
  }
  template <typename T>
  void read(std::vector<T> &list) const {
    forEach([&](const JsonField &item) { item.into(list.emplace_back()); });
  }
  template <typename T>
  void read(std::map<std::string, T> &map) const {
    if (!json.is_object())
      return expect("an object");
    for (const auto &item : json.items())
      JsonField(item.value(), place + "." + item.key(), problem).into(map[item.key()]);
  }

  const OrderedJson &json;
  std::string place;
  std::string &problem;
};

template <typename T>
std::optional<T> readOptional(const JsonField &json) {
  return json.isNull() ? std::nullopt : std::optional<T>(static_cast<T>(json));
}

template <typename T, typename F>
std::vector<T> readList(const JsonField &json, F read) {
  std::vector<T> list;
  json.forEach([&](const JsonField &item) { list.push_back(read(item)); });
  return list;
}

} // namespace apc

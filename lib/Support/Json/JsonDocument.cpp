// From text to a tree of values with lines. nlohmann::json reads the text; its faults are told in our words.
#include "apc/Support/Json/JsonDocument.h"

#include "apc/Support/Error.h"
#include "apc/Support/Json/JsonReader.h"
#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/JsonText.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/Twine.h"

#include <nlohmann/json.hpp>

#include <cassert>
#include <iterator>

namespace apc {

namespace {

/// A pointer into the text that notes the last character that was read.
struct NotingIterator {
  using iterator_category = std::forward_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char *;
  using reference = const char &;

  reference operator*() const {
    *lastRead = at;
    return *at;
  }
  NotingIterator &operator++() {
    ++at;
    return *this;
  }
  bool operator==(const NotingIterator &other) const { return at == other.at; }
  bool operator!=(const NotingIterator &other) const { return at != other.at; }

  const char *at;
  const char **lastRead;
};

/// Builds the tree from the events of nlohmann's parser; false ends the parse.
class TreeBuilder {
public:
  using Json = nlohmann::json;

  TreeBuilder(llvm::StringRef text, llvm::StringRef source)
      : text(text), source(source), lastRead(text.begin()), counted(text.begin()) {}

  llvm::Expected<JsonValue> build() {
    if (!Json::sax_parse(NotingIterator{text.begin(), &lastRead}, NotingIterator{text.end(), &lastRead}, this))
      return inputError("{0}", fault);
    return std::move(root);
  }

  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) { return add(value); }
  bool number_float(double value, const std::string &) { return add(value); }
  bool string(std::string &value) { return add(std::move(value)); }
  bool binary(Json::binary_t &) { llvm_unreachable("JSON text has no binary values"); }
  bool start_array(size_t) { return open(std::vector<JsonValue>()); }
  bool end_array() { return close(); }
  bool start_object(size_t) { return open(std::vector<JsonMember>()); }
  bool end_object() { return close(); }

  bool key(std::string &name) {
    if (!keys[opened.size() - 1].insert(name).second)
      return fail(line(), "key " + printJson(name) + " is given twice in one object");
    auto &members = std::get<std::vector<JsonMember>>(opened.back()->content);
    members.push_back({std::move(name), {}});
    members.back().value.line = line();
    return true;
  }

  bool parse_error(size_t position, const std::string &, const Json::exception &error) {
    constexpr int overflow = 406;
    if (error.id == overflow)
      return fail(line(), "a number is too large; at most 1.79e308 is accepted");
    return fail(lineOfOffset(text, position), "this is not JSON: " + jsonSyntaxProblem(text, position));
  }

private:
  bool fail(size_t line, llvm::StringRef message) {
    fault = llvm::formatv("{0}:{1}: {2}", source, line, message).str();
    return false;
  }

  /// Of the last character that was read. The parser looks one character ahead at most, behind numbers: a line end
  /// there is not counted yet.
  unsigned line() {
    for (; counted < lastRead; ++counted)
      lines += *counted == '\n';
    return lines;
  }

  JsonValue &place() {
    if (opened.empty())
      return root;
    JsonValue &parent = *opened.back();
    return parent.isList() ? std::get<std::vector<JsonValue>>(parent.content).emplace_back()
                           : std::get<std::vector<JsonMember>>(parent.content).back().value;
  }

  bool add(decltype(JsonValue::content) content) {
    JsonValue &value = place();
    if (opened.empty() || opened.back()->isList())
      value.line = line();
    value.content = std::move(content);
    return true;
  }

  bool open(decltype(JsonValue::content) content) {
    if (opened.size() >= maxJsonDepth)
      return fail(line(), llvm::formatv("brackets are nested more than {0} deep", maxJsonDepth).str());
    JsonValue &value = place();
    if (opened.empty() || opened.back()->isList())
      value.line = line();
    value.content = std::move(content);
    opened.push_back(&value);
    keys.resize(std::max(keys.size(), opened.size()));
    keys[opened.size() - 1].clear();
    return true;
  }

  bool close() {
    opened.pop_back();
    return true;
  }

  llvm::StringRef text, source;
  const char *lastRead, *counted;
  unsigned lines = 1;
  JsonValue root;
  /// From the root inwards. A value stays where it is while it is open: only its own content grows.
  llvm::SmallVector<JsonValue *, maxJsonDepth> opened;
  std::vector<llvm::StringSet<>> keys; ///< of the open objects
  std::string fault;
};

/// The path from `value` to `place`, behind `path`; false where there is none.
bool findPath(const JsonValue &value, const JsonValue &place, std::string &path) {
  if (&value == &place)
    return true;
  size_t length = path.size();
  if (value.isList())
    for (auto [index, item] : llvm::enumerate(value.list())) {
      path += "[" + std::to_string(index) + "]";
      if (findPath(item, place, path))
        return true;
      path.resize(length);
    }
  if (value.isObject())
    for (const JsonMember &member : value.members()) {
      path += (length ? "." : "") + member.key;
      if (findPath(member.value, place, path))
        return true;
      path.resize(length);
    }
  return false;
}

} // namespace

llvm::ArrayRef<JsonMember> JsonValue::members() const { return std::get<std::vector<JsonMember>>(content); }

double JsonValue::number() const {
  if (kind() == Kind::Integer)
    return static_cast<double>(integer());
  return kind() == Kind::Unsigned ? static_cast<double>(unsignedInteger()) : std::get<double>(content);
}

const JsonValue *JsonValue::find(llvm::StringRef key) const {
  if (isObject())
    for (const JsonMember &member : members())
      if (member.key == key)
        return &member.value;
  return nullptr;
}

llvm::Expected<JsonDocument> JsonDocument::parse(llvm::StringRef text, llvm::StringRef source) {
  llvm::Expected<JsonValue> value = TreeBuilder(text, source).build();
  if (!value)
    return value.takeError();
  return JsonDocument(std::move(*value), source, /*hasLines=*/true);
}

JsonReader JsonDocument::root() const { return {*this, *value}; }

std::string JsonDocument::pathOf(const JsonValue &place) const {
  std::string path;
  [[maybe_unused]] bool found = findPath(*value, place, path);
  assert(found && "the place belongs to another document");
  return path.empty() ? "document" : path;
}

void JsonDocument::fail(const JsonValue &place, const llvm::Twine &message) const {
  if (hasFailed())
    return;
  std::string where = state->hasLines ? llvm::formatv(":{0}: {1}", place.line, pathOf(place)).str() : "";
  state->fault = state->source + where + ": " + message.str();
}

llvm::Error JsonDocument::takeError() const {
  return hasFailed() ? inputError("{0}", state->fault) : llvm::Error::success();
}

} // namespace apc

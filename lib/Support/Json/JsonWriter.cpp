// JSON text: punctuation and indentation here, numbers and texts by nlohmann::json.
#include "apc/Support/Json/JsonWriter.h"

#include <nlohmann/json.hpp>

namespace apc {

namespace {

std::string quoted(llvm::StringRef text) {
  bool isPlain = llvm::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; });
  if (isPlain)
    return ("\"" + text + "\"").str();
  using Json = nlohmann::json;
  return Json(text.str()).dump(-1, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

} // namespace

void JsonWriter::lineBreak() {
  if (inOneLine || indent == 0)
    return;
  text += '\n';
  text.append(size_t(indent) * depth, ' ');
}

void JsonWriter::begin() {
  if (hasKey) {
    hasKey = false;
    return;
  }
  if (depth == 0)
    return;
  if (!isFirst)
    text += ',';
  isFirst = false;
  lineBreak();
}

void JsonWriter::key(llvm::StringRef name) {
  begin();
  text += quoted(name);
  text += inOneLine || indent == 0 ? ":" : ": ";
  hasKey = true;
}

void JsonWriter::enclose(char open, char close, llvm::function_ref<void()> write) {
  begin();
  text += open;
  ++depth;
  isFirst = true;
  write();
  --depth;
  if (!isFirst)
    lineBreak();
  isFirst = false;
  text += close;
}

void JsonWriter::object(llvm::function_ref<void(JsonObjectWriter &)> write) {
  enclose('{', '}', [&] {
    JsonObjectWriter visitor(*this);
    write(visitor);
  });
}

void JsonWriter::list(llvm::function_ref<void()> write) { enclose('[', ']', write); }

void JsonWriter::oneLine(llvm::function_ref<void()> write) {
  if (!hasKey)
    begin();
  hasKey = true; // the place of the value is ready
  ++inOneLine;
  write();
  --inOneLine;
}

void JsonWriter::writeNull() {
  begin();
  text += "null";
}

void JsonWriter::writeBool(bool item) {
  begin();
  text += item ? "true" : "false";
}

void JsonWriter::writeSigned(int64_t item) {
  begin();
  text += std::to_string(item);
}

void JsonWriter::writeUnsigned(uint64_t item) {
  begin();
  text += std::to_string(item);
}

void JsonWriter::writeReal(double item) {
  begin();
  text += nlohmann::json(item).dump();
}

void JsonWriter::writeText(llvm::StringRef item) {
  begin();
  text += quoted(item);
}

void JsonWriter::writeValue(const JsonValue &item) {
  switch (item.kind()) {
  case JsonValue::Kind::Null:
    return writeNull();
  case JsonValue::Kind::Bool:
    return writeBool(item.boolean());
  case JsonValue::Kind::Integer:
    return writeSigned(item.integer());
  case JsonValue::Kind::Unsigned:
    return writeUnsigned(item.unsignedInteger());
  case JsonValue::Kind::Real:
    return writeReal(item.number());
  case JsonValue::Kind::Text:
    return writeText(item.text());
  case JsonValue::Kind::List:
    return list([&] {
      for (const JsonValue &entry : item.list())
        writeValue(entry);
    });
  case JsonValue::Kind::Object:
    return object([&](JsonObjectWriter &visit) {
      for (const JsonMember &member : item.members())
        visit(member.key, member.value);
    });
  }
}

void JsonObjectWriter::object(llvm::StringRef key, llvm::function_ref<void(JsonObjectWriter &)> write) {
  json.key(key);
  json.object(write);
}

void JsonObjectWriter::list(llvm::StringRef key, llvm::function_ref<void()> write) {
  json.key(key);
  json.list(write);
}

} // namespace apc

// The JSON Schema of plan.json, from the same fields that are written and read.
#include "apc/Plan/PlanSchema.h"

#include "PlanFields.h"

#include "apc/Plan/Settings.h"

namespace apc {

namespace {

template <typename T>
void writeSchema(JsonWriter &json, const Described &described, bool isNullable = false);

/// Visits the members of a struct: each is a property of its schema.
class SchemaVisitor {
public:
  explicit SchemaVisitor(JsonWriter &json, JsonObjectWriter &properties) : json(json), properties(properties) {}

  template <typename T>
  void operator()(llvm::StringRef key, T &member, const Described &described) {
    required.push_back(key.str());
    optional(key, member, described);
  }
  template <typename T>
  void optional(llvm::StringRef key, T &, const Described &described) {
    properties.key(key);
    writeSchema<T>(json, described);
  }

  std::vector<std::string> required;

private:
  JsonWriter &json;
  JsonObjectWriter &properties;
};

void writeType(JsonObjectWriter &schema, llvm::StringRef type, bool isNullable) {
  if (isNullable)
    schema("type", std::vector<std::string>{type.str(), "null"});
  else
    schema("type", type);
}

void writeLimits(JsonObjectWriter &schema, std::optional<double> least, std::optional<double> most) {
  auto write = [&](llvm::StringRef key, double limit) {
    schema(key, static_cast<int64_t>(limit)); // all limits are whole
  };
  if (least)
    write("minimum", *least);
  if (most)
    write("maximum", *most);
}

/// An object whose properties `visit` names to the visitor that it is given.
void writeObject(JsonWriter &json, JsonObjectWriter &schema, bool isNullable,
                 llvm::function_ref<void(SchemaVisitor &)> visit) {
  writeType(schema, "object", isNullable);
  std::vector<std::string> required;
  schema.object("properties", [&](JsonObjectWriter &properties) {
    SchemaVisitor visitor(json, properties);
    visit(visitor);
    required = std::move(visitor.required);
  });
  schema("required", required);
  schema("additionalProperties", false);
}

/// A setting is described in the table of settings; requests of other programs may lack it.
void writeSettings(SchemaVisitor &visit) {
  bool flag = false;
  std::string text;
  std::vector<std::string> texts;
  std::optional<std::string> textOrNone;
  std::optional<int64_t> whole;
  double number = 0;
  std::optional<double> numberOrNone;
  for (const Setting &setting : allSettings()) {
    std::string key = setting.key();
    Described described{setting.help};
    if (setting.isList)
      visit.optional(key, texts, described);
    else if (setting.kind == SettingKind::Switch)
      visit.optional(key, flag, described);
    else if (setting.kind == SettingKind::WholeNumber)
      visit.optional(key, whole, from(1, setting.help));
    else if (setting.kind == SettingKind::Number && setting.print(PlanRequest()).empty())
      visit.optional(key, numberOrNone, from(0, setting.help));
    else if (setting.kind == SettingKind::Number)
      visit.optional(key, number, from(0, setting.help));
    else if (setting.print(PlanRequest()).empty())
      visit.optional(key, textOrNone, described);
    else
      visit.optional(key, text, notEmpty(setting.help));
  }
}

void writeMemory(SchemaVisitor &visit) {
  int64_t bytes = 0;
  for (MemoryCategory category : allMemoryCategories())
    if (isLaterLine(category))
      visit.optional(memoryCategoryName(category), bytes, from(0, "The share of the runtime beside the others"));
    else
      visit(memoryCategoryName(category), bytes, from(0, ""));
  visit("total", bytes, from(0, "The sum of the others, host apart"));
  visit.optional(hostMemoryKey, bytes, from(0, "The share of the host's memory, for one device"));
}

/// The keywords of a scalar.
template <typename T>
void writeScalar(JsonObjectWriter &schema, const Described &described, bool isNullable) {
  if constexpr (std::is_enum_v<T>) {
    schema("enum", enumNames(T{}));
    return;
  }
  std::optional<double> least = described.least;
  if (std::is_unsigned_v<T> && !std::is_same_v<T, bool> && !least)
    least = 0;
  constexpr bool isText = std::is_same_v<T, std::string> || std::is_same_v<T, NamedStrategy>;
  writeType(schema,
            isText                      ? "string"
            : std::is_same_v<T, bool>   ? "boolean"
            : std::is_same_v<T, double> ? "number"
                                        : "integer",
            isNullable);
  if (isText && described.notEmpty)
    schema("minLength", 1);
  if (!isText && !std::is_same_v<T, bool>)
    writeLimits(schema, least, described.most);
}

template <typename T>
void writeSchema(JsonWriter &json, const Described &described, bool isNullable) {
  if constexpr (json_detail::isOptional<T>) {
    return writeSchema<typename T::value_type>(json, described, true);
  } else {
    Described inner = described;
    inner.text = "";
    json.object([&](JsonObjectWriter &schema) {
      if (!described.text.empty())
        schema("description", described.text);
      if constexpr (std::is_same_v<T, MemoryTable>) {
        writeObject(json, schema, isNullable, writeMemory);
      } else if constexpr (std::is_same_v<T, PlanRequest>) {
        writeObject(json, schema, isNullable, writeSettings);
      } else if constexpr (std::is_enum_v<T> || std::is_arithmetic_v<T> || std::is_same_v<T, std::string> ||
                           std::is_same_v<T, NamedStrategy>) {
        writeScalar<T>(schema, described, isNullable);
      } else if constexpr (std::is_same_v<T, std::map<std::string, int64_t>>) {
        writeType(schema, "object", isNullable);
        schema.key("additionalProperties");
        writeSchema<int64_t>(json, inner);
      } else if constexpr (HasFields<T, SchemaVisitor>) {
        writeObject(json, schema, isNullable, [](SchemaVisitor &visit) {
          if constexpr (std::is_same_v<T, PlanModel>) {
            std::string path, sha256;
            PlanModel model{path, sha256};
            fields(visit, model);
          } else {
            T value{};
            fields(visit, value);
          }
        });
      } else {
        writeType(schema, "array", isNullable);
        schema.key("items");
        writeSchema<typename T::value_type>(json, inner);
      }
    });
  }
}

} // namespace

std::string planSchema() {
  JsonWriter json(1);
  json.object([&](JsonObjectWriter &schema) {
    schema("$schema", "https://json-schema.org/draft/2020-12/schema");
    schema("title", "plan.json: everything that apc decided for one model on one cluster, and why");
    schema("description", "Seconds and bytes are predictions for one step. Keys never change their meaning within a "
                          "version.");
    writeObject(json, schema, false, [&](SchemaVisitor &visit) {
      Plan plan;
      int64_t version = Plan::version;
      visit("version", version, Described{"The version of this format", double(Plan::version), double(Plan::version)});
      fields(visit, plan);
      visit.optional("timing_seconds", plan.timing, Described{"Seconds of wall-clock time that planning took"});
    });
  });
  return json.take() + "\n";
}

} // namespace apc

// Walks a cluster's document to the figure of an override and writes its value there.
#include "SetFigure.h"

#include "apc/Support/Error.h"

using namespace llvm;
using nlohmann::json;

namespace apc {

namespace {

/// A list is written as in a file: [[1e6, 0.4], [1e8, 0.8]].
json valueJson(const std::string &text) {
  if (!StringRef(text).starts_with("["))
    return text;
  json list = json::parse(text, nullptr, /*allow_exceptions=*/false);
  return list.is_discarded() || offsetOfDepth(text, maxJsonDepth) ? json(text) : list;
}

json &unwrap(json &figure) { return figure.is_object() && figure.contains("value") ? figure["value"] : figure; }

json wrap(json value, const std::string &source) {
  json figure = json::object();
  figure["value"] = std::move(value);
  figure["source"] = source;
  return figure;
}

} // namespace

Error setFigure(json &document, const Override &setting, StringRef flag) {
  json *object = &document;
  for (const std::string &step : setting.object) {
    json &member = object->is_array() ? (*object)[std::stoul(step)] : (*object)[step];
    if (member.is_null())
      member = json::object();
    object = &unwrap(member);
  }
  json value = std::visit([](const auto &item) { return json(item); }, setting.value);
  if (value.is_string())
    value = valueJson(value.get<std::string>());
  json &figure = (*object)[setting.key];
  if (setting.part.empty()) {
    figure = wrap(value, "--cluster-set");
    return Error::success();
  }
  json whole = unwrap(figure);
  if (!whole.is_object())
    return inputError("{0}: '{1}' has no parts such as '{2}'", flag, setting.key, setting.part);
  std::string source = figure.value("source", "");
  whole[setting.part] = value;
  figure = wrap(whole, source + (source.empty() ? "" : "; ") + setting.part + ": --cluster-set");
  return Error::success();
}

} // namespace apc

// The flags that the table of settings gives a verb.
#include "SettingFlags.h"

#include "Flags.h"

#include "apc/Support/Error.h"
#include "apc/Support/File.h"
#include "apc/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// The help of a setting. The table of searches belongs to another room than the table of settings.
std::string helpOf(const Setting &setting) {
  if (setting.name != "search")
    return setting.help.str();
  return setting.help.str() + ":\n" + searchesHelp();
}

/// A mode that decides how strategies are found takes no search beside it.
llvm::Error checkSearch(const PlanRequest &request) {
  bool isItsOwn = request.parallel == ParallelMode::Semi && request.search == "propagation";
  if (request.parallel == ParallelMode::Auto || isItsOwn)
    return llvm::Error::success();
  return inputError("--parallel {0} decides how strategies are found; --search {1} goes with --parallel auto",
                    parallelModeName(request.parallel), request.search);
}

/// An error for text that plan.json could not keep. `flag` is empty for the model.
llvm::Error checkUtf8(llvm::StringRef flag, llvm::StringRef text) {
  if (isUtf8(text))
    return llvm::Error::success();
  return inputError("{0}'{1}' is no UTF-8, and plan.json could not name it; a link with another name will do",
                    flag.empty() ? "" : flag + ": ", visibleText(text));
}

/// `batch=1` and `batch=2` do not go together.
llvm::Error checkBoundOnce(llvm::ArrayRef<std::string> bindings, llvm::StringRef flag) {
  std::map<llvm::StringRef, llvm::StringRef> known;
  for (llvm::StringRef text : bindings) {
    auto [name, value] = text.rsplit('=');
    if (auto [entry, isNew] = known.try_emplace(name, value); !isNew && entry->second != value)
      return inputError("{0} {1}: '{2}' is bound to {3} by another {0}; give it once", flag, text, name, entry->second);
  }
  return llvm::Error::success();
}

} // namespace

void SettingFlags::addModel(CLI::App &app) {
  app.add_option("model", path, "The ONNX file")->required()->type_name("MODEL")->check(notEmpty());
}

CLI::Option *SettingFlags::addSetting(CLI::App &app, const Setting &setting) {
  std::string name = setting.name.str(), flag = "--" + name;
  CLI::Option *option = nullptr;
  if (setting.kind == SettingKind::Switch)
    option = app.add_flag(flag, switches[name], helpOf(setting));
  else if (!setting.isList)
    option = app.add_option(flag, single[name], helpOf(setting))->type_name(setting.valueName.str());
  else
    option =
        app.add_option(flag, lists[name], helpOf(setting))->allow_extra_args(false)->type_name(setting.valueName.str());
  options[name] = option;
  return option;
}

std::vector<CLI::Option *> SettingFlags::add(CLI::App &app, SettingGroup group, bool showDefaults) {
  std::vector<CLI::Option *> options;
  const PlanRequest standard;
  for (const Setting &setting : allSettings()) {
    if (setting.group != group)
      continue;
    options.push_back(addSetting(app, setting));
    std::vector<std::string> texts = setting.print(standard);
    if (showDefaults && !setting.isList && setting.kind != SettingKind::Switch && !texts.empty())
      options.back()->default_str(texts.front());
  }
  if (group == SettingGroup::Search)
    options.push_back(app.add_option("--pins", pinFiles,
                                     "A file of pins: {\"pins\": [{\"ops\": \"REGEX\", \"strategy\": \"b0=8, "
                                     "n=device\"}]}; repeatable")
                          ->allow_extra_args(false)
                          ->type_name("FILE")
                          ->check(notEmpty()));
  if (group == SettingGroup::Model)
    app.add_option_function<std::vector<std::string>>(
           "--cond", [this](const std::vector<std::string> &more) { llvm::append_range(lists["condition"], more); },
           "The short word for --condition")
        ->allow_extra_args(false)
        ->group("");
  return options;
}

void SettingFlags::addOnly(CLI::App &app, llvm::ArrayRef<llvm::StringRef> names) {
  for (const Setting &setting : allSettings())
    if (llvm::is_contained(names, setting.name))
      addSetting(app, setting);
}

bool SettingFlags::isGiven(llvm::StringRef name) const {
  auto option = options.find(name.str());
  auto list = lists.find(name.str()); // another word for the flag may have filled it
  return (option != options.end() && option->second->count() > 0) || (list != lists.end() && !list->second.empty());
}

llvm::Error SettingFlags::readPinFiles(PlanRequest &request) const {
  for (const std::string &file : pinFiles) {
    llvm::Expected<std::string> text = readFile(file);
    if (!text)
      return text.takeError();
    llvm::Expected<std::vector<Pin>> pins = parsePins(*text, file);
    if (!pins)
      return pins.takeError();
    llvm::append_range(request.pins, *pins);
  }
  return llvm::Error::success();
}

llvm::Expected<PlanRequest> SettingFlags::apply(PlanRequest request) const {
  if (llvm::Error error = checkUtf8("", path))
    return error;
  if (!path.empty())
    request.modelPath = path;
  // Pins of either flag replace those that were there; those of files come first.
  if (!pinFiles.empty() || isGiven("pin"))
    request.pins.clear();
  if (llvm::Error error = readPinFiles(request))
    return error;
  for (const Setting &setting : allSettings()) {
    std::string name = setting.name.str(), flag = "--" + name;
    if (!isGiven(name))
      continue;
    std::vector<std::string> texts{"true"};
    if (setting.isList)
      texts = lists.at(name);
    else if (setting.kind != SettingKind::Switch)
      texts = {single.at(name)};
    if (setting.replaces && name != "pin")
      setting.reset(request);
    if (llvm::Error error = setting.isBinding ? checkBoundOnce(texts, flag) : llvm::Error::success())
      return error;
    for (const std::string &text : texts) {
      if (llvm::Error error = checkUtf8(flag, text))
        return error;
      if (llvm::Error error = setting.read(request, text, flag))
        return error;
    }
  }
  if (isGiven("search"))
    if (llvm::Error error = checkSearch(request))
      return error;
  return request;
}

llvm::Expected<std::vector<PlanRequest>> SettingFlags::applyVaried(llvm::ArrayRef<llvm::StringRef> varied) const {
  std::vector<SettingFlags> flags = {*this};
  for (llvm::StringRef name : varied) {
    if (!isGiven(name))
      continue;
    std::vector<SettingFlags> further;
    for (const SettingFlags &known : flags)
      for (llvm::StringRef text : llvm::split(single.at(name.str()), ',')) {
        if (text.trim().empty())
          return inputError("--{0} '{1}': an entry of the list is empty; write entries with commas between them", name,
                            single.at(name.str()));
        further.push_back(known);
        further.back().single[name.str()] = text.trim().str();
      }
    flags = std::move(further);
  }
  std::vector<PlanRequest> requests;
  for (const SettingFlags &one : flags) {
    llvm::Expected<PlanRequest> request = one.apply({});
    if (!request)
      return request.takeError();
    requests.push_back(std::move(*request));
  }
  return requests;
}

} // namespace apc

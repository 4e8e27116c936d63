// Flags that several verbs share.
#include "Flags.h"

#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <thread>

namespace apc {

CLI::Option *addRepeatable(CLI::App &app, const std::string &name, std::vector<std::string> &values,
                           const std::string &description) {
  return app.add_option(name, values, description)->allow_extra_args(false);
}

CLI::Validator wholeNumber(int64_t least, int64_t most) {
  auto check = [=](const std::string &text) -> std::string {
    int64_t value = 0;
    if (!llvm::StringRef(text).getAsInteger(10, value) && value >= least && value <= most)
      return "";
    return llvm::formatv("'{0}': a whole number from {1} to {2} is expected", text, least, most).str();
  };
  return CLI::Validator(check, "");
}

CLI::Validator seconds() {
  constexpr double year = 366 * 86400.0;
  auto check = [](const std::string &text) -> std::string {
    double value = 0;
    // The comparison is written so that NaN fails it.
    if (!llvm::StringRef(text).getAsDouble(value) && value > 0 && value <= year)
      return "";
    return "'" + text + "': a number of seconds above 0 and at most a year is expected, as 0.5 or 60";
  };
  return CLI::Validator(check, "");
}

CLI::Validator share() {
  auto check = [](const std::string &text) -> std::string {
    double value = 0;
    if (!llvm::StringRef(text).getAsDouble(value) && value >= 0 && value <= 1) // NaN fails it
      return "";
    return "'" + text + "': a share from 0 to 1 is expected, as 0.05";
  };
  return CLI::Validator(check, "");
}

void ModelFlags::add(CLI::App &app) {
  app.add_option("model", path, "The ONNX file")->required()->type_name("MODEL");
  addRepeatable(app, "--dim", dims, "Binds a symbolic dim to N elements; repeatable")->type_name("NAME=N");
  addRepeatable(app, "--condition", conditions, "The branch to keep of an If on this graph input; repeatable")
      ->type_name("NAME=true|false");
  app.add_option_function<std::vector<std::string>>(
         "--cond", [this](const std::vector<std::string> &more) { llvm::append_range(conditions, more); },
         "The short word for --condition")
      ->allow_extra_args(false)
      ->group("");
  app.add_option("--parameters", parameters, "Graph inputs whose whole name matches are parameters")
      ->type_name("REGEX");
}

llvm::Expected<ImportOptions> ModelFlags::options() const {
  ImportOptions options;
  for (llvm::StringRef text : dims) {
    auto [name, number] = text.rsplit('=');
    int64_t value = 0;
    if (name.empty() || number.getAsInteger(10, value) || value < 0)
      return inputError("--dim {0}: accepted is NAME=N with N a whole number, for instance batch=4", text);
    options.dims[name.str()] = value;
  }
  for (llvm::StringRef text : conditions) {
    auto [name, flag] = text.rsplit('=');
    if (name.empty() || (flag != "true" && flag != "false"))
      return inputError("--condition {0}: accepted is NAME=true or NAME=false", text);
    options.conditions[name.str()] = flag == "true";
  }
  if (!parameters.empty())
    options.parameters = parameters;
  return options;
}

void addClusterSet(CLI::App &app, std::vector<std::string> &overrides) {
  addRepeatable(app, "--cluster-set", overrides,
                "Sets one figure of the cluster, as device.memory_bytes=40GiB, level.node.bytes_per_second=25GB/s, "
                "device.peak_flops_per_second.bf16=1e15 or host.memory_bytes=1TiB; 'apc clusters NAME' lists the keys; "
                "repeatable")
      ->type_name("KEY=VALUE");
}

std::vector<CLI::Option *> PinFlags::add(CLI::App &app) {
  CLI::Option *one =
      addRepeatable(app, "--pin", pins,
                    "Fixes the strategy of the ops in whose names the regular expression matches. Axes: 8 (ways), "
                    "device (a level of the cluster), 4@device (ways of a level), (2@node device); factors not named "
                    "stay whole, or with a last '...' are left to the search; repeatable")
          ->type_name("'REGEX: factor=axes, ...'");
  CLI::Option *many = addRepeatable(app, "--pins", files,
                                    "A file of pins: {\"pins\": [{\"ops\": \"REGEX\", \"strategy\": \"b0=8, "
                                    "n=device\"}]}; repeatable")
                          ->type_name("FILE");
  CLI::Option *mode =
      app.add_option("--parallel", parallel,
                     "Choices left to the search. auto (the default): all that pins leave; data: nothing, the batch is "
                     "cut over all devices; semi: what follows from the pins, by propagation; hybrid: nothing, every "
                     "op is pinned, and the plan checked and priced")
          ->type_name("auto|data|semi|hybrid");
  CLI::Option *ignored = app.add_flag("--ignore-model-shardings", ignoresModelShardings,
                                      "Leave out the shardings that the model file brings along (ONNX IR 11)");
  return {one, many, mode, ignored};
}

llvm::Error PinFlags::apply(PlanOptions &options) const {
  if (!parallel.empty())
    options.parallel = parallel;
  if (ignoresModelShardings)
    options.pinsFromModel = false;
  bool decidesSearch = options.parallel == "data" || options.parallel == "semi" || options.parallel == "hybrid";
  if (decidesSearch && search && search->count() > 0 &&
      !(options.parallel == "semi" && options.search == "propagation"))
    return inputError("--parallel {0} decides how strategies are found; --search {1} goes with --parallel auto",
                      options.parallel, options.search);
  if (!pins.empty() || !files.empty())
    options.pins.clear();
  for (const std::string &path : files) {
    llvm::Expected<std::string> text = readFile(path);
    if (!text)
      return text.takeError();
    llvm::Expected<std::vector<Pin>> read = parsePins(*text, path);
    if (!read)
      return read.takeError();
    options.pins.insert(options.pins.end(), read->begin(), read->end());
  }
  for (const std::string &text : pins) {
    llvm::Expected<Pin> pin = parsePin(text, "--pin");
    if (!pin)
      return pin.takeError();
    options.pins.push_back(std::move(*pin));
  }
  return llvm::Error::success();
}

unsigned defaultThreads() {
  constexpr unsigned most = 16;
  return std::clamp(std::thread::hardware_concurrency(), 1U, most); // 0 where the machine does not say
}

void addThreads(CLI::App &app, unsigned &numThreads) {
  numThreads = defaultThreads();
  app.add_option("--threads", numThreads,
                 "Threads, 1 to 256; never changes the answer; default one for each processor, at most 16")
      ->type_name("N")
      ->check(wholeNumber(1, 256));
}

CLI::Option *addSearchFlags(CLI::App &app, std::string &search, SearchOptions &options, const std::string &timeLimit) {
  std::string names;
  for (const Search &row : allSearches())
    names += (names.empty() ? "" : ", ") + row.name.str() + " (" + row.summary.str() + ")";
  CLI::Option *named =
      app.add_option("--search", search, "The search: " + names)->type_name("NAME")->capture_default_str();
  app.add_option("--gap", options.gapTolerance, "Stop when the answer is proven to be within this share of the optimum")
      ->type_name("SHARE")
      ->check(share())
      ->capture_default_str();
  addThreads(app, options.numThreads);
  app.add_option("--time-limit", options.timeLimitSeconds, timeLimit)
      ->type_name("SECONDS")
      ->check(seconds())
      ->capture_default_str();
  return named;
}

} // namespace apc

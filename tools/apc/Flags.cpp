// What several verbs' flags have in common.
#include "Flags.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

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

void addSearchFlags(CLI::App &app, std::string &search, SearchOptions &options, const std::string &timeLimit) {
  std::string names;
  for (const Search &row : allSearches())
    names += (names.empty() ? "" : ", ") + row.name.str() + " (" + row.summary.str() + ")";
  app.add_option("--search", search, "The search: " + names)->type_name("NAME")->capture_default_str();
  app.add_option("--gap", options.gapTolerance, "Stop when the answer is proven to be within this share of the optimum")
      ->type_name("SHARE")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--threads", options.numThreads, "Threads, 1 to 256; never changes the answer")
      ->type_name("N")
      ->check(wholeNumber(1, 256))
      ->capture_default_str();
  app.add_option("--time-limit", options.timeLimitSeconds, timeLimit)
      ->type_name("SECONDS")
      ->check(seconds())
      ->capture_default_str();
}

} // namespace apc

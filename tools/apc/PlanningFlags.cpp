// The flags of the verbs that plan or price a model on a cluster.
#include "PlanningFlags.h"

#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Process.h"

namespace apc {

std::vector<CLI::Option *> PlanningFlags::addTarget(CLI::App &app) {
  addClusterSet(app, clusterOverrides);
  return {app.add_option("--devices", devices, "Number of devices")->type_name("N")->check(wholeNumber(1, maxDevices)),
          app.add_option("--cluster", cluster, "A preset ('apc clusters' lists them) or a cluster file")
              ->type_name("NAME|FILE"),
          app.get_option("--cluster-set"),
          app.add_option("--mode", mode, "infer: the forward graph")->type_name("infer"),
          app.add_option("--memory-limit", memoryLimit,
                         "Memory that one device may use, as 76GiB; default 95 % of the device's memory")
              ->type_name("BYTES")};
}

std::vector<CLI::Option *> PlanningFlags::addSearch(CLI::App &app) {
  std::string names;
  for (const Search &row : allSearches())
    names += (names.empty() ? "" : ", ") + row.name.str();
  CLI::Option *layout = addRepeatable(app, "--layout", layouts, "A layout to list among the baselines; repeatable")
                            ->type_name("dp=N,tp=N");
  pins.search = app.add_option("--search", search, "The search: " + names)->type_name("NAME");
  std::vector<CLI::Option *> options = pins.add(app);
  options.insert(options.end(),
                 {pins.search, layout,
                  app.add_option("--time-limit", timeLimitSeconds, "Time that the search of one mesh may take")
                      ->type_name("SECONDS")
                      ->check(seconds()),
                  app.add_option("--gap", gap, "Stop when the answer is proven to be within this share of the optimum")
                      ->type_name("SHARE")
                      ->check(share())});
  return options;
}

llvm::Error PlanningFlags::apply(PlanOptions &options) const {
  options.modelPath = model.path;
  llvm::Expected<ImportOptions> import = model.options();
  if (!import)
    return import.takeError();
  for (const auto &[name, size] : import->dims)
    options.import.dims[name] = size;
  for (const auto &[name, value] : import->conditions)
    options.import.conditions[name] = value;
  if (import->parameters)
    options.import.parameters = import->parameters;
  options.devices = devices.value_or(options.devices);
  options.searchOptions.timeLimitSeconds = timeLimitSeconds.value_or(options.searchOptions.timeLimitSeconds);
  options.searchOptions.gapTolerance = gap.value_or(options.searchOptions.gapTolerance);
  options.searchOptions.numThreads = numThreads;
  for (auto [given, option] :
       {std::pair(&cluster, &options.cluster), std::pair(&mode, &options.mode), std::pair(&search, &options.search)})
    if (!given->empty())
      *option = *given;
  if (!clusterOverrides.empty())
    options.clusterOverrides = clusterOverrides;
  if (!memoryLimit.empty()) {
    llvm::Expected<int64_t> bytes = parseBytes(memoryLimit, "--memory-limit");
    if (!bytes)
      return bytes.takeError();
    options.memoryLimitBytes = *bytes;
  }
  if (llvm::Error error = pins.apply(options))
    return error;
  if (!layouts.empty())
    options.layouts.clear();
  for (const std::string &text : layouts) {
    llvm::Expected<Layout> layout = parseLayout(text, "--layout");
    if (!layout)
      return layout.takeError();
    options.layouts.push_back(*layout);
  }
  if (llvm::sys::Process::StandardErrIsDisplayed())
    options.progress = [](llvm::StringRef text) { llvm::errs() << "apc: " << text << "\n"; };
  return llvm::Error::success();
}

} // namespace apc

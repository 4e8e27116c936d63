// Flags that several verbs have in common.
#include "Flags.h"

#include "apc/Plan/Settings.h"
#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"
#include "apc/Support/VisibleText.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

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

CLI::Validator notEmpty() {
  auto check = [](const std::string &text) -> std::string {
    return text.empty() ? "a text is expected, not an empty one (an unset variable of the shell?)" : "";
  };
  return CLI::Validator(check, "");
}

std::string searchesHelp() {
  std::vector<std::string> lines;
  for (const Search &row : allSearches())
    lines.push_back(llvm::formatv("{0,-13}{1}", row.name, row.summary).str());
  return llvm::join(lines, "\n");
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

void addClusterSet(CLI::App &app, std::vector<std::string> &overrides) {
  addRepeatable(app, "--cluster-set", overrides, findSetting("cluster-set")->help.str())->type_name("KEY=VALUE");
}

unsigned defaultThreads() {
  constexpr unsigned most = 16;
  return std::clamp(std::thread::hardware_concurrency(), 1U, most); // 0 where the machine does not say
}

unsigned usefulThreads(unsigned numThreads) {
  constexpr unsigned always = 16;
  return std::min(numThreads, std::max(always, 2 * std::thread::hardware_concurrency()));
}

void addThreads(CLI::App &app, unsigned &numThreads) {
  numThreads = defaultThreads();
  app.add_option("--threads", numThreads,
                 "Threads, 1 to 256; never changes the answer; default one for each processor, at most 16")
      ->type_name("N")
      ->check(wholeNumber(1, 256));
}

void addJson(CLI::App &app, bool &json) {
  app.add_flag("--json", json, "Print one JSON document on stdout and nothing else there");
}

PlanningControl controlWith(unsigned numThreads) {
  PlanningControl control;
  control.numThreads = usefulThreads(numThreads);
  if (llvm::sys::Process::StandardErrIsDisplayed())
    control.report = [](llvm::StringRef text) { llvm::errs() << "apc: " << visibleText(text) << "\n"; };
  return control;
}

PlanningControl stoppableControl(unsigned numThreads) {
  PlanningControl control = controlWith(numThreads);
  control.stop = stopOnInterrupt();
  if (control.report)
    control.search = printProgress;
  return control;
}

} // namespace apc

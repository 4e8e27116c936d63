// The flags that the table of settings gives a verb (apc/Plan/Settings.h).
#pragma once

#include "apc/Plan/Settings.h"

#include <CLI/CLI.hpp>

#include <map>

namespace apc {

/// Settings given on the command line. Filled by CLI11 while it parses, so that it stays where it is.
class SettingFlags {
public:
  /// Adds `MODEL`, the path of the model.
  void addModel(CLI::App &app);
  /// Adds a flag for each setting of `group`; returns them. With `showDefaults` the help names the defaults.
  std::vector<CLI::Option *> add(CLI::App &app, SettingGroup group, bool showDefaults);

  /// Adds the flags of the settings of these names, without their defaults.
  void addOnly(CLI::App &app, llvm::ArrayRef<llvm::StringRef> names);

  bool isGiven(llvm::StringRef name) const;
  /// `request` with the settings that were given; the others keep their values. Errors (input) name the flag.
  llvm::Expected<PlanRequest> apply(PlanRequest request) const;

  /// A request for each combination of the texts that are listed for the settings `varied`, as 8,16,32. Errors (input):
  /// an empty entry of a list; those of `apply`.
  llvm::Expected<std::vector<PlanRequest>> applyVaried(llvm::ArrayRef<llvm::StringRef> varied) const;

private:
  CLI::Option *addSetting(CLI::App &app, const Setting &setting);
  llvm::Error readPinFiles(PlanRequest &request) const;

  std::string path;
  std::map<std::string, std::string> single;             ///< by the name of the setting
  std::map<std::string, const CLI::Option *> options;    ///< likewise
  std::map<std::string, std::vector<std::string>> lists; ///< likewise
  std::map<std::string, bool> switches;                  ///< likewise
  std::vector<std::string> pinFiles;
};

} // namespace apc

// The table of settings: one row for each field of a request. Flags, plan.json, baselines and differences walk it.
#pragma once

#include "apc/Plan/PlanRequest.h"

#include "llvm/Support/Error.h"

#include <functional>

namespace apc {

/// How JSON holds the values of a setting: lists hold texts.
enum class SettingKind : uint8_t { Text, WholeNumber, Number, Switch };

/// The part of the command line that a setting belongs to.
enum class SettingGroup : uint8_t { Model, Target, Search };

/// One setting. "time-limit" is the flag `--time-limit`, the line `setting time-limit 5` of a baseline and the key
/// `time_limit_seconds` of a plan's `request`.
struct Setting {
  llvm::StringLiteral name;
  SettingGroup group;
  SettingKind kind = SettingKind::Text;
  llvm::StringLiteral valueName = ""; ///< "SECONDS"; empty for switches
  llvm::StringLiteral help = "";
  llvm::StringLiteral unit = ""; ///< behind the key: "seconds"
  bool isList = false;           ///< may be given many times
  bool isBinding = false;        ///< a list of NAME=VALUE; a name has one value
  bool replaces = false;         ///< a list that is given anew replaces the one that was there, instead of adding to it
  bool isAlwaysSaid = false;     ///< written even where it has its default
  llvm::StringRef older = "";    ///< the text that files of older versions mean by saying nothing; "" for the default
  bool isOfTraining = false;     ///< refused without `--mode train`

  /// The texts from which `read` makes the same value; empty for a list without items and an option without value.
  std::function<std::vector<std::string>(const PlanRequest &)> print = {};
  /// Puts one text into the request; for lists, adds it. Errors (input) begin with `source` and say what is accepted.
  std::function<llvm::Error(PlanRequest &, llvm::StringRef text, llvm::StringRef source)> read = {};
  /// Gives the field its default.
  std::function<void(PlanRequest &)> reset = {};

  std::string key() const; ///< in JSON: "time_limit_seconds"
};

/// In the order of the command line's help.
llvm::ArrayRef<Setting> allSettings();

/// The row of that name; null for unknown names.
const Setting *findSetting(llvm::StringRef name);

/// The texts of a setting where it differs from the default, or has to be said in any case.
std::vector<std::string> saidTexts(const Setting &setting, const PlanRequest &request);

/// Errors (input): settings that belong to training, and `--mode train` is missing.
llvm::Error checkTrainingSettings(const PlanRequest &request);

} // namespace apc

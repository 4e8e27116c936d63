// The table of settings: every row prints texts that it reads back, and everything that walks the table knows the row.
#include "PlanSamples.h"

#include "../ValueOf.h"

#include "apc/Plan/Diff.h"
#include "apc/Plan/Record.h"
#include "apc/Plan/Settings.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace apc;

namespace {

/// `request` with the texts of one setting in place of those it has.
PlanRequest with(PlanRequest request, const Setting &setting, llvm::ArrayRef<std::string> texts) {
  setting.reset(request);
  for (const std::string &text : texts)
    if (llvm::Error error = setting.read(request, text, "test"))
      FAIL(takeMessage(std::move(error)).second);
  return request;
}

/// The message with which a setting refuses a text; the request stays as it was.
std::string refusal(llvm::StringRef name, llvm::StringRef text) {
  const Setting *setting = findSetting(name);
  REQUIRE(setting);
  PlanRequest request;
  llvm::Error error = setting->read(request, text, "--" + name.str());
  REQUIRE(static_cast<bool>(error));
  auto [fault, message] = takeMessage(std::move(error));
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::StartsWith("--" + name.str()));
  CHECK(setting->print(request) == setting->print(PlanRequest()));
  return message;
}

} // namespace

TEST_CASE("the unusual request differs from the default in every setting") {
  for (const Setting &setting : allSettings()) {
    INFO(setting.name.str());
    CHECK(setting.print(unusualRequest()) != setting.print(PlanRequest()));
    CHECK_FALSE(setting.print(unusualRequest()).empty());
  }
}

TEST_CASE("every setting prints texts from which it reads the same value") {
  for (const Setting &setting : allSettings()) {
    INFO(setting.name.str());
    std::vector<std::string> texts = setting.print(unusualRequest());
    CHECK(setting.print(with({}, setting, texts)) == texts);
    CHECK((setting.isList || texts.size() == 1));
    // Read into a request that has other values already, after a reset.
    CHECK(setting.print(with(unusualRequest(), setting, texts)) == texts);
  }
}

TEST_CASE("a setting changes its own field and no other, and its reset gives the default back") {
  for (const Setting &setting : allSettings()) {
    PlanRequest changed = with({}, setting, setting.print(unusualRequest()));
    for (const Setting &other : allSettings()) {
      INFO(setting.name.str() << " and " << other.name.str());
      bool isSame = other.print(changed) == other.print(PlanRequest());
      CHECK(isSame == (other.name != setting.name));
    }
    setting.reset(changed);
    CHECK(setting.print(changed) == setting.print(PlanRequest()));
  }
}

TEST_CASE("unknown values are refused with the name and the accepted form") {
  using Catch::Contains;
  CHECK_THAT(refusal("dim", "batch"), Contains("accepted is NAME=N"));
  CHECK_THAT(refusal("dim", "batch=-1"), Contains("batch=-1") && Contains("accepted is NAME=N"));
  CHECK_THAT(refusal("dim", "=4"), Contains("accepted is NAME=N"));
  CHECK_THAT(refusal("condition", "c=maybe"), Contains("accepted is NAME=true or NAME=false"));
  CHECK_THAT(refusal("parameters", ""), Contains("a text is expected"));
  for (const char *text : {"0", "-8", "1048577", "8.5", "eight", "99999999999999999999", ""})
    CHECK_THAT(refusal("devices", text),
               Contains("'" + std::string(text) + "'") && Contains("a whole number from 1 to 1048576 is expected"));
  CHECK_THAT(refusal("cluster", ""), Contains("a text is expected"));
  CHECK_THAT(refusal("cluster-set", ""), Contains("a text is expected"));
  CHECK_THAT(refusal("mode", "serve"), Contains("serve") && Contains("accepted are 'infer', 'train'"));
  for (const char *text : {"3parsec", "-1"})
    CHECK_THAT(refusal("memory-limit", text), Contains(text) && Contains("512MiB"));
  CHECK_THAT(refusal("search", ""), Contains("a text is expected"));
  CHECK_THAT(refusal("parallel", "magic"), Contains("magic") && Contains("'auto', 'data', 'semi', 'hybrid'"));
  for (const char *text : {"0", "6", "two"})
    CHECK_THAT(refusal("mesh-axes", text), Contains("a whole number from 1 to 5 or 'auto' is expected"));
  CHECK_THAT(refusal("pin", "fc: 8"), Contains("'8' is no factor=axes") && Contains("accepted is 'REGEX: factor=axes"));
  CHECK_THAT(refusal("ignore-model-shardings", "yes"), Contains("true or false is expected"));
  CHECK_THAT(refusal("layout", "dp=8,xp=2"), Contains("unknown key 'xp'") && Contains("dp=N,tp=N[,pp=N]"));
  for (const char *text : {"0", "-1", "nan", "1e99", "soon"})
    CHECK_THAT(refusal("time-limit", text), Contains("a number of seconds above 0 and at most a year is expected"));
  for (const char *text : {"-0.1", "1.5", "nan", "5%"})
    CHECK_THAT(refusal("gap", text), Contains("a share from 0 to 1 is expected"));
  CHECK_THAT(refusal("sensitivity", ""), Contains("true or false is expected"));
}

TEST_CASE("names and keys of settings are unique and found by their names") {
  std::set<std::string> names, keys;
  for (const Setting &setting : allSettings()) {
    INFO(setting.name.str());
    CHECK(names.insert(setting.name.str()).second);
    CHECK(keys.insert(setting.key()).second);
    CHECK(findSetting(setting.name) == &setting);
    CHECK_FALSE(setting.help.empty());
    CHECK(setting.valueName.empty() == (setting.kind == SettingKind::Switch));
    CHECK_THAT(setting.key(), !Catch::Contains("-"));
  }
  CHECK(findSetting("time-limit")->key() == "time_limit_seconds");
  CHECK(findSetting("memory-limit")->key() == "memory_limit_bytes");
  CHECK(findSetting("colour") == nullptr);
  CHECK(findSetting("time_limit_seconds") == nullptr);
}

TEST_CASE("defaults are not said, but for the settings that are always said") {
  std::set<std::string> always;
  for (const Setting &setting : allSettings()) {
    INFO(setting.name.str());
    if (setting.isAlwaysSaid)
      always.insert(setting.name.str());
    CHECK(saidTexts(setting, {}) == (setting.isAlwaysSaid ? setting.print(PlanRequest()) : std::vector<std::string>()));
    CHECK(saidTexts(setting, unusualRequest()) == setting.print(unusualRequest()));
  }
  CHECK(always == std::set<std::string>{"cluster", "devices", "mode", "runtime", "search"});
}

TEST_CASE("a list that is read adds its items, and a name that is bound again takes the later value") {
  PlanRequest request;
  for (const char *text : {"batch=4", "seq=8", "batch=16"})
    CHECK_FALSE(static_cast<bool>(findSetting("dim")->read(request, text, "--dim")));
  CHECK(request.dims == std::map<std::string, int64_t>{{"batch", 16}, {"seq", 8}});
  for (const char *text : {"dp=2,tp=3", "dp=6"})
    CHECK_FALSE(static_cast<bool>(findSetting("layout")->read(request, text, "--layout")));
  CHECK(request.layouts == std::vector<ParallelDegrees>{{2, 3}, {6, 1}});
}

TEST_CASE("a difference names the setting that changed") {
  for (const Setting &setting : allSettings()) {
    INFO(setting.name.str());
    Plan changed = samplePlan();
    changed.request = with(changed.request, setting, setting.print(unusualRequest()));
    PlanDiff diff = diffPlans(samplePlan(), changed);
    REQUIRE(diff.settings.size() == 1);
    CHECK(diff.settings[0].name == setting.name.str());
    CHECK(diff.settings[0].before != diff.settings[0].after);
    CHECK_FALSE(diff.settings[0].after.empty());
  }
}

TEST_CASE("a record holds the settings that were said, and reads back to a request that has them all") {
  Plan plan = samplePlan();
  plan.request = unusualRequest();
  PlanRecord record = recordOf(plan);
  CHECK(record.settings.size() == allSettings().size());
  PlanRecord read = valueOf(parseRecord(printRecord(record), "model.baseline"));
  CHECK(read == record);
  PlanRequest request = valueOf(requestOf(read, "model.baseline"));
  for (const Setting &setting : allSettings()) {
    INFO(setting.name.str());
    CHECK(setting.print(request) == setting.print(unusualRequest()));
  }
  record.settings["colour"] = {"red"};
  auto [fault, message] = takeMessage(requestOf(record, "model.baseline").takeError());
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::StartsWith("model.baseline") && Catch::Contains("'colour'"));
}

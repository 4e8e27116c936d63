// apc diff A B
#include "Commands.h"
#include "Flags.h"
#include "Terminal.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Report/PrintDiff.h"

namespace apc {

Command addDiff(CLI::App &app) {
  struct Flags {
    std::string before, after;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *verb =
      app.add_subcommand("diff", "Changes between two plans, in strategy and in predicted seconds and bytes");
  verb->add_option("before", flags->before, "A plan.json")->required()->type_name("A")->check(notEmpty());
  verb->add_option("after", flags->after, "The plan.json that it is compared with")
      ->required()
      ->type_name("B")
      ->check(notEmpty());
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there");
  verb->footer(
      "Exit code 0 whether or not the plans differ ('same' in the document says it; 'apc check' is the gate);\n"
      "2 when one cannot be read.\n"
      "Example: apc diff before/plan.json after/plan.json");
  return {verb, [flags]() -> llvm::Error {
            llvm::Expected<Plan> before = loadPlan(flags->before);
            if (!before)
              return before.takeError();
            llvm::Expected<Plan> after = loadPlan(flags->after);
            if (!after)
              return after.takeError();
            PlanDiff diff = diffPlans(*before, *after);
            Terminal terminal;
            if (flags->json)
              llvm::outs() << printDiffJson(diff);
            else
              printDiff(diff, terminal);
            return llvm::Error::success();
          }};
}

} // namespace apc

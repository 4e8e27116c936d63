// apc docs
#include "Commands.h"
#include "Flags.h"

#include "apc/Driver/PlanFile.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

Command addDocs(CLI::App &app) {
  CLI::App *verb = app.add_subcommand("docs", "The JSON Schema of plan.json, with a line on every key");
  auto json = std::make_shared<bool>(false);
  verb->add_flag("--json", *json, "Accepted for uniformity: the schema is JSON in any case");
  verb->footer("Example: apc docs > plan.schema.json");
  return {verb, [json]() -> llvm::Error {
            llvm::outs() << planSchema();
            return llvm::Error::success();
          }};
}

} // namespace apc

// apc docs
#include "Commands.h"

#include "apc/Driver/PlanFile.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

Command addDocs(CLI::App &app) {
  CLI::App *verb = app.add_subcommand("docs", "The JSON Schema of plan.json, with a line on every key");
  verb->footer("Example: apc docs > plan.schema.json");
  return {verb, []() -> llvm::Error {
            llvm::outs() << planSchema();
            return llvm::Error::success();
          }};
}

} // namespace apc

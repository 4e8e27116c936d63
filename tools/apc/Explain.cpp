// apc explain PLAN [OP]
#include "Commands.h"

#include "apc/Driver/PlanFile.h"

namespace apc {

Command addExplain(CLI::App &app) {
  struct Flags {
    std::string plan, op;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *verb = app.add_subcommand("explain", "Why: runner-up, price difference, rejected strategies and reasons");
  verb->add_option("plan", flags->plan, "plan.json as written by 'apc plan'")->required()->type_name("PLAN");
  verb->add_option("op", flags->op, "Name of an op, or a pattern with *; without it, the whole plan is explained")
      ->type_name("OP");
  verb->footer("Example: apc explain plan.json '/layers.*/MatMul'");
  return {verb, [flags]() -> llvm::Error {
            llvm::Expected<Plan> plan = loadPlan(flags->plan);
            if (!plan)
              return plan.takeError();
            if (!flags->op.empty())
              return explainOp(*plan, flags->op, llvm::outs());
            explainPlan(*plan, llvm::outs());
            return llvm::Error::success();
          }};
}

} // namespace apc

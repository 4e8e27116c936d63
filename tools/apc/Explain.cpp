// apc explain PLAN [OP]
#include "Commands.h"
#include "Flags.h"
#include "Terminal.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Driver/PlanModel.h"
#include "apc/Plan/ReasonsJson.h"
#include "apc/Report/ExplainJson.h"
#include "apc/Report/Summary.h"

namespace apc {

namespace {

struct ExplainFlags {
  std::string plan, op, model;
  bool sensitivity = false, candidates = false, allOps = false, json = false;
};

/// `plan` with its table of sensitivity: its request is planned again, with figures of the cluster changed.
llvm::Expected<Plan> replanned(const Plan &plan, const ExplainFlags &flags) {
  std::optional<std::string> given = flags.model.empty() ? std::nullopt : std::optional(flags.model);
  llvm::Expected<std::string> model = findModel(plan, flags.plan, given);
  if (!model)
    return model.takeError();
  PlanRequest request = plan.request;
  request.modelPath = *model;
  request.sensitivity = true;
  llvm::Expected<Plan> again = planModel(request, controlWith(defaultThreads()));
  if (!again)
    return again.takeError();
  if (again->modelSha256 != plan.modelSha256)
    return inputError("{0}: the model has changed since it was planned; plan it again", request.modelPath);
  return again;
}

/// The answer as a document.
llvm::Error printDocument(const Plan &plan, const ExplainFlags &flags) {
  if (flags.op.empty()) {
    llvm::outs() << (flags.sensitivity ? printSensitivityJson(plan) : explainPlanJson(plan));
    return llvm::Error::success();
  }
  llvm::Expected<std::string> reasons = explainOpJson(plan, flags.op);
  if (!reasons)
    return reasons.takeError();
  llvm::outs() << *reasons;
  return llvm::Error::success();
}

llvm::Error run(const ExplainFlags &flags) {
  llvm::Expected<Plan> plan = loadPlan(flags.plan);
  if (!plan)
    return plan.takeError();
  if (flags.sensitivity && (plan->sensitivity.empty() || !flags.model.empty()))
    plan = replanned(*plan, flags);
  if (!plan)
    return plan.takeError();
  if (flags.json)
    return printDocument(*plan, flags);
  Terminal terminal;
  if (flags.sensitivity)
    printSensitivity(*plan, terminal);
  else if (!flags.op.empty())
    return explainOp(*plan, flags.op, terminal, flags.candidates);
  else
    explainPlan(*plan, terminal, flags.allOps);
  return llvm::Error::success();
}

} // namespace

Command addExplain(CLI::App &app) {
  auto flags = std::make_shared<ExplainFlags>();
  CLI::App *verb = app.add_subcommand("explain", "Why: runner-up, cost difference, rejected strategies and reasons, "
                                                 "and the changes of the cluster that would turn the choice");
  verb->add_option("plan", flags->plan, "plan.json as written by 'apc plan'")
      ->required()
      ->type_name("PLAN")
      ->check(notEmpty());
  CLI::Option *op =
      verb->add_option("op", flags->op,
                       "Name of an op, a parameter or another value, or a pattern with *; without it, the whole plan")
          ->type_name("OP")
          ->check(notEmpty());
  verb->add_flag("--candidates", flags->candidates, "Also say why strategies of the op were rejected")->needs(op);
  verb->add_flag("--all", flags->allOps, "List all kinds of ops, not only those that take the most time")->excludes(op);
  CLI::Option *sensitivity =
      verb->add_flag("--sensitivity", flags->sensitivity,
                     "Instead: plans again, with links, memory bandwidth, memory and compute 20 % down and up")
          ->excludes(op);
  verb->add_option("--model", flags->model, "With --sensitivity: where the model is, when not where the plan says")
      ->type_name("FILE")
      ->needs(sensitivity)
      ->check(notEmpty());
  addJson(*verb, flags->json);
  verb->footer("Example: apc explain plan.json '/layers.*/MatMul'");
  return {verb, [flags] { return run(*flags); }};
}

} // namespace apc

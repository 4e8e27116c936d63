// apc verify PLAN
#include "Commands.h"

#include "apc/Driver/VerifyPlan.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

Command addVerify(CLI::App &app) {
  struct Flags {
    std::string plan, model;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *verb = app.add_subcommand("verify", "Prove every value's sharding in the program of a plan by the algebra");
  verb->add_option("plan", flags->plan, "plan.json as written by 'apc plan'")->required()->type_name("PLAN");
  verb->add_option("--model", flags->model, "Where the model is, when not where the plan says")->type_name("FILE");
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there");
  verb->footer("Example: apc verify plan.json");
  return {verb, [flags]() -> llvm::Error {
            VerifyOptions options;
            options.planPath = flags->plan;
            if (!flags->model.empty())
              options.modelPath = flags->model;
            llvm::Expected<VerifiedPlan> verified = verifyPlan(options);
            if (!verified)
              return verified.takeError();
            llvm::outs() << (flags->json ? verified->json : verified->summary);
            return llvm::Error::success();
          }};
}

} // namespace apc

// apc inspect MODEL
#include "Commands.h"
#include "Flags.h"
#include "SettingFlags.h"
#include "Terminal.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/InspectModel.h"

namespace apc {

Command addInspect(CLI::App &app) {
  struct Flags {
    SettingFlags settings;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *verb = app.add_subcommand(
      "inspect", "The findings of the importer: operators, parameters, FLOPs, layers, unsupported operators; with "
                 "--mode train also the parameters that are trained");
  flags->settings.addModel(*verb);
  flags->settings.add(*verb, SettingGroup::Model, /*showDefaults=*/false);
  flags->settings.addOnly(*verb, {"mode", "loss", "optimizer", "batch-norm", "backward", "freeze", "tie"});
  addJson(*verb, flags->json);
  verb->footer("Examples:\n"
               "  apc inspect model.onnx --dim batch=8 --dim seq=512 --json\n"
               "  apc inspect model.onnx --mode train --loss cross-entropy:logits --freeze 'embed.*'");
  return {verb, [flags]() -> llvm::Error {
            PlanRequest forward; // the file as it is, whether or not it can be trained
            forward.mode = StepMode::Infer;
            llvm::Expected<PlanRequest> request = flags->settings.apply(std::move(forward));
            if (!request)
              return request.takeError();
            llvm::Expected<Inspection> inspection = inspectModel(*request);
            if (!inspection)
              return inspection.takeError();
            Terminal terminal;
            if (flags->json)
              llvm::outs() << printInspectionJson(*inspection);
            else
              printInspection(*inspection, terminal);
            return llvm::Error::success();
          }};
}

} // namespace apc

// apc inspect MODEL
#include "Commands.h"
#include "Flags.h"
#include "SettingFlags.h"
#include "Terminal.h"

#include "apc/Driver/ImportStep.h"
#include "apc/Driver/InspectModel.h"
#include "apc/Driver/PlanModel.h"

namespace apc {

Command addInspect(CLI::App &app) {
  struct Flags {
    SettingFlags settings;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *verb = app.add_subcommand(
      "inspect", "The findings of the importer: operators, parameters, FLOPs, layers, unsupported operators");
  flags->settings.addModel(*verb);
  flags->settings.add(*verb, SettingGroup::Model, /*showDefaults=*/false);
  addJson(*verb, flags->json);
  verb->footer("Example: apc inspect model.onnx --dim batch=8 --dim seq=512 --json");
  return {verb, [flags]() -> llvm::Error {
            llvm::Expected<PlanRequest> request = flags->settings.apply({});
            if (!request)
              return request.takeError();
            llvm::Expected<Inspection> inspection = inspectModel(request->modelPath, importOptionsOf(*request));
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

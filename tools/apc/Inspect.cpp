// apc inspect MODEL
#include "Commands.h"
#include "Flags.h"

#include "apc/Driver/InspectModel.h"

namespace apc {

Command addInspect(CLI::App &app) {
  struct Flags {
    ModelFlags model;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *verb = app.add_subcommand(
      "inspect", "Model as the importer sees it: operators, parameters, FLOPs, layers, what is unsupported");
  flags->model.add(*verb);
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there");
  verb->footer("Example: apc inspect model.onnx --dim batch=8 --dim seq=512 --json");
  return {verb, [flags]() -> llvm::Error {
            llvm::Expected<ImportOptions> options = flags->model.options();
            if (!options)
              return options.takeError();
            llvm::Expected<Inspection> inspection = inspectModel(flags->model.path, *options);
            if (!inspection)
              return inspection.takeError();
            if (flags->json)
              llvm::outs() << printInspectionJson(*inspection);
            else
              printInspection(*inspection, llvm::outs());
            return llvm::Error::success();
          }};
}

} // namespace apc

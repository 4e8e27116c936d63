// apc inspect MODEL
#include "Commands.h"

#include "apc/Driver/InspectModel.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

void ModelFlags::add(CLI::App &app) {
  app.add_option("model", path, "The ONNX file")->required();
  addRepeatable(app, "--dim", dims, "NAME=N: binds a symbolic dim to N elements; repeatable");
  addRepeatable(app, "--condition", conditions,
                "NAME=true|false: the branch to keep of an If on this graph input; repeatable");
  app.add_option_function<std::vector<std::string>>(
         "--cond", [this](const std::vector<std::string> &more) { llvm::append_range(conditions, more); },
         "The short word for --condition")
      ->allow_extra_args(false)
      ->group("");
  app.add_option("--parameters", parameters,
                 "Regular expression: graph inputs whose whole name matches are parameters");
}

llvm::Expected<ImportOptions> ModelFlags::options() const {
  ImportOptions options;
  for (llvm::StringRef text : dims) {
    auto [name, number] = text.rsplit('=');
    int64_t value = 0;
    if (name.empty() || number.getAsInteger(10, value) || value < 0)
      return inputError("--dim {0}: accepted is NAME=N with N a whole number, for instance batch=4", text);
    options.dims[name.str()] = value;
  }
  for (llvm::StringRef text : conditions) {
    auto [name, flag] = text.rsplit('=');
    if (name.empty() || (flag != "true" && flag != "false"))
      return inputError("--condition {0}: accepted is NAME=true or NAME=false", text);
    options.conditions[name.str()] = flag == "true";
  }
  if (!parameters.empty())
    options.parameters = parameters;
  return options;
}

Command addInspect(CLI::App &app) {
  struct Flags {
    ModelFlags model;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App *verb = app.add_subcommand(
      "inspect", "What the importer sees: operators, parameters, FLOPs, layers, what is unsupported");
  flags->model.add(*verb);
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there");
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

// apc emit PLAN
#include "Commands.h"
#include "Flags.h"
#include "Terminal.h"

#include "apc/Driver/EmitPlan.h"

namespace apc {

namespace {

struct EmitFlags {
  EmitPlanOptions options;
  std::string model;
  bool json = false;
};

llvm::Error run(const EmitFlags &flags) {
  EmitPlanOptions options = flags.options;
  if (!flags.model.empty())
    options.modelPath = flags.model;
  llvm::Expected<Emission> emission = emitPlan(options);
  if (!emission)
    return emission.takeError();
  Terminal terminal;
  if (flags.json)
    llvm::outs() << printEmissionJson(*emission);
  else
    printEmission(*emission, terminal);
  return llvm::Error::success();
}

} // namespace

Command addEmit(CLI::App &app) {
  auto flags = std::make_shared<EmitFlags>();
  CLI::App *verb =
      app.add_subcommand("emit", "Write the program that the ranks run, and what each reads of the weights");
  verb->add_option("plan", flags->options.planPath, "plan.json as written by 'apc plan'")
      ->required()
      ->type_name("PLAN")
      ->check(notEmpty());
  std::string formats;
  for (const Emitter &emitter : allEmitters())
    formats += (formats.empty() ? "" : "; ") + emitter.name.str() + ": " + emitter.summary.str();
  verb->add_option("--format", flags->options.format, "The format. " + formats)
      ->type_name("FORMAT")
      ->capture_default_str();
  verb->add_option("-o,--output", flags->options.folder,
                   "Folder to write, whole or not at all; one that exists must be empty or hold nothing but an earlier "
                   "emission, which is replaced (a plan.json in it is kept)")
      ->required()
      ->type_name("DIR")
      ->check(notEmpty());
  verb->add_option("--rank", flags->options.ranks,
                   "Ranks whose own programs are written as well, rank-NNNN.mlir: numbers, as 0,8,16, or all")
      ->type_name("N,N,...|all")
      ->check(notEmpty());
  verb->add_flag("--weights", flags->options.weights,
                 "Also write the shards of the weights as safetensors; manifest.json says which rank reads which");
  verb->add_option("--model", flags->model, "The ONNX file, when it is not where the plan says")
      ->type_name("FILE")
      ->check(notEmpty());
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there");
  verb->footer("Example: apc emit plan.json -o program --weights --rank 0");
  return {verb, [flags] { return run(*flags); }};
}

} // namespace apc

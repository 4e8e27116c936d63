// apc reshard FROM TO
#include "Commands.h"
#include "Flags.h"
#include "Terminal.h"

#include "apc/Driver/ReshardWeights.h"

namespace apc {

namespace {

struct ReshardFlags {
  ReshardOptions options;
  bool json = false;
};

llvm::Error run(const ReshardFlags &flags) {
  llvm::Expected<ReshardPlan> plan = reshardWeights(flags.options);
  if (!plan)
    return plan.takeError();
  Terminal terminal;
  if (flags.json)
    llvm::outs() << printReshardJson(*plan, flags.options.folder);
  else
    printReshard(*plan, flags.options.folder, terminal);
  return llvm::Error::success();
}

} // namespace

Command addReshard(CLI::App &app) {
  auto flags = std::make_shared<ReshardFlags>();
  CLI::App *verb = app.add_subcommand(
      "reshard", "Cut weights and optimizer states anew, from one program's layout to another's: M devices to N");
  verb->add_option("from", flags->options.from,
                   "Folder of a program with weights ('apc emit --weights'), or of a checkpoint that its run saved")
      ->required()
      ->type_name("FROM")
      ->check(notEmpty());
  verb->add_option("to", flags->options.to, "Folder of the program, of the same model, that is to load them")
      ->required()
      ->type_name("TO")
      ->check(notEmpty());
  verb->add_option("-o,--output", flags->options.folder,
                   "Folder to write the checkpoint to, whole or not at all; one that exists must be empty or hold "
                   "nothing but an earlier checkpoint, which is replaced")
      ->type_name("DIR")
      ->check(notEmpty());
  verb->add_flag("--json", flags->json,
                 "Print one JSON document on stdout and nothing else there: which boxes each piece is made of");
  verb->footer(
      "Without -o nothing is written: the plan says how many pieces and boxes each file will hold. Files are written\n"
      "in one pass, with buffers of 32 MiB. States follow their parameters; a state that FROM does not have begins\n"
      "as TO says. Programs for PyTorch load the folder: python3 TO/run.py --load DIR.\n"
      "Example: apc reshard checkpoint program-of-6 -o checkpoint-of-6");
  return {verb, [flags] { return run(*flags); }};
}

} // namespace apc

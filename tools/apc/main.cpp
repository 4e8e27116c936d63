// apc: command line -> options -> Driver -> exit code.
#include "Commands.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <iostream>

using namespace apc;

namespace {

constexpr const char *description =
    "Plans how a model is spread over the devices of a cluster, and says why.\n"
    "Exit codes: 0 done; 1 no feasible plan, or a check failed; 2 bad input or usage; 3 a fault of apc itself.";

int report(llvm::Error error) {
  auto [fault, message] = takeMessage(std::move(error));
  llvm::errs() << "apc: error: " << message << "\n";
  return static_cast<int>(fault);
}

/// `apc help VERB` is `apc VERB --help`.
std::vector<std::string> rewriteHelp(int argc, char **argv) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  // CLI11 takes them last first.
  return {arguments.rbegin(), arguments.rend()};
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  CLI::App app(description, "apc");
  app.require_subcommand(1);
  app.set_version_flag("--version", "apc 0.1.0");
  app.footer("'apc help VERB' describes a verb.");
  std::vector<Command> commands = {addPlan(app),    addInspect(app),  addSolve(app), addEmit(app),
                                   addExplain(app), addClusters(app), addVerify(app)};
  try {
    app.parse(rewriteHelp(argc, argv));
  } catch (const CLI::ParseError &error) {
    int code = app.exit(error, std::cout, std::cerr);
    return code == 0 ? 0 : static_cast<int>(Fault::Input);
  }
  for (const Command &command : commands)
    if (command.app->parsed())
      if (llvm::Error error = command.run())
        return report(std::move(error));
  return 0;
}

// apc: command line -> options -> Driver -> exit code.
#include "Commands.h"
#include "FatalErrors.h"

#include "apc/Driver/PlanFile.h"
#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <iostream>
#include <system_error>

using namespace apc;

namespace {

constexpr const char *description =
    "Plans how a model is spread over the devices of a cluster, and says why.\n"
    "Exit codes: 0 done; 1 no feasible plan, or a check failed; 2 bad input or usage; 3 a fault of apc itself.\n"
    "130 and 143: interrupted by Ctrl-C or SIGTERM.";

int report(llvm::Error error) {
  auto [fault, message] = takeMessage(std::move(error));
  llvm::errs() << "apc: error: " << visibleMessage(message) << "\n";
  return static_cast<int>(fault);
}

std::string verbNames(const std::vector<Command> &commands) {
  std::string names;
  for (const Command &command : commands)
    names += (names.empty() ? "" : ", ") + command.app->get_name();
  return names;
}

/// `apc help VERB` is `apc VERB --help`. Errors: no verb, an unknown one.
llvm::Expected<std::vector<std::string>> readArguments(int argc, char **argv, const std::vector<Command> &commands) {
  std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.push_back("--help");
  }
  if (arguments.empty())
    return inputError("a verb is expected: {0}; 'apc help' describes them", verbNames(commands));
  auto isNamed = [&](const Command &command) { return command.app->get_name() == arguments[0]; };
  if (!llvm::StringRef(arguments[0]).starts_with("-") && llvm::none_of(commands, isNamed))
    return inputError("'{0}' is no verb; the verbs are {1}", arguments[0], verbNames(commands));
  // CLI11 takes them last first.
  return std::vector<std::string>(arguments.rbegin(), arguments.rend());
}

/// "--loss is given 2 times; it is accepted once": CLI11's own words count arguments. Empty where every flag is in
/// order.
std::string givenTooOften(const CLI::App &verb) {
  for (const CLI::Option *option : verb.get_options())
    if (option->get_items_expected_max() == 1 && option->count() > 1)
      return llvm::formatv("{0} is given {1} times; it is accepted once", option->get_name(), option->count());
  return "";
}

llvm::Error usageError(const CLI::App &app, const CLI::ParseError &error) {
  std::string verb, message;
  for (const CLI::App *parsed : app.get_subcommands()) {
    verb = " " + parsed->get_name();
    if (dynamic_cast<const CLI::ArgumentMismatch *>(&error))
      message = givenTooOften(*parsed);
  }
  return inputError("{0}; 'apc help{1}' describes what is accepted", message.empty() ? error.what() : message, verb);
}

/// Prints the help or the version that `asked` stands for.
llvm::Error printAsked(const CLI::App &app, const CLI::ParseError &asked) {
  app.exit(asked, std::cout, std::cerr);
  if (std::cout.flush())
    return llvm::Error::success();
  return inputError("stdout: cannot be written: {0}", std::generic_category().message(errno));
}

/// Runs a verb. Where it has no plan to give, or fails its check, and has printed nothing although a document is asked
/// for, the document is its verdict and the reason.
llvm::Error runVerb(const Command &command) {
  uint64_t printed = llvm::outs().tell();
  llvm::Error error = command.run();
  const CLI::Option *json = command.app->get_option_no_throw("--json");
  if (!error || !json || json->count() == 0 || llvm::outs().tell() != printed)
    return error;
  auto [fault, message] = takeMessage(std::move(error));
  if (fault == Fault::NoPlan) {
    JsonWriter document;
    document.object([&](JsonObjectWriter &object) {
      if (command.verdict.empty())
        object("status", "no plan");
      else
        object(command.verdict, false);
      object("reason", message);
    });
    llvm::outs() << document.take() << "\n";
  }
  return llvm::make_error<PlannerError>(fault, message);
}

llvm::Error runParsed(const std::vector<Command> &commands) {
  for (const Command &command : commands)
    if (command.app->parsed())
      if (llvm::Error error = runVerb(command))
        return error;
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return llvm::Error::success();
  std::string message = llvm::outs().error().message();
  llvm::outs().clear_error();
  return inputError("stdout: cannot be written: {0}", message);
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  installFatalErrors();
  CLI::App app(description, "apc");
  app.set_version_flag("--version", "apc " + programVersion.str());
  app.footer("'apc help VERB' describes a verb.");
  std::vector<Command> commands = {addPlan(app),     addInspect(app), addSolve(app),    addEmit(app), addExplain(app),
                                   addClusters(app), addVerify(app),  addEvaluate(app), addDiff(app), addCheck(app),
                                   addSweep(app),    addReshard(app), addExport(app),   addDocs(app)};
  llvm::Expected<std::vector<std::string>> arguments = readArguments(argc, argv, commands);
  if (!arguments)
    return report(arguments.takeError());
  try {
    app.parse(std::move(*arguments));
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() != 0)
      return report(usageError(app, error));
    llvm::Error failed = printAsked(app, error);
    return failed ? report(std::move(failed)) : 0;
  }
  if (llvm::Error error = runParsed(commands))
    return report(std::move(error));
  return 0;
}

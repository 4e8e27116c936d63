// apc verify PLAN
#include "Commands.h"
#include "Flags.h"
#include "Terminal.h"

#include "apc/Driver/VerifyPlan.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

namespace {

struct VerifyFlags {
  std::string plan, model, hiddenScale;
  std::vector<std::string> dims;
  std::optional<int64_t> layers;
  bool execute = false, json = false;
};

llvm::Error verify(const VerifyFlags &flags) {
  VerifyOptions options;
  options.planPath = flags.plan;
  options.execute = flags.execute;
  options.shrinkage.layers = flags.layers;
  if (!flags.model.empty())
    options.modelPath = flags.model;
  for (llvm::StringRef dim : flags.dims) {
    auto [name, size] = dim.split('=');
    int64_t value = 0;
    if (name.empty() || size.getAsInteger(10, value) || value < 1)
      return inputError("--dim {0}: write NAME=N with N at least 1, as seq=16", dim);
    options.shrinkage.dims[name.str()] = value;
  }
  if (!flags.hiddenScale.empty()) {
    llvm::StringRef divisor = flags.hiddenScale;
    int64_t value = 0;
    if (!divisor.consume_front("1/") || divisor.getAsInteger(10, value) || value < 2)
      return inputError("--hidden-scale {0}: write 1/N with N at least 2, as 1/16", flags.hiddenScale);
    options.shrinkage.hiddenDivisor = value;
  }
  llvm::Expected<VerifiedPlan> verified = verifyPlan(options);
  if (!verified)
    return verified.takeError();
  Terminal terminal;
  if (flags.json)
    llvm::outs() << verified->json;
  else
    terminal << verified->summary;
  if (!verified->agrees)
    return noPlanError("{0}: the program of the plan does not compute what the model computes", flags.plan);
  return llvm::Error::success();
}

} // namespace

Command addVerify(CLI::App &app) {
  auto flags = std::make_shared<VerifyFlags>();
  CLI::App *verb = app.add_subcommand(
      "verify",
      "Check, without running it, that the program of all ranks computes the model's values; --execute also runs it");
  verb->add_option("plan", flags->plan, "plan.json as written by 'apc plan'")
      ->required()
      ->type_name("PLAN")
      ->check(notEmpty());
  verb->add_option("--model", flags->model, "Where the model is, when not where the plan says")
      ->type_name("FILE")
      ->check(notEmpty());
  verb->add_flag(
      "--execute", flags->execute,
      "Also run all ranks and compare every output with one device; with the model's weights, or drawn ones");
  addRepeatable(*verb, "--dim", flags->dims,
                "NAME=N: binds a symbolic dim to another size than the plan's; repeatable");
  verb->add_option("--layers", flags->layers, "Keep only the first N of the layers that repeat")
      ->type_name("N")
      ->check(CLI::Range(int64_t(1), int64_t(1) << 20));
  verb->add_option("--hidden-scale", flags->hiddenScale,
                   "1/N: divide hidden sizes, heads, channels and vocabulary by N")
      ->type_name("1/N")
      ->check(notEmpty());
  verb->add_flag("--json", flags->json, "Print one JSON document on stdout and nothing else there");
  verb->footer("Example: apc verify plan.json --execute --dim seq=16 --layers 2 --hidden-scale 1/16");
  return {verb, [flags] { return verify(*flags); }, "verified"};
}

} // namespace apc

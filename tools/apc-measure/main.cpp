// apc-measure: predictions held to published measurements.
#include "apc/Measure/Score.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"

#include <CLI/CLI.hpp>

#include <thread>

using namespace apc;

namespace {

struct Flags {
  std::vector<std::string> files;
  std::string rows, exported, model = "model.onnx";
  unsigned numThreads = std::max(1U, std::thread::hardware_concurrency());
  bool json = false;
};

int report(llvm::Error error) {
  auto [fault, message] = takeMessage(std::move(error));
  llvm::errs() << "apc-measure: error: " << message << "\n";
  return static_cast<int>(fault);
}

/// Adds the rows of all files to \p rows; the faults are those of files that cannot be read.
llvm::Error readAll(const Flags &flags, std::vector<Measurement> &rows) {
  llvm::Error faults = llvm::Error::success();
  for (const std::string &file : flags.files)
    if (llvm::Expected<std::vector<Measurement>> own = readMeasurements(file, flags.numThreads))
      rows.insert(rows.end(), std::make_move_iterator(own->begin()), std::make_move_iterator(own->end()));
    else
      faults = llvm::joinErrors(std::move(faults), own.takeError());
  return faults;
}

/// Writes the model of one row, and prints the command that costs it.
llvm::Error exportRow(const Flags &flags, llvm::ArrayRef<Measurement> rows) {
  for (const Measurement &row : rows) {
    if (row.id != flags.exported)
      continue;
    if (!row.leftOut.empty())
      return inputError("{0}:{1}: row '{2}' is left out: {3}", row.file, row.line, row.id, row.leftOut);
    if (llvm::Error error = writeFileAtomically(flags.model, writeTransformer(row.model)))
      return error;
    llvm::outs() << commandOf(row, flags.model) << "\n";
    return llvm::Error::success();
  }
  return inputError("--export {0}: no row has this id", flags.exported);
}

/// Scores rows as far as there are any.
llvm::Error score(const Flags &flags, llvm::ArrayRef<Measurement> rows) {
  if (!flags.exported.empty())
    return exportRow(flags, rows);
  for (const Measurement &row : rows)
    if (!row.unreadable.empty())
      llvm::errs() << "apc-measure: note: " << row.unreadable << "; the row is left out\n";
  bool isWatched = llvm::sys::Process::StandardErrIsDisplayed();
  auto progress = [&](size_t done) { llvm::errs() << "\r" << done << " rows costed"; };
  std::vector<Prediction> predictions =
      isWatched ? predictAll(rows, flags.numThreads, progress) : predictAll(rows, flags.numThreads);
  if (isWatched)
    llvm::errs() << "\n";
  if (!flags.rows.empty()) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printRows(rows, predictions, os);
    if (llvm::Error error = writeFileAtomically(flags.rows, text))
      return error;
  }
  const Score figures = scoreRows(rows, predictions);
  if (flags.json)
    llvm::outs() << printScoreJson(figures) << "\n";
  else
    printScore(figures, llvm::outs());
  return llvm::Error::success();
}

llvm::Error run(const Flags &flags) {
  std::vector<Measurement> rows;
  llvm::Error faults = readAll(flags, rows);
  if (faults && rows.empty())
    return faults;
  llvm::Error ofRows = score(flags, rows);
  return llvm::joinErrors(std::move(faults), std::move(ofRows)); // files that can be read are scored all the same
}

} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  CLI::App app("Costs the training steps of published measurements, as 'apc evaluate --layout' does, and compares.\n"
               "Exit codes: 0 done; 2 bad input or usage; 3 our fault.",
               "apc-measure");
  Flags flags;
  app.add_option("files", flags.files, "Tables of measurements (lib/Measure/README.md)")
      ->required()
      ->type_name("FILE.csv");
  app.add_flag("--json", flags.json, "Print one JSON document on stdout and nothing else there");
  app.add_option("--rows", flags.rows, "Also write a table with a line for each row")->type_name("FILE.csv");
  app.add_option("--export", flags.exported,
                 "Cost nothing; write the model of the row with this id, and print the command that costs it")
      ->type_name("ID");
  app.add_option("--model", flags.model, "With --export: where the model is written")
      ->type_name("FILE.onnx")
      ->capture_default_str();
  app.add_option("--threads", flags.numThreads, "Threads, 1 to 256; never changes the answer")
      ->check(CLI::Range(1, 256))
      ->type_name("N");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    return app.exit(error) == 0 ? 0 : static_cast<int>(Fault::Input);
  }
  if (llvm::Error error = run(flags))
    return report(std::move(error));
  llvm::outs().flush();
  if (std::error_code code = llvm::outs().error()) {
    llvm::outs().clear_error();
    return report(inputError("stdout: cannot be written: {0}", code.message()));
  }
  return 0;
}

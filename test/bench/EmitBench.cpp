// Emission: seconds, bytes and peak memory of every format, for a plan at hand. Each row runs in a process of its own,
// so that its peak memory is its own.
//
//   bench-EmitBench plan.json [--weights]
#include "OwnProcess.h"

#include "apc/Driver/EmitPlan.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

#include <chrono>

using namespace apc;

namespace {

/// Cells: seconds, files, bytes of the program, of the manifest, of the rest, peak memory.
std::vector<std::string> measure(const EmitPlanOptions &options) {
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<Emission> emission = emitPlan(options);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!emission)
    return {"error: " + takeMessage(emission.takeError()).second};
  double program = 0, manifest = 0, rest = 0;
  for (const EmittedFile &file : emission->files)
    (file.name == "program.mlir"    ? program
     : file.name == "manifest.json" ? manifest
                                    : rest) += static_cast<double>(file.bytes);
  return {formatSeconds(seconds), std::to_string(emission->files.size()),
          formatBytes(program),   formatBytes(manifest),
          formatBytes(rest),      peakMemory()};
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    llvm::errs() << "bench-EmitBench plan.json [--weights]\n";
    return 2;
  }
  llvm::SmallString<128> folder;
  if (llvm::sys::fs::createUniqueDirectory("bench-emit", folder))
    return 2;
  TextTable table;
  table.addColumn("format");
  table.addColumn("ranks");
  for (const char *title : {"time", "files", "program", "manifest", "rest", "peak memory"})
    table.addColumn(title, TextTable::Align::Right);
  EmitPlanOptions options;
  options.planPath = argv[1];
  options.folder = (folder + "/out").str();
  options.weights = argc > 2 && llvm::StringRef(argv[2]) == "--weights";
  for (const Emitter &emitter : allEmitters())
    for (const char *ranks : {"", "0", "all"}) {
      if (!emitter.takesRanks && *ranks)
        continue;
      options.format = emitter.name.str();
      options.ranks = ranks;
      std::vector<std::string> row = {options.format, *ranks ? ranks : "-"};
      llvm::append_range(row, inOwnProcess([&] { return measure(options); }));
      table.addRow(std::move(row));
    }
  table.print(llvm::outs());
  return llvm::sys::fs::remove_directories(folder) ? 2 : 0;
}

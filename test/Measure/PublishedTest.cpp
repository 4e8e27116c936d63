// The published measurements themselves, where they are: their folder is in the environment variable APC_MEASUREMENTS.
// Error bars of plans are held to ACCURACY.md, and that to the measurements.
#include "apc/Measure/Intervals.h"
#include "apc/Measure/Score.h"
#include "apc/Report/ErrorBar.h"
#include "apc/Support/File.h"

#include "ValueOf.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstdlib>

using namespace apc;

namespace {

/// The line of `apc-measure` on an interval.
std::string lineOf(llvm::StringRef kind, double distance) {
  return llvm::formatv("interval of 80 % from all sources, layouts of kind '{0}': {1:f3} to {2:f3} times what is "
                       "predicted\n",
                       kind, 1 / distance, distance);
}

} // namespace

TEST_CASE("error bars of plans are the intervals that ACCURACY.md states") {
  const std::string page = valueOf(readFile(APC_ACCURACY));
  CHECK(publishedDistances().size() == llvm::StringRef(page).count("interval of 80 % from all sources"));
  for (const PublishedDistance &own : publishedDistances())
    CHECK(page.find(lineOf(own.kind, own.distance)) != std::string::npos);
}

TEST_CASE("the intervals that ACCURACY.md states are those of the published measurements", "[.published]") {
  const char *folder = std::getenv("APC_MEASUREMENTS");
  REQUIRE(folder);
  std::vector<Measurement> rows = valueOf(readMeasurements(std::string(folder) + "/throughput.csv"));
  Score score = scoreRows(rows, predictAll(rows, /*numThreads=*/2));
  const std::string page = valueOf(readFile(APC_ACCURACY));
  for (const KindInterval &own : intervalsByKind(score.residuals))
    CHECK(page.find(lineOf(own.kind, own.interval.high)) != std::string::npos);
}

TEST_CASE("published measurements can be read") {
  const char *folder = std::getenv("APC_MEASUREMENTS");
  if (!folder) {
    WARN("skipped: APC_MEASUREMENTS names no folder with throughput.csv and megatron_ci.csv");
    return;
  }
  for (const char *name : {"/throughput.csv", "/megatron_ci.csv"}) {
    std::vector<Measurement> rows = valueOf(readMeasurements(std::string(folder) + name));
    auto isUsed = [](const Measurement &row) { return row.leftOut.empty(); };
    CHECK(rows.size() > 300);
    CHECK(llvm::count_if(rows, isUsed) > 100);
    for (const Measurement &row : rows)
      if (isUsed(row))
        CHECK(row.layout.numDevices() == row.devices);
  }
}

// The published measurements themselves, where they are: their folder is in the environment variable APC_MEASUREMENTS.
#include "apc/Measure/Measurement.h"

#include "ValueOf.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdlib>

using namespace apc;

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

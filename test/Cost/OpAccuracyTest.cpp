// Predicted against measured times of operators on one device, on the presets as they are.
//
// Sources: PrincetonUniversity/LLMCompass @2e015fd2 ae/figure5 (A100 80GB, fp16, launched one by one from PyTorch);
// stas00/ml-engineering @744d01e1 compute/accelerator/README.md MAMF table (the best of many shapes, bf16).
#include "Cost/Measurements.h"
#include "apc/Cost/OpCost.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace apc;

namespace {

/// Seconds that a launch from PyTorch takes beyond the device's own: the smallest matmul and gelu take 30 and 48 us.
constexpr double eagerMatmulMicroseconds = 25, eagerGeluMicroseconds = 42;

FactorRule matMul(int64_t m, int64_t n, int64_t k) {
  FactorRuleBuilder builder;
  FactorId rows = builder.addFactor("m", m), columns = builder.addFactor("n", n);
  FactorId depth = builder.addReduction("k", k, Combiner::Sum);
  builder.addOperand({{rows}, {depth}}, 16);
  builder.addOperand({{depth}, {columns}}, 16);
  builder.addResult({{rows}, {columns}}, 16);
  builder.setFlopsPerPoint(2);
  builder.setWork(Work::Contraction);
  return builder.take();
}

double matMulSeconds(const Pool &pool, int64_t m, int64_t n, int64_t k, NumberFormat format = NumberFormat::BF16) {
  return opCost(matMul(m, n, k), {m, n, k}, format, pool.device, DeviceRates(pool.device)).seconds();
}

/// gelu over `elements` 16-bit elements.
double geluSeconds(const Pool &pool, int64_t elements) {
  FactorRuleBuilder builder;
  FactorId i = builder.addFactor("i", elements);
  builder.addOperand({{i}}, 16);
  builder.addResult({{i}}, 16);
  builder.setFlopsPerPoint(8);
  return opCost(builder.take(), {elements}, NumberFormat::F16, pool.device, DeviceRates(pool.device)).seconds();
}

} // namespace

/// Launched one by one, products end before the power limit lowers the clock: the same device at that clock.
constexpr const char *clockOfPauses =
    "device.contraction_efficiency=[[1e8, 0.15], [1e9, 0.42], [4e9, 0.7], [1.7e10, 0.88], [3e11, 0.93]]";

TEST_CASE("matrix products and elementwise ops on an A100 against measurements") {
  Pool pool = llvm::cantFail(loadCluster("dgx-a100-80gb", {clockOfPauses})).pool;
  std::map<std::string, std::pair<double, int>> sums;
  for (const std::vector<std::string> &row : readMeasurements("a100_ops.csv")) {
    int64_t m = std::stoll(row[1]), n = std::stoll(row[2]), k = std::stoll(row[3]);
    bool isMatMul = row[0] == "matmul";
    double predicted = isMatMul ? matMulSeconds(pool, m, n, k) * 1e6 + eagerMatmulMicroseconds
                                : geluSeconds(pool, m) * 1e6 + eagerGeluMicroseconds;
    double measured = toNumber(row[4]), error = std::abs(std::log(predicted / measured));
    INFO(row[0] << " " << m << "x" << n << "x" << k << ": predicted " << predicted << " us, measured " << measured);
    CHECK(error < 0.25);
    sums[row[0]].first += error;
    ++sums[row[0]].second;
  }
  CHECK(sums["matmul"].second == 20);
  CHECK(sums["gelu"].second == 10);
  CHECK(sums["matmul"].first / 20 < 0.06);
  CHECK(sums["gelu"].first / 10 < 0.1);
}

TEST_CASE("products of random numbers without pauses are as fast as the power limit lets them") {
  double flops = 2.0 * 8192 * 8192 * 8192;
  for (auto [preset, measured] : {std::pair("dgx-a100-80gb", 257e12), {"dgx-h100", 720e12}, {"dgx-h200", 720e12}}) {
    INFO(preset);
    Pool pool = llvm::cantFail(loadCluster(preset)).pool;
    CHECK(flops / matMulSeconds(pool, 8192, 8192, 8192) == Approx(measured).epsilon(0.02));
  }
}

// The best is that of single products: the power limit may take a tenth of it.
TEST_CASE("large matrix products come near the published best, and never more than a little above") {
  struct Best {
    const char *preset;
    int64_t m, n, k;
    double flopsPerSecond;
    NumberFormat format = NumberFormat::BF16;
  };
  for (Best best : {Best{"dgx-a100-80gb", 1024, 10240, 5120, 271.2e12}, Best{"dgx-h100", 2048, 2048, 13312, 794.5e12},
                    Best{"dgx-b200", 1792, 16128, 3072, 1745e12}, Best{"gb200-nvl72", 4096, 9728, 2048, 1822e12},
                    Best{"dgx-b300", 12288, 18432, 1024, 1769e12}, Best{"mi300x", 10240, 15360, 8192, 668.4e12},
                    Best{"mi325x", 13312, 10240, 8192, 784.9e12}, Best{"mi355x", 12288, 8192, 8192, 1565e12},
                    Best{"dgx-b200", 15360, 4096, 3072, 3432.5e12, NumberFormat::F8},
                    Best{"dgx-b300", 3072, 6144, 7168, 3353.3e12, NumberFormat::F8},
                    Best{"gb200-nvl72", 19456, 5120, 1536, 3615.6e12, NumberFormat::F8}}) {
    Pool pool = llvm::cantFail(loadCluster(best.preset)).pool;
    auto flops = 2.0 * static_cast<double>(best.m) * static_cast<double>(best.n) * static_cast<double>(best.k);
    double reached = flops / matMulSeconds(pool, best.m, best.n, best.k, best.format);
    INFO(best.preset << ": predicted " << reached / 1e12 << ", measured " << best.flopsPerSecond / 1e12 << " TFLOP/s");
    CHECK(reached < 1.08 * best.flopsPerSecond);
    CHECK(reached > 0.85 * best.flopsPerSecond);
    double large = 2.0 * 16384 * 16384 * 16384 / matMulSeconds(pool, 16384, 16384, 16384, best.format);
    CHECK(large < 1.08 * best.flopsPerSecond);
    CHECK(large > 0.9 * best.flopsPerSecond);
  }
}

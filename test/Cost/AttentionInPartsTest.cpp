// Attention in parts against published seconds.
#include "apc/Cost/OpCost.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("an attention in parts takes as long as Megatron-LM's took") {
  // Korthikanti et al. 2022, table 4, a layer of the model of 22 billion parameters, of which a device has 8 heads of
  // 96 and 4 sequences: the backward pass takes 11.9 ms, and 13.2 ms where attention is computed again.
  constexpr int64_t heads = 32, positions = 2048, headSize = 96;
  FactorRuleBuilder builder;
  FactorId all = builder.addFactor("kv", heads), queries = builder.addFactor("s", positions);
  FactorId keys = builder.addWhole("t", positions);
  FactorId size = builder.addWhole("d", headSize), value = builder.addWhole("e", headSize);
  builder.addOperand({{all}, {queries}, {size}}, 16);
  builder.addOperand({{all}, {keys}, {size}}, 16);
  builder.addOperand({{all}, {keys}, {value}}, 16);
  builder.addResult({{all}, {queries}, {value}}, 16);
  builder.setAttention({headSize, positions, /*causal=*/true, /*masked=*/false, {queries}});
  builder.setFlopsPerPoint(4.0 / headSize);
  FactorRule rule = builder.take();
  Device device = llvm::cantFail(loadCluster("dgx-a100-80gb")).pool.device;
  Runtime runtime = llvm::cantFail(loadRuntime("megatron-2021"));
  double seconds = opCost(rule, {heads, positions, positions, headSize, headSize}, NumberFormat::F16, device,
                          DeviceRates(device), runtime)
                       .computeSeconds;
  CHECK(seconds == Approx(1.3e-3).epsilon(0.03));
}

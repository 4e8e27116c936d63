// Predicted against measured times of fused attention: FlashAttention-2 on an A100 and an H100 (forward and backward
// together, so that only its shape counts here) and FlashAttention-3 on an H100 (forward), read from the bars of the
// figures of Dao-AILab/flash-attention: 16,384 tokens in all, 2,048 elements of all heads; half of the FLOPs count
// under a causal mask.
#include "Cost/Measurements.h"
#include "apc/Cost/OpCost.h"

#include <catch2/catch.hpp>
#include <map>

using namespace apc;

namespace {

constexpr int64_t tokens = 16384, hidden = 2048;

struct Attention {
  std::string preset;
  int64_t positions, headSize;
  bool causal, masked = false;

  friend auto operator<=>(const Attention &, const Attention &) = default;
};

/// b h !s.. as `b kv s !d, b kv !t !d, b kv !t !d -> b kv s !d`.
FactorRule ruleOf(int64_t batch, int64_t heads, int64_t rows, const Attention &attention) {
  FactorRuleBuilder builder;
  FactorId b = builder.addFactor("b", batch), kv = builder.addFactor("kv", heads), s = builder.addFactor("s", rows);
  FactorId t = builder.addWhole("t", attention.positions), d = builder.addWhole("d", attention.headSize);
  builder.addOperand({{b}, {kv}, {s}, {d}}, 16);
  builder.addOperand({{b}, {kv}, {t}, {d}}, 16);
  builder.addOperand({{b}, {kv}, {t}, {d}}, 16);
  builder.addResult({{b}, {kv}, {s}, {d}}, 16);
  builder.setFlopsPerPoint(4);
  builder.setAttention({attention.headSize, attention.positions, attention.causal, attention.masked, {s}});
  return builder.take();
}

double secondsOf(const Device &device, int64_t batch, int64_t heads, int64_t rows, const Attention &attention,
                 const Runtime &runtime = {}) {
  llvm::SmallVector<int64_t> sizes{batch, heads, rows, attention.positions, attention.headSize};
  OpCost cost =
      opCost(ruleOf(batch, heads, rows, attention), sizes, NumberFormat::F16, device, DeviceRates(device), runtime);
  return cost.seconds();
}

/// In FLOP/s, as the figures count them; by kernels for the device where \p isTuned.
double predicted(const Attention &attention, bool isTuned = false) {
  Runtime runtime;
  runtime.tunesAttention = isTuned;
  Device device = llvm::cantFail(loadCluster(attention.preset)).pool.device;
  double flops = 4.0 * double(tokens) * double(attention.positions) * double(hidden) / (attention.causal ? 2 : 1);
  return flops / secondsOf(device, tokens / attention.positions, hidden / attention.headSize, attention.positions,
                           attention, runtime);
}

} // namespace

TEST_CASE("Attention by head size, length and mask against measurements") {
  std::map<Attention, double> forward, both;
  for (const std::vector<std::string> &row : readMeasurements("attention.csv")) {
    Attention attention{row[0], std::stoll(row[2]), std::stoll(row[3]), row[4] == "causal"};
    (row[1] == "forward" ? forward : both)[attention] = toNumber(row[5]) * 1e12;
  }
  REQUIRE(forward.size() == 35);
  REQUIRE(both.size() == 47);
  double sum = 0;
  auto compare = [&](const Attention &attention, double found, double measured) {
    INFO(attention.preset << ", heads of " << attention.headSize << ", " << attention.positions << " positions"
                          << (attention.causal ? ", causal" : "") << ": predicted " << found / 1e12 << ", measured "
                          << measured / 1e12 << " TFLOP/s");
    double error = std::abs(std::log(found / measured));
    CHECK(error < 0.3);
    sum += error;
  };
  for (const auto &[attention, measured] : forward)
    compare(attention, predicted(attention, /*isTuned=*/true), measured);
  CHECK(sum / double(forward.size()) < 0.12);
  sum = 0;
  // The backward pass is slower by the same factor at all lengths: that of the longest.
  for (const auto &[attention, measured] : both) {
    Attention longest{attention.preset, tokens, 128, false};
    compare(attention, predicted(attention), predicted(longest) / both.at(longest) * measured);
  }
  CHECK(sum / double(both.size()) < 0.12);
}

TEST_CASE("No attention is above the best known kernel of its device") {
  for (bool causal : {false, true}) {
    CHECK(predicted({"dgx-a100-80gb", tokens, 128, causal}) < 230e12);
    CHECK(predicted({"dgx-a100-80gb", tokens, 64, causal}) < 200e12);
    CHECK(predicted({"dgx-h100", tokens, 128, causal}) < 340e12);
    CHECK(predicted({"dgx-h100", tokens, 128, causal}, /*isTuned=*/true) < 660e12);
    CHECK(predicted({"dgx-h100", tokens, 256, causal}, /*isTuned=*/true) < 760e12);
  }
}

TEST_CASE("Attention that reads a mask against measurements") {
  std::map<std::string, double> measured;
  for (const std::vector<std::string> &row : readMeasurements("masked_attention.csv")) {
    CHECK(row[0] == "dgx-h100");
    measured[row[2]] = toNumber(row[3]);
  }
  Attention plain{"dgx-h100", 512, 64, false}, masked{"dgx-h100", 512, 64, false, true};
  double share = predicted(masked) / predicted(plain);
  CHECK(share == Approx(measured.at("tensor") / measured.at("none")).epsilon(0.02));
}

TEST_CASE("A mask never makes an attention faster, and costs nothing where no figure says what it costs") {
  for (const std::string &name : presetNames()) {
    double share = llvm::cantFail(loadCluster(name)).pool.device.maskedAttentionShare;
    for (bool causal : {false, true}) {
      double plain = predicted({name, tokens, 128, causal}), masked = predicted({name, tokens, 128, causal, true});
      INFO(name << ": " << plain / 1e12 << " TFLOP/s, masked " << masked / 1e12);
      CHECK(masked <= plain);
      CHECK((share == 1) == (masked == plain));
    }
  }
}

TEST_CASE("More queries, keys or heads never take less time, on any preset") {
  for (const std::string &name : presetNames()) {
    Device device = llvm::cantFail(loadCluster(name)).pool.device;
    for (auto [causal, masked] : {std::pair(false, false), {true, false}, {false, true}, {true, true}})
      for (int64_t headSize : {64, 80, 128, 256}) {
        double before = 0, beforeKeys = 0, beforeHeads = 0;
        for (int64_t size = 1; size <= 2048; size += size < 80 ? 1 : 37) {
          double rows = secondsOf(device, 1, 8, size, {name, 1024, headSize, causal, masked});
          double keys = secondsOf(device, 1, 8, 64, {name, size, headSize, causal, masked});
          double heads = secondsOf(device, 1, size, 64, {name, 1024, headSize, causal, masked});
          INFO(name << " heads of " << headSize << " at " << size);
          CHECK((rows >= before && keys >= beforeKeys && heads >= beforeHeads));
          std::tie(before, beforeKeys, beforeHeads) = std::tuple(rows, keys, heads);
        }
      }
  }
}

// The roofline by hand: formats, shapes, bytes, efficiency.
#include "ByHand.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// `b m k, b k n -> b m n`, 16 bits; without b when it is 0.
FactorRule matMul(int64_t b, int64_t m, int64_t n, int64_t k) {
  FactorRuleBuilder builder;
  llvm::SmallVector<DimFactors, 4> left, right, result;
  if (b > 0) {
    FactorId batch = builder.addFactor("b", b);
    for (auto *dims : {&left, &right, &result})
      dims->push_back({batch});
  }
  FactorId rows = builder.addFactor("m", m), columns = builder.addFactor("n", n);
  FactorId depth = builder.addReduction("k", k, Combiner::Sum);
  left.append({DimFactors{rows}, DimFactors{depth}});
  right.append({DimFactors{depth}, DimFactors{columns}});
  result.append({DimFactors{rows}, DimFactors{columns}});
  builder.addOperand(left, 16);
  builder.addOperand(right, 16);
  builder.addResult(result, 16);
  builder.setFlopsPerPoint(2);
  builder.setWork(Work::Contraction);
  return builder.take();
}

/// Adds two tensors of `size` 32-bit elements.
FactorRule add(int64_t size) {
  FactorRuleBuilder builder;
  FactorId i = builder.addFactor("i", size);
  builder.addOperand({{i}}, 32);
  builder.addOperand({{i}}, 32);
  builder.addResult({{i}}, 32);
  builder.setFlopsPerPoint(1);
  builder.setWork(Work::Stream);
  return builder.take();
}

OpCost cost(const FactorRule &rule, llvm::ArrayRef<int64_t> sizes, const Device &device,
            NumberFormat format = NumberFormat::BF16) {
  return opCost(rule, sizes, format, device, DeviceRates(device));
}

} // namespace

TEST_CASE("a large matrix product is bound by compute") {
  FactorRule rule = matMul(0, 4096, 4096, 4096);
  OpCost p = cost(rule, {4096, 4096, 4096}, makeDevice());
  CHECK(p.flops == 2.0 * 4096 * 4096 * 4096);
  CHECK(p.bytes == 3 * 2 * 4096 * 4096);
  // 137.4 GFLOP at 100 TFLOP/s * 4096 / 4128
  CHECK(p.computeSeconds == Approx(137438953472.0 / 1e14 * 4128 / 4096));
  CHECK(p.memorySeconds == Approx(100663296 / 1e12));
  CHECK(p.seconds() == Approx(p.computeSeconds + 5e-6));
}

TEST_CASE("steps that wait for each other are launched one by one") {
  FactorRule rule = matMul(0, 64, 64, 64);
  OpCost one = cost(rule, {64, 64, 64}, makeDevice());
  rule.steps = 100;
  OpCost hundred = cost(rule, {64, 64, 64}, makeDevice());
  CHECK(hundred.launchSeconds == Approx(100 * 5e-6));
  CHECK(hundred.seconds() - one.seconds() == Approx(99 * 5e-6));
  CHECK(llvm::StringRef(rule.str()).ends_with(" steps=100"));
}

TEST_CASE("a matrix times a vector is bound by memory") {
  OpCost p = cost(matMul(0, 1, 4096, 4096), {1, 4096, 4096}, makeDevice());
  // 2 * (4096 + 4096 * 4096 + 4096) bytes at 1 TB/s; one of 64 rows of the tiles is used.
  CHECK(p.memorySeconds == Approx(33570816 / 1e12));
  CHECK(p.computeSeconds < p.memorySeconds);
  CHECK(p.computeSeconds == Approx(2.0 * 4096 * 4096 / 1e13)); // the vector units are faster than 1/64 of 100 TFLOP/s
}

TEST_CASE("local sizes are what counts, padding included") {
  // n = 50257 over 8 is 6283 on a device: 6283 * 8 = 50264 columns are computed in all.
  FactorRule rule = matMul(0, 128, 50257, 512);
  OpCost p = cost(rule, {128, 6283, 512}, makeDevice());
  CHECK(p.flops == 2.0 * 128 * 6283 * 512);
  CHECK(p.bytes == 2 * (128 * 512 + 512 * 6283 + 128 * 6283));
}

TEST_CASE("the shape of a contraction is read off the rule") {
  FactorRule rule = matMul(6, 10, 20, 30);
  ContractionShape shape = contractionShape(rule, {6, 10, 20, 30});
  CHECK(shape.batch == 6);
  CHECK(shape.m == 10);
  CHECK(shape.n == 20);
  CHECK(shape.k == 30);
}

TEST_CASE("rows and columns of an image are rows of the implicit product") {
  FactorRule rule = llvm::cantFail(llvm::cantFail(RuleText::parse("n c !h !w, o c !r !s -> n o !y !x"))
                                       .bind({TensorShape{{4, 256, 56, 56}, 16}, TensorShape{{128, 256, 3, 3}, 16}},
                                             {TensorShape{{4, 128, 28, 28}, 16}}, 2));
  llvm::SmallVector<int64_t, 8> sizes;
  for (const Factor &factor : rule.factors)
    sizes.push_back(factor.size);
  ContractionShape shape = contractionShape(rule, sizes);
  CHECK(shape.batch == 1);
  CHECK(shape.m == 4 * 28 * 28);
  CHECK(shape.n == 128);
}

TEST_CASE("a sum that joins a convolution leaves its shape") {
  FactorRule rule = llvm::cantFail(llvm::cantFail(RuleText::parse("n c !h !w, o c !r !s, o, n o !y !x -> n o !y !x"))
                                       .bind({TensorShape{{4, 256, 56, 56}, 16}, TensorShape{{128, 256, 3, 3}, 16},
                                              TensorShape{{128}, 16}, TensorShape{{4, 128, 28, 28}, 16}},
                                             {TensorShape{{4, 128, 28, 28}, 16}}, 2));
  llvm::SmallVector<int64_t, 8> sizes;
  for (const Factor &factor : rule.factors)
    sizes.push_back(factor.size);
  ContractionShape shape = contractionShape(rule, sizes);
  CHECK(shape.m == 4 * 28 * 28);
  CHECK(shape.n == 128);
}

TEST_CASE("the tiles of a shape by hand") {
  CHECK(tileFill({1, 4096, 4096, 4096}) == 1);
  // One row of 64; 32 of 64 columns.
  CHECK(tileFill({1, 1, 4096, 4096}) == Approx(1.0 / 64));
  CHECK(tileFill({1, 4096, 32, 4096}) == Approx(1.0 / 2));
  // 65 rows need two tiles; 8 of 16 steps of k.
  CHECK(tileFill({1, 65, 64, 8}) == Approx(65.0 / 128 * 8 / 16));
  CHECK(tileEfficiency({1, 4096, 4096, 4096}) == Approx(4096.0 / 4128));
  CHECK(tileEfficiency({1, 4096, 4096, 64}) == Approx(64.0 / 96));
  CHECK(tileEfficiency({1, 65, 64, 8}) == Approx(16.0 / 48));
  // 10922 is no multiple of 8.
  CHECK(tileEfficiency({1, 4096, 10922, 4096}) == Approx(0.7 * 4096 / 4128));
}

TEST_CASE("more rows never take less time, on any preset") {
  using enum NumberFormat;
  for (const std::string &name : presetNames()) {
    Device device = llvm::cantFail(loadCluster(name)).pool.device;
    for (NumberFormat format : {F64, F32, TF32, BF16, F16, F8, I8})
      for (auto [n, k] : {std::pair(1792, 4096), std::pair(64, 64), std::pair(8192, 512), std::pair(8, 16384)}) {
        DeviceRates rates(device);
        double previous = 0;
        for (int64_t m = 1; m <= 4096; m += m < 300 ? 1 : 61) {
          double seconds = opCost(matMul(0, m, n, k), {m, n, k}, format, device, rates).seconds();
          if (seconds < previous)
            FAIL(name << ": " << m << " x " << n << " x " << k << " takes " << seconds << " s, a row less "
                      << previous);
          previous = seconds;
        }
      }
  }
}

TEST_CASE("half of a batch takes at least half the time, on any preset") {
  using enum NumberFormat;
  for (const std::string &name : presetNames()) {
    Device device = llvm::cantFail(loadCluster(name)).pool.device;
    for (NumberFormat format : {F64, F32, TF32, BF16, F16, F8, I8}) {
      DeviceRates rates(device);
      auto seconds = [&](const FactorRule &rule, llvm::ArrayRef<int64_t> sizes) {
        return opCost(rule, llvm::SmallVector<int64_t, 8>(sizes), format, device, rates).seconds();
      };
      for (int64_t batch = 2; batch <= 1 << 16; batch += batch < 300 ? 2 : batch / 4 * 2) {
        INFO(name << ", batch " << batch);
        CHECK(2 * seconds(add(batch / 2), {batch / 2}) >= seconds(add(batch), {batch}) * (1 - 1e-12));
        for (auto [n, k] : {std::pair(1792, 4096), std::pair(64, 64), std::pair(8, 16384)}) {
          CHECK(2 * seconds(matMul(0, batch / 2, n, k), {batch / 2, n, k}) >=
                seconds(matMul(0, batch, n, k), {batch, n, k}) * (1 - 1e-12));
          CHECK(2 * seconds(matMul(0, k, n, batch / 2), {k, n, batch / 2}) >=
                seconds(matMul(0, k, n, batch), {k, n, batch}) * (1 - 1e-12));
        }
      }
    }
  }
}

TEST_CASE("cutting a contraction never makes a device slower, nor the devices together faster") {
  Device device = makeDevice();
  device.contractionEfficiency = {{{1e8, 0.15}, {1e9, 0.42}, {1.7e10, 0.84}, {2.5e12, 0.93}}};
  for (int64_t size : {256, 1024, 4096, 8192})
    for (size_t cut = 0; cut < 3; ++cut)
      for (int64_t parts : {2, 4, 8, 16}) {
        llvm::SmallVector<int64_t, 3> local{size, size, size};
        OpCost whole = cost(matMul(0, size, size, size), local, device);
        local[cut] /= parts;
        OpCost part = cost(matMul(0, size, size, size), local, device);
        CHECK(part.seconds() <= whole.seconds() * (1 + 1e-9));
        CHECK(part.computeSeconds * static_cast<double>(parts) >= whole.computeSeconds * (1 - 1e-9));
      }
}

TEST_CASE("elementwise ops are bound by memory and run on the vector units") {
  OpCost p = cost(add(1000000), {1000000}, makeDevice());
  CHECK(p.flops == 1e6);
  CHECK(p.bytes == 12000000);
  CHECK(p.memorySeconds == Approx(12e-6));
  CHECK(p.computeSeconds == Approx(1e-7));
  CHECK(p.seconds() == Approx(17e-6));
  Device device = makeDevice();
  device.memoryEfficiency = {{{1e6, 0.5}, {1.2e7, 0.8}}};
  CHECK(cost(add(1000000), {1000000}, device).memorySeconds == Approx(15e-6));
}

TEST_CASE("the slowest device computes with its share of the speed, and moves bytes as all do") {
  Device device = makeDevice(), slow = device;
  slow.slowestShare = 0.8;
  FactorRule rule = matMul(0, 4096, 4096, 4096);
  OpCost usual = cost(rule, {4096, 4096, 4096}, device), slowest = cost(rule, {4096, 4096, 4096}, slow);
  CHECK(slowest.computeSeconds == Approx(usual.computeSeconds / 0.8));
  CHECK(slowest.memorySeconds == usual.memorySeconds);
}

TEST_CASE("views cost nothing") {
  FactorRule rule = add(1000000);
  rule.work = Work::View;
  OpCost p = cost(rule, {1000000}, makeDevice());
  CHECK(p.seconds() == 0);
  CHECK(p.bytes == 0);
}

TEST_CASE("a sparse operand costs as many bytes as the result") {
  // Embedding: table [50000, 512], 128 indices of 64 bits, result [128, 512], 16 bits.
  FactorRuleBuilder builder;
  FactorId v = builder.addReduction("v", 50000, Combiner::Sum), d = builder.addFactor("d", 512);
  FactorId s = builder.addFactor("s", 128);
  builder.addOperand({{v}, {d}}, 16);
  builder.markSparse();
  builder.addOperand({{s}}, 64);
  builder.addResult({{s}, {d}}, 16);
  OpCost p = cost(builder.take(), {50000, 512, 128}, makeDevice());
  CHECK(p.bytes == 128 * 512 * 2 + 128 * 8 + 128 * 512 * 2);
}

TEST_CASE("sub-byte elements and broadcast dims") {
  // 4-bit elements [3], a broadcast dim in front: 12 bits are 2 bytes.
  FactorRuleBuilder builder;
  FactorId i = builder.addFactor("i", 3);
  builder.addOperand({{}, {i}}, 4);
  builder.addAbsentOperand();
  builder.addResult({{i}}, 8);
  CHECK(cost(builder.take(), {3}, makeDevice()).bytes == 2 + 3);
}

TEST_CASE("formats that a device lacks run as wider ones") {
  Device device = makeDevice();
  device.peakFlopsPerSecond = {{NumberFormat::F16, 4e14}, {NumberFormat::F8, 8e14}, {NumberFormat::TF32, 2e14}};
  device.peakVectorFlopsPerSecond = {{NumberFormat::F32, 1e13}, {NumberFormat::F16, 2e13}};
  DeviceRates strict(device);
  CHECK(strict.matrixFlopsPerSecond(NumberFormat::BF16) == 4e14);
  CHECK(strict.matrixFlopsPerSecond(NumberFormat::F4) == 8e14);
  CHECK(strict.matrixFlopsPerSecond(NumberFormat::I8) == 4e14);
  CHECK(strict.matrixFlopsPerSecond(NumberFormat::F32) == 1e13);
  CHECK(strict.matrixFlopsPerSecond(NumberFormat::F64) == 5e12);
  CHECK(strict.matrixFlopsPerSecond(NumberFormat::Other) == 1e13);
  CHECK(strict.vectorFlopsPerSecond(NumberFormat::F16) == 2e13);
  CHECK(strict.vectorFlopsPerSecond(NumberFormat::BF16) == 1e13);
  device.tf32ForF32 = true;
  CHECK(DeviceRates(device).matrixFlopsPerSecond(NumberFormat::F32) == 2e14);
}

/// PyTorch narrows convolutions of f32 to tf32, and no other products; TPUs narrow all to bf16.
TEST_CASE("runtimes say whether f32 products are narrowed") {
  Device device = makeDevice();
  device.peakFlopsPerSecond = {{NumberFormat::TF32, 2e14}, {NumberFormat::BF16, 4e14}};
  device.peakVectorFlopsPerSecond = {{NumberFormat::F32, 1e13}};
  device.tf32ForF32 = true;
  Runtime full;
  full.fullF32Products = true;
  auto secondsOf = [&](const FactorRule &rule, llvm::ArrayRef<int64_t> sizes, const Runtime &runtime) {
    return opCost(rule, sizes, NumberFormat::F32, device, DeviceRates(device, runtime), runtime).computeSeconds;
  };
  const FactorRule product = matMul(0, 4096, 4096, 4096);
  const llvm::SmallVector<int64_t> cube = {4096, 4096, 4096};
  CHECK(DeviceRates(device, full).matrixFormat(NumberFormat::F32) == NumberFormat::F32);
  CHECK(secondsOf(product, cube, full) == Approx(20 * secondsOf(product, cube, Runtime())).epsilon(0.02));

  FactorRule convolution =
      llvm::cantFail(llvm::cantFail(RuleText::parse("n c !h !w, o c !r !s, n o !y !x -> n o !y !x"))
                         .bind({TensorShape{{64, 256, 58, 58}, 32}, TensorShape{{256, 256, 3, 3}, 32},
                                TensorShape{{64, 256, 56, 56}, 32}},
                               {TensorShape{{64, 256, 56, 56}, 32}}));
  convolution.work = Work::Contraction;
  convolution.isConvolution = true;
  llvm::SmallVector<int64_t> sizes;
  for (const Factor &factor : convolution.factors)
    sizes.push_back(factor.size);
  CHECK(secondsOf(convolution, sizes, full) == secondsOf(convolution, sizes, Runtime()));

  device.tf32ForF32 = false;
  device.bf16ForF32 = true;
  CHECK(DeviceRates(device, full).matrixFormat(NumberFormat::F32) == NumberFormat::BF16);
}

TEST_CASE("contractions take whole waves of tiles") {
  Device device = makeDevice();
  auto seconds = [&](int64_t m, int64_t n, int64_t k) {
    return opCost(matMul(0, m, n, k), {m, n, k}, NumberFormat::BF16, device, DeviceRates(device)).computeSeconds;
  };
  double alone = seconds(2048, 12288, 12288);
  device.multiprocessors = 108;
  // 768 tiles of 256 x 128 take 8 waves, 864 tiles' worth; 1,536 of 128 x 128 take 15, or 1,620 / 0.95 of them.
  CHECK(seconds(2048, 12288, 12288) == Approx(alone * (1620 / 0.95) / 1536));
  device.multiprocessors = 96;
  CHECK(seconds(2048, 12288, 12288) == Approx(alone));
  device.multiprocessors = 108;
  double last = 0;
  for (int64_t rows = 64; rows <= 8192; rows += 64) {
    CHECK(seconds(rows, 5376, 1792) >= last);
    last = seconds(rows, 5376, 1792);
  }
}

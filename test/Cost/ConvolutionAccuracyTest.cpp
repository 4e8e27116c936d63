// Predicted against measured times of a convolutional network: ResNet-50 on an A100, fp16, each convolution with what
// follows it (bias, sum, ReLU) in one kernel, as the measured runtime has it. No figures layer by layer were found.
#include "Cost/Measurements.h"
#include "apc/Cost/OpCost.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace apc;

namespace {

/// The sum of the costs of a network's ops, one after another.
class Network {
public:
  Network(const std::string &preset, int64_t images)
      : device(llvm::cantFail(loadCluster(preset)).pool.device), rates(device), images(images) {}

  /// `channels` x `size` x `size` to `outputs` channels by windows of `window`, and a sum with a tensor like the
  /// result.
  void addConvolution(int64_t channels, int64_t outputs, int64_t window, int64_t size, int64_t stride, bool isSum) {
    static const RuleText plain = llvm::cantFail(RuleText::parse("n c !h !w, o c !r !s -> n o !y !x"));
    static const RuleText withSum = llvm::cantFail(RuleText::parse("n c !h !w, o c !r !s, n o !y !x -> n o !y !x"));
    int64_t result = size / stride;
    TensorShape out{{images, outputs, result, result}, 16};
    llvm::SmallVector<RuleText::BoundShape, 3> operands = {TensorShape{{images, channels, size, size}, 16},
                                                           TensorShape{{outputs, channels, window, window}, 16}};
    if (isSum)
      operands.push_back(out);
    FactorRule rule = llvm::cantFail((isSum ? withSum : plain).bind(operands, {out}));
    rule.work = Work::Contraction;
    double flops = 2.0 * double(out.numElements()) * double(channels * window * window);
    rule.flopsPerPoint = flops / rule.numPoints();
    add(rule);
  }

  /// Reads `from` elements an image and writes `to`.
  void addStream(int64_t from, int64_t to) {
    FactorRuleBuilder builder;
    FactorId n = builder.addFactor("n", images), i = builder.addWhole("i", from), j = builder.addWhole("j", to);
    builder.addOperand({{n}, {i}}, 16);
    builder.addResult({{n}, {j}}, 16);
    add(builder.take());
  }

  double seconds = 0;

private:
  void add(const FactorRule &rule) {
    llvm::SmallVector<int64_t> sizes;
    for (const Factor &factor : rule.factors)
      sizes.push_back(factor.size);
    seconds += opCost(rule, sizes, NumberFormat::F16, device, rates).seconds();
  }

  Device device;
  DeviceRates rates;
  int64_t images;
};

/// He et al. 2015, Table 1, with the stride in the windows of 3 (v1.5).
double resNet50Seconds(const std::string &preset, int64_t images) {
  Network network(preset, images);
  network.addConvolution(3, 64, 7, 224, 2, false);
  network.addStream(int64_t(64) * 112 * 112, int64_t(64) * 56 * 56);
  int64_t channels = 64, size = 56;
  for (auto [width, blocks] : {std::pair<int64_t, int>(64, 3), {128, 4}, {256, 6}, {512, 3}})
    for (int block = 0; block < blocks; ++block) {
      int64_t stride = width > 64 && block == 0 ? 2 : 1;
      network.addConvolution(channels, width, 1, size, 1, false);
      network.addConvolution(width, width, 3, size, stride, false);
      if (block == 0)
        network.addConvolution(channels, 4 * width, 1, size, stride, false);
      size /= stride;
      channels = 4 * width;
      network.addConvolution(width, channels, 1, size, 1, true);
    }
  network.addStream(channels * size * size, channels);
  network.addConvolution(channels, 1000, 1, 1, 1, false);
  return network.seconds;
}

} // namespace

TEST_CASE("a convolutional network against measurements") {
  std::vector<std::vector<std::string>> rows = readMeasurements("resnet50.csv");
  REQUIRE(rows.size() == 9);
  double sum = 0;
  for (const std::vector<std::string> &row : rows) {
    double predicted = resNet50Seconds(row[0], std::stoll(row[1])) * 1e3, measured = toNumber(row[2]);
    INFO(row[1] << " images: predicted " << predicted << " ms, measured " << measured);
    double error = std::abs(std::log(predicted / measured));
    CHECK(error < 0.25);
    sum += error;
  }
  CHECK(sum / 9 < 0.11);
}

TEST_CASE("No large convolution is above the best known matrix product of its device") {
  for (auto [preset, best] : {std::pair("dgx-a100-80gb", 271.2e12), std::pair("dgx-h100", 794.5e12)}) {
    Network network(preset, 256);
    network.addConvolution(512, 512, 3, 28, 1, false);
    double flops = 2.0 * 256 * 28 * 28 * 512 * 512 * 9;
    INFO(preset << ": " << flops / network.seconds / 1e12 << " TFLOP/s");
    CHECK(flops / network.seconds < best);
    CHECK(flops / network.seconds > 0.7 * best);
  }
}

// Central differences of a weighted sum of results.
#include "GradientCheck.h"

#include "GradientPrograms.h"
#include "GradientsOnRanks.h"

#include <catch2/catch.hpp>

#include <cmath>

namespace apc {

namespace {

/// Weights of the results in the sum that is differentiated, between 1 and 2 in size and of both signs.
Tensor weightsOf(mlir::Type type, size_t result) {
  Tensor weights = zeros(type);
  for (auto [index, value] : llvm::enumerate(weights.floats)) {
    double spread = std::fmod(static_cast<double>(index + 3 * result + 1) * 0.7548776662466927, 1);
    value = (index % 3 == 1 ? -1 : 1) * (1 + spread);
  }
  roundToElement(weights);
  return weights;
}

class Check {
public:
  explicit Check(GradientProgram &&given) : program(std::move(given)) {
    for (mlir::Type type : program.main().getResultTypes())
      weights.push_back(weightsOf(type, weights.size()));
  }

  void holdAgainstDifferences() {
    ReversedProgram reversed = reverse(program);
    REQUIRE(reversed.module);
    whole = gradients(reversed, 1);
    for (unsigned input = 0; input < program.inputs.size(); ++input)
      if (program.inputs[input].isFloat() && (whole[input] || !isCut(input)))
        compare(input);
  }

  /// Twice as much arrives, at one result after another.
  void checkLinearity() {
    std::vector<std::optional<Tensor>> sum(program.inputs.size());
    llvm::SmallVector<bool> arrives(weights.size(), false);
    for (size_t result = 0; result < weights.size(); ++result) {
      if (!weights[result].isFloat())
        continue;
      arrives.assign(weights.size(), false);
      arrives[result] = true;
      ReversedProgram reversed = reverse(program, arrives);
      REQUIRE(reversed.module);
      for (auto [total, part] : llvm::zip_equal(sum, gradients(reversed, 2)))
        if (!total)
          total = part;
        else if (part)
          for (auto [value, more] : llvm::zip_equal(total->floats, part->floats))
            value += more;
    }
    for (auto [input, gradient] : llvm::enumerate(whole)) {
      INFO("linearity of the gradient of input " << input);
      for (size_t i = 0; gradient && i < gradient->floats.size(); ++i)
        CHECK(sum[input].value().floats[i] == Approx(2 * gradient->floats[i]).epsilon(1e-9).margin(1e-9));
    }
  }

private:
  bool isCut(unsigned input) const {
    auto how = program.main().getArgAttrOfType<mlir::StringAttr>(input, inputAttribute);
    return how && how.getValue().starts_with("cut");
  }

  std::vector<std::optional<Tensor>> gradients(ReversedProgram &reversed, double scale) {
    std::vector<Tensor> inputs = program.inputs;
    for (unsigned result : reversed.results) {
      inputs.push_back(weights[result]);
      for (double &value : inputs.back().floats)
        value *= scale;
    }
    std::vector<std::optional<Tensor>> found(program.inputs.size());
    for (auto [input, gradient] : llvm::zip_equal(reversed.inputs, runOn(*reversed.module, inputs)))
      found[input] = gradient;
    return found;
  }

  double weightedSum(llvm::ArrayRef<Tensor> inputs) {
    double sum = 0;
    for (auto [result, weight] : llvm::zip_equal(runOn(*program.module, inputs), weights))
      for (auto [value, factor] : llvm::zip_equal(result.floats, weight.floats))
        sum += value * factor;
    return sum;
  }

  void compare(unsigned input) {
    std::vector<Tensor> moved = program.inputs;
    for (size_t i = 0; i < moved[input].floats.size(); ++i) {
      double &value = moved[input].floats[i], x = value, step = 1e-6 * std::max(1.0, std::fabs(x));
      value = x + step;
      double above = weightedSum(moved);
      value = x - step;
      double below = weightedSum(moved);
      value = x;
      INFO("input " << input << ", element " << i << " of " << x);
      CHECK((whole[input] ? whole[input]->floats[i] : 0) ==
            Approx((above - below) / (2 * step)).epsilon(1e-6).margin(1e-6));
    }
  }

  GradientProgram program;
  std::vector<Tensor> weights;
  std::vector<std::optional<Tensor>> whole;
};

void checkProgram(GradientProgram &&program) {
  CHECK(runOnRanks(program) > 0);
  Check check(std::move(program));
  check.holdAgainstDifferences();
  check.checkLinearity();
}

std::string describe(const OpCase &test) {
  std::string text = test.op + " {" + test.attributes + "}";
  for (const std::string &operand : test.operands)
    text += ", " + operand;
  return text;
}

} // namespace

void checkGradients(const OpCase &test) {
  INFO(describe(test));
  checkProgram(GradientProgram(test));
}

void checkGradients(const char *text) {
  INFO(text);
  checkProgram(GradientProgram(text));
}

std::vector<std::vector<double>> gradientsOf(const OpCase &test, std::vector<std::vector<double>> incoming) {
  INFO(describe(test));
  GradientProgram program(test);
  llvm::SmallVector<bool> arrives;
  std::vector<Tensor> inputs = program.inputs;
  size_t next = 0;
  for (mlir::Type type : program.main().getResultTypes()) {
    Tensor tensor = zeros(type);
    arrives.push_back(tensor.isFloat() && !incoming.at(next).empty());
    if (arrives.back()) {
      REQUIRE(tensor.floats.size() == incoming[next].size());
      tensor.floats = incoming[next];
      inputs.push_back(std::move(tensor));
    }
    next += tensor.isFloat();
  }
  ReversedProgram reversed = reverse(program, arrives);
  REQUIRE(reversed.module);
  std::vector<std::vector<double>> gradients;
  std::vector<Tensor> results = runOn(*reversed.module, inputs);
  for (auto [index, input] : llvm::enumerate(program.inputs))
    if (input.isFloat()) {
      auto found = llvm::find(reversed.inputs, index);
      gradients.push_back(found == reversed.inputs.end() ? std::vector<double>()
                                                         : results[found - reversed.inputs.begin()].floats);
    }
  return gradients;
}

bool isRefused(const OpCase &test) { return !reverse(GradientProgram(test)).module; }
std::string refusalOf(const OpCase &test) { return reverse(GradientProgram(test)).refusal; }

void checkClose(const std::vector<double> &found, const std::vector<double> &expected, double margin) {
  REQUIRE(found.size() == expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    CHECK(found[i] == Approx(expected[i]).margin(margin));
}

} // namespace apc

// Random operators: moments and shares of many draws, and seeds. Pieces are in test/Driver/random.test.
#include "CheckKernels.h"

#include <cmath>

namespace {

/// The result of the only op that draws in `text`.
apc::Tensor draws(const std::string &text) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.loadDialect<apc::ApcDialect>();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  REQUIRE(module);
  apc::OperatorInterface drawing;
  module->walk([&](apc::OperatorInterface op) {
    if (op.evaluate(std::vector<const apc::Tensor *>(op->getNumOperands())))
      drawing = op;
  });
  REQUIRE(drawing);
  auto results = drawing.evaluate(std::vector<const apc::Tensor *>(drawing->getNumOperands()));
  REQUIRE(results);
  results->front().element = {}; // its context ends here
  return results->front();
}

std::string normal(const std::string &attributes) {
  return "%none = apc.none\n%y = \"apc.random_normal\"(%none) {shape = array<i64: 100, 100>" + attributes +
         "} : (none) -> tensor<100x100xf32> loc(\"noise\")\n";
}

} // namespace

TEST_CASE("normal numbers have the mean, the deviation and the tails that are asked for") {
  std::vector<double> numbers = draws(normal(", mean = 3.0 : f32, scale = 2.0 : f32")).floats;
  double sum = 0, squares = 0;
  int64_t beyond = 0;
  for (double x : numbers) {
    sum += x;
    squares += (x - 3) * (x - 3);
    beyond += std::abs(x - 3) > 2 * 1.96;
  }
  // 10,000 draws: three standard errors.
  CHECK(sum / 10000 == Approx(3).margin(3 * 2 / 100.0));
  CHECK(squares / 10000 == Approx(4).margin(3 * 4 * std::sqrt(2.0) / 100));
  CHECK(static_cast<double>(beyond) / 10000 == Approx(0.05).margin(0.0066));
}

TEST_CASE("a seed draws the same numbers each time, another seed others") {
  auto first = draws(normal(", seed = 1.0 : f32")).floats;
  CHECK(first == draws(normal(", seed = 1.0 : f32")).floats);
  CHECK(first != draws(normal(", seed = 2.0 : f32")).floats);
}

// Tolerances, and differences in numbers and in words.
#include "apc/Interpret/Compare.h"

#include "mlir/IR/MLIRContext.h"

#include <catch2/catch.hpp>

#include <limits>

using namespace apc;

TEST_CASE("the first difference is named") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto floats = [&](llvm::SmallVector<int64_t, 4> dims, std::vector<double> values) {
    return Tensor{std::move(dims), mlir::Float32Type::get(&context), {}, std::move(values)};
  };
  auto ints = [&](std::vector<int64_t> values) {
    return Tensor{{2, 2}, mlir::IntegerType::get(&context, 64), std::move(values), {}};
  };
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  auto difference = [&](std::vector<double> got, std::vector<double> expected) {
    auto size = static_cast<int64_t>(got.size());
    return findDifference(floats({size}, got), floats({size}, expected), {}).value_or("none");
  };
  CHECK(difference({1, nan, infinity, 0}, {1.0009, nan, infinity, 1e-8}) == "none");
  CHECK(difference({1, 2, 3}, {1, 2.01, 4}) == "element [1] is 2, expected 2.01 (2 of 3 differ)");
  CHECK(difference({1}, {nan}) != "none");
  CHECK(difference({1}, {infinity}) != "none");
  CHECK(difference({-infinity}, {infinity}) != "none");
  CHECK(difference({1e-6}, {0}) != "none");
  CHECK(difference({0, 50}, {2e-7, 50}) == "none");
  CHECK(difference({0, 1}, {2e-7, 1}) != "none");
  CHECK(*findDifference(floats({2}, {0, 0}), floats({1, 2}, {0, 0}), {}) == "is [2] f32, expected [1, 2] f32");
  CHECK(*findDifference(ints({1, 2, 3, 4}), ints({1, 2, 3, 5}), {}) ==
        "element [1, 1] is 4, expected 5 (1 of 4 differ)");
}

TEST_CASE("tolerances follow the type and the largest element") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto of = [&](mlir::Type element, double largest) {
    return onnxTolerance({{2}, element, {}, {-largest, std::numeric_limits<double>::infinity()}});
  };
  CHECK(of(mlir::Float32Type::get(&context), 0.5).relative == 1e-3);
  CHECK(of(mlir::Float32Type::get(&context), 0.5).absolute == 1e-7);
  CHECK(of(mlir::Float32Type::get(&context), 1024).absolute == 0x1p-13);
  Tensor large{{1}, mlir::Float32Type::get(&context), {}, {1024}};
  CHECK(onnxTolerance(large, 100).absolute == 10 * 0x1p-13);
  CHECK(onnxTolerance(large, 0).absolute == 0x1p-13);
  CHECK(of(mlir::Float16Type::get(&context), 1).relative == 1.0 / 256);
  CHECK(of(mlir::BFloat16Type::get(&context), 1).relative == 1.0 / 32);
}

TEST_CASE("a difference is measured over all elements, against the largest that is expected") {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  auto floats = [&](std::vector<double> values) {
    return Tensor{{static_cast<int64_t>(values.size())}, mlir::Float32Type::get(&context), {}, std::move(values)};
  };
  TensorDifference difference = compare(floats({1, nan, -8, 4}), floats({1, nan, -8.5, 3}), {0, 0.6});
  CHECK(difference.largest == 8.5);
  CHECK(difference.absolute == 1);
  CHECK(difference.count == 1);
  CHECK(difference.first == 3);
  CHECK(compare(floats({nan}), floats({2}), {}).absolute == infinity);
  CHECK_FALSE(compare(floats({1}), floats({1, 2}), {}).isSameType);

  auto ints = [&](std::vector<int64_t> values) {
    return Tensor{{static_cast<int64_t>(values.size())}, mlir::IntegerType::get(&context, 64), std::move(values), {}};
  };
  // Neighbours that doubles do not tell apart.
  int64_t large = int64_t(1) << 60;
  CHECK(compare(ints({large}), ints({large + 1}), {}).absolute == 1);

  std::vector<OutputError> errors =
      outputErrors({"close", "far", "other type"}, {floats({4}), floats({5}), floats({1})},
                   {floats({4.0001}), floats({4}), ints({1})});
  CHECK(errors[0].agrees());
  CHECK_FALSE(errors[1].agrees());
  CHECK(errors[1].relative == 0.25);
  CHECK_FALSE(errors[2].agrees());
}

// The texts of programs for PyTorch; that they compute what they should is tested by running them (test/Runtimes).
#include "Torch/FoldLists.h"
#include "Torch/PythonText.h"
#include "Torch/RollLoops.h"
#include "Torch/TorchFunctions.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <catch2/catch.hpp>

#include <limits>

using namespace apc;
using Lines = std::vector<std::string>;

TEST_CASE("statements that differ in a layer's number become a loop") {
  Lines lines = {"x = f(a)",
                 "x = layer(x, weights[\"h.0.w\"], kept.y[3])",
                 "x = layer(x, weights[\"h.1.w\"], kept.y[2])",
                 "x = layer(x, weights[\"h.2.w\"], kept.y[1])",
                 "x = layer(x, weights[\"h.3.w\"], kept.y[0])",
                 "return x"};
  CHECK(rollLoops(lines) ==
        Lines{"x = f(a)", "for i in range(4):", "    x = layer(x, weights[f\"h.{i}.w\"], kept.y[3 - i])", "return x"});
}

TEST_CASE("a loop may have several statements, and count as its first number does") {
  Lines lines;
  for (int layer : {5, 4, 3})
    for (const char *name : {"a", "b"})
      lines.push_back("update(\"w." + std::to_string(layer) + "." + name + "\", g[" + std::to_string(2 * layer) + "])");
  CHECK(rollLoops(lines) ==
        Lines{"for i in range(5, 2, -1):", "    update(f\"w.{i}.a\", g[2 * i])", "    update(f\"w.{i}.b\", g[2 * i])"});
}

TEST_CASE("numbers that are neither names of weights nor indices stay, and so do few lines") {
  Lines shapes = {"x = x.reshape((4, 5))", "x = x.reshape((4, 6))", "x = x.reshape((4, 7))", "x = x.reshape((4, 8))"};
  CHECK(rollLoops(shapes) == shapes);
  Lines uneven = {"f(\"w.0\")", "f(\"w.1\")", "f(\"w.3\")", "f(\"w.7\")"};
  CHECK(rollLoops(uneven) == uneven);
  Lines names = {"x_1 = f(x_0)", "x_2 = f(x_1)", "x_3 = f(x_2)", "x_4 = f(x_3)"};
  CHECK(rollLoops(names) == names);
  Lines two = {"f(\"w.0\")", "f(\"w.1\")"};
  CHECK(rollLoops(two) == two);
}

TEST_CASE("long statements become a loop where two are alike, and slices move with it") {
  std::string tail = std::string(300, 'x') + ")";
  Lines lines = {"kept.y[0:3] = f(kept.x[4:1:-1], " + tail, "kept.y[3:6] = f(kept.x[5:2:-1], " + tail};
  CHECK(rollLoops(lines) ==
        Lines{"for i in range(4, 6):", "    kept.y[3 * i - 12:3 * i - 9] = f(kept.x[i:i - 3:-1], " + tail});
}

TEST_CASE("tensors of a collective that are entries of tables, or weights of layers, are told as lists") {
  auto textsOf = [](std::initializer_list<ListedTensor> tensors) {
    Lines texts;
    for (const ListedTensor &tensor : foldLists(tensors))
      texts.push_back(tensor.result + " = " + tensor.text + " at " + tensor.place);
    return texts;
  };
  CHECK(textsOf({{"kept.a[0]", "0", "kept.b[2]"},
                 {"x", "0", "y"},
                 {"kept.a[1]", "0", "kept.b[1]"},
                 {"kept.a[2]", "0", "kept.b[0]"}}) == Lines{"kept.b[2::-1] = kept.a[0:3] at 0", "y = x at 0"});
  CHECK(textsOf({{"weights[\"h.4.w1\"]", "0", "kept.w[0]"}, {"weights[\"h.6.w1\"]", "0", "kept.w[1]"}}) ==
        Lines{"kept.w[0:2] = [weights[f\"h.{i}.w1\"] for i in range(4, 8, 2)] at 0"});
  // Other places, other tables, uneven steps.
  CHECK(textsOf({{"kept.a[0]", "0", "kept.b[0]"}, {"kept.a[1]", "1", "kept.b[1]"}, {"kept.a[2]", "0", "b"}}).size() ==
        3);
  CHECK(textsOf({{"kept.a[0]", "0", "kept.b[0]"}, {"kept.a[1]", "0", "kept.b[1]"}, {"kept.a[3]", "0", "kept.b[2]"}}) ==
        Lines{"kept.b[0:2] = kept.a[0:2] at 0", "kept.b[2] = kept.a[3] at 0"});
}

TEST_CASE("numbers that loops count are told so") {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 8; ++j)
      numbers.push_back(4 * j + i);
  CHECK(pythonCounted(numbers) == "[4 * i + j for j in range(4) for i in range(8)]");
  std::swap(numbers[3], numbers[4]);
  CHECK(pythonCounted(numbers) == pythonList(numbers));
  CHECK(pythonCounted({0, 2, 1, 3}) == "[0, 2, 1, 3]");
}

TEST_CASE("numbers are read back as they are, those of 32 bits as short as they can be") {
  CHECK(pythonNumber(double(1e-5F), true) == "1e-05");
  CHECK(pythonNumber(1e-5, false) == "1e-05");
  CHECK(pythonNumber(3, true) == "3.0");
  CHECK(pythonNumber(std::numeric_limits<double>::infinity(), true) == "float(\"inf\")");
  // The shortest text of the greatest float is above it once read as a double, which PyTorch refuses.
  CHECK(pythonNumber(-double(std::numeric_limits<float>::max()), true) == "-3.4028234663852886e+38");
}

TEST_CASE("names are those of the model as Python writes them") {
  CHECK(pythonName("/h.0/c_fc/MatMul") == "h_0_c_fc_mat_mul");
  CHECK(pythonName("onnx::MatMul_458") == "onnx_mat_mul_458");
  CHECK(pythonName("0/weight") == "v_0_weight");
  CHECK(pythonString("a\"b\\\n") == "\"a\\\"b\\\\\\n\"");
  CHECK(pythonTuple({3}) == "(3,)");
}

TEST_CASE("small constants stand in the program, large ones do not") {
  mlir::MLIRContext context;
  mlir::Builder builder(&context);
  auto type = mlir::RankedTensorType::get({2, 2}, builder.getF32Type());
  auto four = mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>{1, 2, 3, 0.5F});
  CHECK(pythonTensor(four) == "torch.tensor([[1.0, 2.0], [3.0, 0.5]], dtype=torch.float32, device=device)");
  auto wide = mlir::RankedTensorType::get({100}, builder.getI64Type());
  CHECK(pythonTensor(mlir::DenseElementsAttr::get(wide, int64_t(7))) ==
        "torch.full((100,), 7, dtype=torch.int64, device=device)");
  std::vector<int64_t> numbers(100);
  numbers[3] = 1;
  CHECK(!pythonTensor(mlir::DenseElementsAttr::get(wide, llvm::ArrayRef(numbers))));
  CHECK(torchType(mlir::IntegerType::get(&context, 16, mlir::IntegerType::Unsigned)).empty());
}

TEST_CASE("lines are broken where Python allows it") {
  std::string call = "x = f(" + std::string(60, 'a') + ", " + std::string(60, 'b') + ")";
  CHECK(wrapLine(call, 4) == "    x = f(" + std::string(60, 'a') + ",\n            " + std::string(60, 'b') + ")\n");
  CHECK(wrapLine("    y, z" + call.substr(1), 4) ==
        "        (y, z) = f(" + std::string(60, 'a') + ",\n                " + std::string(60, 'b') + ")\n");
  std::string words(70, 'c');
  CHECK(wrapLine("x = f()  # " + words, 4) == "    x = f()  # " + words + "\n");
  CHECK(wrapLine("x = f(" + std::string(60, 'a') + ")  # " + words, 4) ==
        "    # " + words + "\n    x = f(" + std::string(60, 'a') + ")\n");
  CHECK(wrapLine("", 4) == "\n");
  std::string results = "return " + std::string(70, 'a') + ", " + std::string(70, 'b');
  CHECK(wrapLine(results, 0) == "return (" + std::string(70, 'a') + ",\n        " + std::string(70, 'b') + ")\n");
}

TEST_CASE("functions of operators stand for the case that their arguments decide") {
  TorchFunctions functions = llvm::cantFail(TorchFunctions::read());
  const TorchFunction *gemm = functions.find("gemm");
  REQUIRE(gemm);
  llvm::StringMap<std::string> arguments = {{"A", "x"},      {"B", "w"},      {"C", "None"},  {"alpha", "1.0"},
                                            {"beta", "1.0"}, {"transA", "0"}, {"transB", "0"}};
  CHECK(expressionFor(*gemm, arguments) == "torch.matmul(x, w)");
  arguments["C"] = "b";
  CHECK(expressionFor(*gemm, arguments) == "torch.addmm(b, x, w)");
  arguments["alpha"] = "0.5";
  std::set<std::string> used;
  CHECK(functions.callThroughModule(*expressionFor(*gemm, arguments), used) ==
        "ops.scaled_product(x, w, b, 0.5, 1.0, 0, 0)");
  CHECK(used == std::set<std::string>{"scaled_product"});
  // `abs` is Python's own; a function of several statements is none for a case.
  CHECK(functions.find("abs")->name == "abs_");
  CHECK(functions.find("no_such_operator") == nullptr);
  CHECK(functions.find("dft")->cases.empty());
}

TEST_CASE("lists are taken apart where an expression asks for their elements") {
  llvm::StringMap<std::string> arguments = {{"x", "[a, f(b, c)]"}, {"dim", "0"}};
  CHECK(replaceNames("x[1] + x[0]", arguments) == "f(b, c) + a");
  CHECK(replaceNames("torch.cat(x, dim=dim).dim()", arguments) == "torch.cat([a, f(b, c)], dim=0).dim()");
  CHECK(replaceNames("torch.einsum(\"x\", *x)", arguments) == "torch.einsum(\"x\", a, f(b, c))");
}

TEST_CASE("a module of functions has those that are asked for, and those that they call") {
  TorchFunctions functions = llvm::cantFail(TorchFunctions::read());
  std::string module = functions.printModule({"reduce_l2"});
  llvm::StringRef text = module;
  CHECK(text.contains("def reduce_l2(data, axes, keepdims, noop_with_empty_axes):"));
  CHECK(text.contains("def sum_over("));
  CHECK(text.contains("def reduced_dims("));
  CHECK(!text.contains("def cum_sum("));
}

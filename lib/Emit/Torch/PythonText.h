// Values of the program as Python writes them.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>
#include <set>
#include <string>

namespace apc {

/// "torch.float32"; "" for a type that PyTorch does not have.
std::string torchType(mlir::Type element);
/// "[1, 2]" and "(1, 2)", "(1,)".
std::string pythonList(llvm::ArrayRef<int64_t> numbers);
std::string pythonTuple(llvm::ArrayRef<int64_t> numbers);
/// A list of at least 16 numbers that loops count as `[2 * i + j for j in range(2) for i in range(8)]`; others as
/// above.
std::string pythonCounted(llvm::ArrayRef<int64_t> numbers);
/// "text" in quotes, escaped as Python wants it.
std::string pythonString(llvm::StringRef text);
/// 0.1, 1e-05, float("inf"): the shortest text that is read back as the same number, of 32 bits where `isSingle`.
std::string pythonNumber(double value, bool isSingle);
/// An attribute of an operator: numbers, text, lists, element types. "None" for a null one.
std::string pythonValue(mlir::Attribute attribute);
/// A tensor that is made on `device`: `torch.tensor([...], dtype=..., device=device)`, or `torch.full` of one value.
/// Empty when it holds more numbers than a program wants to read.
std::optional<std::string> pythonTensor(mlir::DenseElementsAttr value);
/// True for what a name consists of, its first character aside.
bool isNamePart(char c);
/// `text` as a name: "/h.0/c_fc/MatMul" -> "h_0_c_fc_mat_mul".
std::string pythonName(llvm::StringRef text);
/// A line of code, broken behind commas where it is longer than 120 columns. A comment that does not fit behind it goes
/// before it.
std::string wrapLine(const std::string &line, unsigned indent);

/// The names of one Python function.
class PythonNames {
public:
  /// `wanted`, or with a number behind it where it is taken.
  std::string make(llvm::StringRef wanted);
  void take(llvm::StringRef name) { taken.insert(name.str()); }

private:
  std::set<std::string> taken;
};

} // namespace apc

// An ONNX model, written node by node: what an exporter leaves of a model whose weights are elsewhere.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace apc {

/// A dim of a graph input: a number, or a symbol that the importer binds.
using WrittenDim = std::variant<int64_t, std::string>;

struct WrittenAttribute {
  std::string name;
  std::variant<int64_t, double, std::string, std::vector<int64_t>> value;
};

/// Writes one model of floats in 32 bits. Values are called by name; a node is called as its first result.
///
///   OnnxWriter writer("net");
///   std::string x = writer.input("x", {"batch", 8});
///   std::string y = writer.node("MatMul", "y", {x, writer.weight("w", {8, 4})});
///   writer.output(y);
///   importOnnxBytes(writer.take(), "net", options, context);
class OnnxWriter {
public:
  explicit OnnxWriter(llvm::StringRef graph);
  ~OnnxWriter();
  OnnxWriter(OnnxWriter &&) noexcept;

  /// A graph input of floats, or of 64-bit integers.
  std::string input(llvm::StringRef name, llvm::ArrayRef<WrittenDim> dims, bool isInteger = false);
  /// A parameter: an initializer of floats whose data lies in a file that is not there.
  std::string weight(llvm::StringRef name, llvm::ArrayRef<int64_t> dims);
  std::string scalar(llvm::StringRef name, double number);
  std::string integer(llvm::StringRef name, int64_t number);                   ///< no dims
  std::string integers(llvm::StringRef name, llvm::ArrayRef<int64_t> numbers); ///< one dim
  /// A node with one result, of which it returns the name.
  std::string node(llvm::StringRef operatorName, llvm::StringRef result, llvm::ArrayRef<std::string> operands,
                   llvm::ArrayRef<WrittenAttribute> attributes = {});
  /// The same with several results.
  void nodeOf(llvm::StringRef operatorName, llvm::ArrayRef<std::string> results, llvm::ArrayRef<std::string> operands,
              llvm::ArrayRef<WrittenAttribute> attributes = {});
  /// A result of the model: floats of whatever dims.
  void output(llvm::StringRef name);

  /// The bytes of the model; the writer is empty afterwards.
  std::string take();

private:
  struct Model;
  std::unique_ptr<Model> model;
};

} // namespace apc

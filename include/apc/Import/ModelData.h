// Numbers out of ONNX files: the tensors that a model file holds, and tensors in files of their own.
#pragma once

#include "apc/IR/Kernels/Tensor.h"
#include "apc/Support/Error.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace apc {

/// The kind of a graph input or output: a tensor or a sequence of tensors, which can be imported; strings, alone or in
/// a sequence; others.
enum class ValueKind : uint8_t { Tensor, Sequence, Strings, Other };

struct DeclaredValue {
  std::string name;
  ValueKind kind = ValueKind::Tensor;
  bool isOptional = false;
  mlir::Type element; ///< of tensors of numbers and bools, and of sequences of such; null otherwise
};

/// Reads a serialised TensorProto. `what` names it in messages. `declared`, where given, is the element type that it
/// should have: values of bfloat16 that are stored as uint16, as ONNX did before 1.13, are then read as such. Errors
/// (input): not a TensorProto, strings, data that does not fit the dims, data in another file.
llvm::Expected<Tensor> readTensor(llvm::StringRef bytes, llvm::StringRef what, mlir::MLIRContext &context,
                                  mlir::Type declared = {});
/// The same from a file, such as `input_0.pb` of ONNX's operator tests.
llvm::Expected<Tensor> readTensorFile(llvm::StringRef path, mlir::MLIRContext &context, mlir::Type declared = {});

/// The tensors of a sequence, from a file of ONNX's operator tests; none where the declared value is optional and not
/// there. A tensor is a list of one. Errors (input): the file holds another kind of value, or as for `readTensor`.
llvm::Expected<std::optional<std::vector<Tensor>>> readValueFile(llvm::StringRef path, const DeclaredValue &declared,
                                                                 mlir::MLIRContext &context);

/// No file holds data for a tensor: none has its name, it is declared alone, or the file beside the model is not there.
class AbsentData : public llvm::ErrorInfo<AbsentData, PlannerError> {
public:
  static char ID;

  explicit AbsentData(std::string message) : ErrorInfo(Fault::Input, std::move(message)) {}
};

/// A model file, parsed and kept: the declarations of its graph, and its tensors by name. Where shapes are enough,
/// `importOnnx` reads the file with less memory.
class ModelData {
public:
  /// Errors are those of `importOnnx` for files that are no models.
  static llvm::Expected<ModelData> open(llvm::StringRef path);
  ~ModelData();
  ModelData(ModelData &&) noexcept;
  ModelData &operator=(ModelData &&) noexcept;

  /// In the order of the file, initializers that are also inputs included.
  std::vector<DeclaredValue> inputs(mlir::MLIRContext &context) const;
  std::vector<DeclaredValue> outputs(mlir::MLIRContext &context) const;

  /// The initializer or the value of the Constant node of the main graph that is called `name`; external data is read
  /// from its file beside the model. Errors (input): `AbsentData`, also where the file would be outside the model's
  /// folder; data that is damaged, such as a file that is too short.
  llvm::Expected<Tensor> tensor(llvm::StringRef name, mlir::MLIRContext &context) const;

private:
  struct State;
  explicit ModelData(std::unique_ptr<State> state);
  std::unique_ptr<State> state;
};

} // namespace apc

// TensorProto -> element type, dims, constant.
#pragma once

#include "ExternalData.h"
#include "OnnxModel.pb.h"

#include "apc/IR/Progression.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/Support/Error.h"

#include <optional>

namespace apc::onnx {

/// The MLIR element type of an ONNX data type (1 -> f32, 2 -> ui8, 3 -> i8, 9 -> i1, 16 -> bf16, 22 -> i4, ...); null
/// for strings, complex numbers and numbers that ONNX does not define.
mlir::Type elementType(int32_t dataType, mlir::MLIRContext *context);
/// "STRING" for 8; "data type 99" for a number that ONNX does not define.
std::string dataTypeName(int32_t dataType);
/// "has element type STRING; supported are ...", of a type that `elementType` does not know.
std::string refusedType(int32_t dataType);

/// The number of elements; empty when a dim is negative or there are more than 2^60.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> dims);

/// A `data_location` of our own: the file holds the data, and the reader left it out (LeanModel.h).
inline constexpr int32_t dataLeftOut = 0x61706331;

/// Where the data of a tensor is.
enum class DataPlace { Inline, External, Absent };

/// The declaration of a TensorProto, without its data. Errors name `what`: negative or overflowing dims, element types
/// that are not supported.
struct TensorHeader {
  mlir::RankedTensorType type;
  int64_t numElements = 0;
  DataPlace place = DataPlace::Absent;
};
llvm::Expected<TensorHeader> readHeader(const TensorProto &tensor, llvm::StringRef what, mlir::MLIRContext *context);

/// The data of an inline tensor. Errors name `what`: data that is too short or too long for the dims.
llvm::Expected<mlir::DenseElementsAttr> readData(const TensorProto &tensor, const TensorHeader &header,
                                                 llvm::StringRef what);

/// Positions are looked for among numbers of so many bytes at most: 2,097,152 positions.
inline constexpr int64_t mostPositionBytes = int64_t(1) << 24;
/// Integers of 64 bits, as `raw_data` has them, that grow evenly in the order in which they stand there.
std::optional<Progression> positionsIn(llvm::StringRef rawData);
/// The same of an inline tensor, all of whose dims are 1 but one.
std::optional<Progression> positionsIn(const TensorProto &tensor, const TensorHeader &header);

/// A sparse tensor made dense: indices are flat positions [n] or coordinates [n, numDims].
llvm::Expected<mlir::DenseElementsAttr> readSparse(const SparseTensorProto &tensor, const TensorHeader &header,
                                                   llvm::StringRef what);
/// The header of the dense form.
llvm::Expected<TensorHeader> readSparseHeader(const SparseTensorProto &tensor, llvm::StringRef what,
                                              mlir::MLIRContext *context);

/// `external_data` of a tensor.
ExternalData externalData(const TensorProto &tensor);

} // namespace apc::onnx

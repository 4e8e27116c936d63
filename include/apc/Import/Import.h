// model.onnx -> module of apc ops with static shapes. The only room that knows ONNX.
#pragma once

#include "apc/IR/Kernels/Tensor.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace apc {

/// An operator that the planner does not know, as its user describes it: the factor rule by which it is cut, and
/// floating-point operations for each point of the loop nest.
struct OperatorRule {
  std::string rule; ///< "b s d, d -> b s d"
  double flopsPerPoint = 0;
};

struct ImportOptions {
  /// Symbolic dims by name: {"batch", 4}; dims of a value by their places: {"selected.0", 20}.
  std::map<std::string, int64_t> dims;
  /// The symbol that is dim 0 of the first graph input, where `dims` does not bind it.
  std::optional<int64_t> batch = {};
  /// Graph inputs, and float initializers of one element, whose whole name matches are parameters; by default, those
  /// that hold weights by their use (see lib/Import/Module/Weights.h).
  std::optional<std::string> parameters;
  /// Inputs, constants and tensors made from their shape become parameters where they hold weights by their use. False:
  /// they stay as the file has them, which is needed to run the model on given values.
  bool findWeights = true;
  /// Numbers of graph inputs that decide shapes, row by row: {"k", {5}}. Such an input becomes a constant.
  std::map<std::string, std::vector<double>> values = {};
  /// Factor rules of operators that are not known, by ONNX name: {"com.acme.Mix", {"b s d -> b s d", 8}}.
  std::map<std::string, OperatorRule> operators = {};
  /// Operators that are not known are an error, also where the file declares the types of their results.
  bool strict = false;
  /// Names of parameters of which it is known what they are copies of: nothing is noted on them.
  std::set<std::string> tied = {};
  /// Bools that are taken as known, graph inputs or values of nodes: {"use_cache_branch", true}. They say which branch
  /// of an `If` is kept and whether a `Loop` goes on.
  std::map<std::string, bool> conditions;
  /// Values of graph inputs that are known (the `input_N.pb` of ONNX's operator tests). They give the dims of the
  /// input, whatever the file declares, and are used where a shape depends on them; the input stays an input otherwise.
  std::map<std::string, Tensor> inputValues = {};
  /// Constants of more elements than this are kept as parameters (`source` "fill" or "initializer") and not evaluated.
  int64_t maxConstantElements = 1 << 16;
  /// The most nodes, inputs and outputs that the trips of all loops of the model may become together.
  int64_t maxUnrolled = 1 << 16;
};

/// How the model's authors would cut the tensors of one node (ONNX IR 11: `NodeProto.device_configurations`).
struct NodeSharding {
  std::string node;
  struct Tensor {
    std::string name;
    bool isOutput = false;           ///< of the node; or an input
    unsigned index = 0;              ///< of input or output
    std::map<int64_t, int64_t> ways; ///< dim -> parts; negative dims count from the last
    int64_t numHolders = 0;          ///< devices that hold a part; 0 when the model does not say
    int64_t lastHolder = -1;         ///< the greatest of their numbers
  };
  std::vector<Tensor> tensors;
  std::string configuration;
  int64_t numDevices = 0; ///< of the configuration; 0 when the model does not say
  int64_t stage = 0;      ///< of a pipeline
};

/// Facts about the model beside the module.
struct ImportReport {
  std::string sha256;                                          ///< of the model file
  int64_t numNodes = 0;                                        ///< in the file's graph, before inlining functions
  std::map<std::string, int64_t> operators;                    ///< ONNX name -> count after inlining
  std::map<std::string, std::vector<std::string>> unsupported; ///< ONNX name -> node names
  std::map<std::string, std::vector<std::string>> opaque;      ///< operators that nobody knows, likewise
  std::vector<std::string> unresolved;                         ///< values whose shape could not be derived
  std::vector<NodeSharding> shardings;                         ///< in node order
  std::map<std::string, std::string> unknownDims;              ///< notes on bindings of dims that the model lacks
  std::vector<std::string> notes;                              ///< "input 'past' bound to dim ..." and the like
};

/// Data of parameters that were computed from other constants when the model was read, by name: no file has it.
using FoldedWeights = std::map<std::string, mlir::DenseElementsAttr>;

struct ImportedModel {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ImportReport report;
  FoldedWeights folded = {};
};

/// Reads a model. The module holds one `func.func @main`: arguments are the user's inputs (argument attribute
/// `apc.name`), parameters are `apc.parameter` ops, results carry the result attribute `apc.name`. Each op has the ONNX
/// node's name as location (NameLoc; `Add_17` style for unnamed nodes) and the discardable attribute `apc.values`, the
/// ONNX names of its results ("" for absent ones). Dead ops are removed; constants are folded. Of external
/// data, small tensors of integers and bools, tensors of one element, and small tensors that decide a shape are read.
/// Loads the dialects that the module needs into `context`.
///
/// Errors (input errors that name file, node and value): not a model, unbound symbolic dims (all of them, with the
/// flag), unsupported operators (all, with node names), shapes that cannot be derived, cycles, undefined or duplicated
/// values, overflowing dims, functions that recurse.
llvm::Expected<ImportedModel> importOnnx(llvm::StringRef path, const ImportOptions &options,
                                         mlir::MLIRContext &context);
/// The same from bytes; `source` names them in messages.
llvm::Expected<ImportedModel> importOnnxBytes(llvm::StringRef bytes, llvm::StringRef source,
                                              const ImportOptions &options, mlir::MLIRContext &context);

/// For `apc inspect`: as above, but unsupported operators and unresolved values are entered in the report instead of an
/// error. The module is null when it cannot be built.
llvm::Expected<ImportedModel> inspectOnnx(llvm::StringRef path, const ImportOptions &options,
                                          mlir::MLIRContext &context);

} // namespace apc

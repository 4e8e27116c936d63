// Binds the dims of graph inputs to numbers.
#pragma once

#include "OnnxModel.pb.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace apc::onnx {

/// A tensor's dims, and whether any was symbolic.
struct BoundDims {
  llvm::SmallVector<int64_t, 4> dims;
  bool symbolic = false;
};

/// Looks dims up among the user's bindings. A dim is bound by its name (`batch`), by the names in its expression
/// (`past_seq_len+seq_len`), or by input and position (`input_ids.0`) when it has neither; position wins over name.
/// Dims without a binding are gathered, so that one error lists them all. A dim that is a number in
/// the file takes no other one.
class DimBinder {
public:
  /// `graph` tells which names stand alone: only those are taken for the names in an expression, so that `batch-size`
  /// may be a name. `batch` is bound to the name that leads the first input, unless a binding has it for
  /// several samples: a graph of one sample has no batch that could be changed to others.
  DimBinder(const std::map<std::string, int64_t> &bindings, const GraphProto &graph, std::optional<int64_t> batch = {});

  /// The dims of input `name`; empty when some are not bound (see `takeError`).
  std::optional<BoundDims> bind(llvm::StringRef name, const TypeProto::Tensor &type);

  /// The number of elements of the sequence that input `name` is, bound as `NAME.length`.
  std::optional<int64_t> lengthOf(llvm::StringRef name) { return lookUp((name + ".length").str()); }

  /// One dim of input `name`, without a request for it where it is not bound.
  std::optional<int64_t> known(llvm::StringRef name, size_t position, const TensorShapeProto::Dimension &dim);

  /// One error that names a binding against the file, or else every unbound dim with the flag that binds it; success
  /// when there is none.
  llvm::Error takeError(llvm::StringRef source) const;
  /// Bindings that no input asked for.
  std::vector<std::string> unusedBindings() const;

private:
  std::optional<int64_t> lookUp(llvm::StringRef key);
  std::optional<int64_t> bindText(llvm::StringRef text);
  std::optional<BoundDims> bindMissingShape(llvm::StringRef name);
  void needText(llvm::StringRef text, llvm::StringRef input, size_t position);
  void need(llvm::StringRef key, llvm::StringRef input, size_t position);

  std::map<std::string, int64_t> bindings;
  llvm::StringSet<> plainNames;
  std::set<std::string> used;
  std::vector<std::string> unbound;        ///< keys in order of appearance
  llvm::StringMap<std::string> whereFound; ///< key -> "dim 1 of 'input_ids'"
  std::vector<std::string> withoutShape;   ///< inputs of unknown number of dims
  std::string contradiction;               ///< of the first binding that is another number than the file's
};

} // namespace apc::onnx

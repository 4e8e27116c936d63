// Copies shards with memory that does not depend on the model's size.
#include "WeightShards.h"

#include "DecodeVarints.h"

#include "apc/Checkpoint/WeightSource.h"
#include "apc/Support/Error.h"

#include "llvm/Support/FileSystem.h"

namespace apc {

namespace {

/// Copies one piece without its padding. Sizes are in units: bytes, or bits for elements smaller than a byte.
class ShardCopier {
public:
  ShardCopier(const ByteLayout &layout, const Shard &shard, const ManifestParameter &parameter, WeightSource &source,
              OutputFile &out)
      : shard(shard), parameter(parameter), source(source), out(out), whole(layout.shape.dims) {
    scalar = layout.shape.elementBits / 8;
    block.assign(whole.size(), scalar);
    for (size_t dim = whole.size(); dim-- > 1;)
      block[dim - 1] = block[dim] * whole[dim];
    innermost = whole.empty() ? 0 : whole.size() - 1;
    while (innermost > 0 && whole[innermost] == shard.count[innermost])
      --innermost;
    gap = whole.empty() ? 0 : block[innermost] * (whole[innermost] - shard.count[innermost]);
  }
  /// Copies the whole tensor.
  ShardCopier(const Shard &none, const ManifestParameter &parameter, WeightSource &source, OutputFile &out)
      : shard(none), parameter(parameter), source(source), out(out), scalar(parameter.data.length) {}

  llvm::Error run() { return whole.empty() ? copy(0, scalar) : copyDim(0, 0); }

private:
  /// The part of the piece below dim `dim`, whose source starts at `from`.
  llvm::Error copyDim(size_t dim, int64_t from) {
    from += shard.begin[dim] * block[dim];
    if (dim == innermost)
      return copy(from, shard.count[dim] * block[dim]);
    for (int64_t i = 0; i < shard.count[dim]; ++i)
      if (llvm::Error error = copyDim(dim + 1, from + i * block[dim]))
        return error;
    return llvm::Error::success();
  }

  llvm::Error copy(int64_t from, int64_t bytes) {
    while (bytes > 0) {
      int64_t part = std::min(bytes, WeightSource::windowBytes), at = parameter.data.offset + from;
      from += part;
      bytes -= part;
      if (source.isHole(at, part)) {
        if (llvm::Error error = out.writeZeros(part))
          return error;
        continue;
      }
      auto text = source.read(at, part, gap);
      if (!text)
        return text.takeError();
      if (llvm::Error error = out.write(*text))
        return error;
    }
    return llvm::Error::success();
  }

  const Shard &shard;
  const ManifestParameter &parameter;
  WeightSource &source;
  OutputFile &out;
  llvm::SmallVector<int64_t, 4> whole, block; ///< of each dim: its extent, and the bytes between neighbours along it
  int64_t scalar = 0;
  size_t innermost = 0; ///< the dims after it are whole
  int64_t gap = 0;      ///< the distance to the next run; the source reads ahead where it is short
};

/// The header of a file of weights.
std::string headerOf(const Manifest &manifest, const WeightFile &file) {
  std::vector<StoredPiece> pieces;
  for (WeightFile::Piece piece : file.pieces) {
    const ManifestParameter &parameter = manifest.parameters[piece.tensor];
    const ByteLayout &layout = manifest.layouts[parameter.layout];
    llvm::StringRef type = parameter.data.storedType.empty() ? parameter.elementType : parameter.data.storedType;
    pieces.push_back(storedPiece(parameter.name, type, layout.shape.elementBits, layout,
                                 parameter.isStoredWhole ? std::nullopt : std::optional(piece.shard)));
  }
  return pieceFileHeader(pieces);
}

} // namespace

llvm::Error checkWeights(const Manifest &manifest) {
  std::string absent;
  for (const ManifestParameter &parameter : manifest.parameters)
    if (!parameter.data.absent.empty() && parameter.data.bytes.empty())
      absent += (absent.empty() ? "'" : ", '") + parameter.name + "' (" + parameter.data.absent + ")";
  if (!absent.empty())
    return inputError("--weights: the model has no data of {0}; leave out --weights to emit the program and the "
                      "manifest alone",
                      absent);
  for (const ManifestParameter &parameter : manifest.parameters) {
    const ParameterData &data = parameter.data;
    if (!data.bytes.empty() || !data.begins.empty())
      continue;
    uint64_t found = 0;
    auto needed = static_cast<uint64_t>(data.offset + data.length);
    if (std::error_code code = llvm::sys::fs::file_size(data.path, found))
      return inputError("{0}: the weights of parameter '{1}' (bytes {2} to {3}) cannot be read: {4}", data.path,
                        parameter.name, data.offset, needed, code.message());
    if (found < needed)
      return inputError("{0}: is short: parameter '{1}' needs {2} bytes of it, found are {3}", data.path,
                        parameter.name, needed, found);
  }
  return llvm::Error::success();
}

llvm::Error writeWeights(const Manifest &planned, llvm::StringRef prefix, OutputFolder &out,
                         std::vector<EmittedFile> &files) {
  auto decoded = decodeAll(planned, out);
  if (!decoded)
    return decoded.takeError();
  const Manifest &manifest = *decoded;
  WeightSource source;
  for (auto [index, pieces] : llvm::enumerate(manifest.weightFiles)) {
    std::string name = prefix.str() + weightFileName(index);
    auto file = out.open(name);
    if (!file)
      return file.takeError();
    if (llvm::Error error = (*file)->write(headerOf(manifest, pieces)))
      return error;
    for (WeightFile::Piece piece : pieces.pieces) {
      const ManifestParameter &parameter = manifest.parameters[piece.tensor];
      const ByteLayout &layout = manifest.layouts[parameter.layout];
      const Shard &shard = layout.shards[piece.shard];
      if (llvm::Error error = out.checkInterrupt())
        return error;
      if (llvm::Error error = source.open(parameter.data.path))
        return error;
      ShardCopier copier = parameter.isStoredWhole ? ShardCopier(shard, parameter, source, **file)
                                                   : ShardCopier(layout, shard, parameter, source, **file);
      if (llvm::Error error = copier.run())
        return error;
    }
    int64_t size = (*file)->size();
    if (llvm::Error error = (*file)->close())
      return error;
    files.push_back({name, size});
  }
  out.discard(decodedFolder);
  return llvm::Error::success();
}

} // namespace apc

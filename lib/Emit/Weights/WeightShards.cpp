// Copies shards with memory that does not depend on the model's size.
#include "WeightShards.h"

#include "DecodeVarints.h"
#include "WeightSource.h"

#include "apc/Support/Error.h"

#include "llvm/Support/FileSystem.h"

namespace apc {

namespace {

/// Copies one piece. Sizes are in units: bytes, or bits for elements smaller than a byte.
class ShardCopier {
public:
  ShardCopier(const ByteLayout &layout, const Shard &shard, const ManifestParameter &parameter, WeightSource &source,
              OutputFile &out)
      : shard(shard), parameter(parameter), source(source), out(out), isOfBits(layout.shape.elementBits < 8) {
    int64_t element = isOfBits ? layout.shape.elementBits : layout.shape.elementBits / 8;
    whole.assign(layout.shape.dims.begin(), layout.shape.dims.end());
    local.assign(layout.localShape.dims.begin(), layout.localShape.dims.end());
    wholeBlock.assign(whole.size(), element);
    localBlock.assign(whole.size(), element);
    for (size_t dim = whole.size(); dim-- > 1;) {
      wholeBlock[dim - 1] = wholeBlock[dim] * whole[dim];
      localBlock[dim - 1] = localBlock[dim] * local[dim];
    }
    innermost = whole.empty() ? 0 : whole.size() - 1;
    auto isWhole = [&](size_t dim) {
      return shard.runs[dim].size() == 1 && whole[dim] == shard.count[dim] && whole[dim] == local[dim];
    };
    while (innermost > 0 && isWhole(innermost))
      --innermost;
    scalar = element;
  }

  llvm::Error run() {
    if (llvm::Error error = whole.empty() ? copy(0, scalar) : copyDim(0, 0))
      return error;
    return pendingBits == 0 ? llvm::Error::success() : pad(8 - pendingBits);
  }

private:
  /// The part of the piece below dim `dim`, whose source starts at `from`.
  llvm::Error copyDim(size_t dim, int64_t from) {
    for (const DimRun &run : shard.runs[dim])
      if (llvm::Error error = copyRun(dim, from + run.begin * wholeBlock[dim], run))
        return error;
    return llvm::Error::success();
  }

  /// The elements of one run of a dim, and the padding behind them.
  llvm::Error copyRun(size_t dim, int64_t from, const DimRun &run) {
    if (dim == innermost) {
      if (llvm::Error error = copy(from, run.count * wholeBlock[dim]))
        return error;
    } else {
      for (int64_t i = 0; i < run.count; ++i)
        if (llvm::Error error = copyDim(dim + 1, from + i * wholeBlock[dim]))
          return error;
    }
    return pad((run.room - run.count) * localBlock[dim]);
  }

  llvm::Error copy(int64_t from, int64_t units) {
    if (!isOfBits)
      return copyBytes(from, units);
    if (from % 8 == 0 && units % 8 == 0 && pendingBits == 0)
      return copyBytes(from / 8, units / 8);
    for (int64_t bit = from; bit < from + units; ++bit) {
      auto byte = source.read(parameter.data.offset + bit / 8, 1, 1);
      if (!byte)
        return byte.takeError();
      if (llvm::Error error = put((static_cast<unsigned char>(byte->front()) >> (bit % 8)) & 1))
        return error;
    }
    return llvm::Error::success();
  }

  llvm::Error copyBytes(int64_t from, int64_t bytes) {
    // The distance to the next run; the source reads ahead where it is short.
    int64_t gap = whole.empty() ? 0 : wholeBlock[innermost] * (whole[innermost] - shard.count[innermost]);
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

  llvm::Error pad(int64_t units) {
    if (!isOfBits || (units % 8 == 0 && pendingBits == 0))
      return out.writeZeros(isOfBits ? units / 8 : units);
    for (int64_t i = 0; i < units; ++i)
      if (llvm::Error error = put(0))
        return error;
    return llvm::Error::success();
  }

  /// Lowest bits first.
  llvm::Error put(int bit) {
    pending = static_cast<unsigned char>(pending | (bit << pendingBits));
    if (++pendingBits < 8)
      return llvm::Error::success();
    char full = static_cast<char>(pending);
    pending = 0;
    pendingBits = 0;
    return out.write({&full, 1});
  }

  const Shard &shard;
  const ManifestParameter &parameter;
  WeightSource &source;
  OutputFile &out;
  bool isOfBits;
  /// For each dim: its extents, and the units between neighbours along it.
  llvm::SmallVector<int64_t, 4> whole, local, wholeBlock, localBlock;
  int64_t scalar = 0;
  size_t innermost = 0; ///< the dims after it are whole
  unsigned char pending = 0;
  int pendingBits = 0;
};

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
  for (auto [index, rank] : llvm::enumerate(manifest.rankOfFile)) {
    std::string name = prefix.str() + weightFileName(index);
    auto file = out.open(name);
    if (!file)
      return file.takeError();
    for (const ManifestParameter &parameter : manifest.parameters) {
      if (!parameter.data.begins.empty())
        continue;
      const ByteLayout &layout = manifest.layouts[parameter.layout];
      const Shard &shard = layout.shards[layout.shardOfRank[static_cast<size_t>(rank)]];
      if (llvm::Error error = out.checkInterrupt())
        return error;
      if (llvm::Error error = (*file)->writeZeros(parameter.shardOffset - (*file)->size()))
        return error;
      if (llvm::Error error = source.open(parameter.data.path))
        return error;
      if (llvm::Error error = ShardCopier(layout, shard, parameter, source, **file).run())
        return error;
    }
    if (llvm::Error error = (*file)->writeZeros(manifest.fileBytes - (*file)->size()))
      return error;
    if (llvm::Error error = (*file)->close())
      return error;
    files.push_back({name, manifest.fileBytes});
  }
  out.discard(decodedFolder);
  return llvm::Error::success();
}

} // namespace apc

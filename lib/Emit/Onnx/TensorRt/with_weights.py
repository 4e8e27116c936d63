"""Complete models of ranks: their weights, which the models take as inputs, become initializers.

with_weights.py [RANK...]   writes rank-NNNN-full.onnx and its data beside it, for all ranks where none is named
"""
import re
import sys
from pathlib import Path

import onnx
import onnx.numpy_helper

from loading import TYPES, read_piece, type_of
from manifest import read_manifest


def complete(folder, manifest, rank):
    """Writes the model of one rank with its weights."""
    model = onnx.load(folder / f"rank-{rank:04}.onnx")
    parameters = {parameter["name"]: parameter for parameter in manifest["parameters"]}
    taken = [value for value in model.graph.input if value.name in parameters]
    for value in taken:
        parameter = parameters[value.name]
        dtype = type_of(parameter["element_type"], TYPES, value.name)
        piece = read_piece(folder, manifest, parameter, rank).astype(dtype, copy=False)
        model.graph.initializer.append(onnx.numpy_helper.from_array(piece, value.name))
        model.graph.input.remove(value)
    name = f"rank-{rank:04}-full.onnx"
    (folder / (name + ".data")).unlink(missing_ok=True)
    onnx.save_model(model, folder / name, save_as_external_data=True, location=name + ".data")
    print(f"{name}: {len(taken)} weights")


def main():
    folder = Path(__file__).resolve().parent
    manifest = read_manifest(folder)
    if "weights" not in manifest:
        sys.exit(f"{folder}: has no weights; 'apc emit PLAN --format tensorrt --weights' writes them")
    found = sorted(int(match[1]) for path in folder.iterdir() if (match := re.fullmatch(r"rank-(\d+)\.onnx", path.name)))
    ranks = [int(word) for word in sys.argv[1:]] or found
    for rank in ranks:
        if rank not in found:
            sys.exit(f"rank {rank}: there is no model of it; there are {', '.join(map(str, found))}")
        complete(folder, manifest, rank)


if __name__ == "__main__":
    main()

"""The mesh and the cuts of tensors, as manifest.json describes them."""
import json
import re
from pathlib import Path


def read_manifest(folder):
    return json.loads((Path(folder) / "manifest.json").read_text())


def mesh_of(manifest):
    return {axis["name"]: axis["size"] for axis in manifest["mesh"]}


def read_sharding(text):
    """The axes of each dim, and the sizes of its parts: "[x0{256 128}, -, (x1 x2)]"."""
    dims = []
    for dim in re.findall(r"-|\([^)]*\)(?:\{[^}]*\})?|[^\s,\[\](){}]+(?:\{[^}]*\})?", text[1:text.rindex("]")]):
        axes, _, parts = dim.rstrip("}").partition("{")
        dims.append(([] if axes == "-" else axes.strip("()").split(), [int(size) for size in parts.split()]))
    return dims

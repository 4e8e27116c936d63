"""The mesh and the cuts of tensors, as manifest.json describes them."""
import json
import re
from pathlib import Path


def read_manifest(folder):
    return json.loads((Path(folder) / "manifest.json").read_text())


def mesh_of(manifest):
    return {axis["name"]: axis["size"] for axis in manifest["mesh"]}


def add_numbers(given, manifest, step, learning_rate):
    """Adds the numbers of a step to the inputs, where they have none: its own, which counts from 1, the learning rate, and
    for random numbers a draw for each micro-batch, (step - 1) * micro-batches + micro-batch."""
    count = manifest.get("micro_batches", 1)
    draws = [(step - 1) * count + index for index in range(count)]
    numbers = {"step": step, "learning_rate": learning_rate, "draw": draws}
    for entry in manifest["inputs"]:
        if "number" in entry:
            given.setdefault(entry["name"], numbers[entry["number"]])


def read_sharding(text):
    """The axes of each dim, and the sizes of its parts: "[x0{256 128}, -, (x1 x2)]"."""
    dims = []
    for dim in re.findall(r"-|\([^)]*\)(?:\{[^}]*\})?|[^\s,\[\](){}]+(?:\{[^}]*\})?", text[1:text.rindex("]")]):
        axes, _, parts = dim.rstrip("}").partition("{")
        dims.append(([] if axes == "-" else axes.strip("()").split(), [int(size) for size in parts.split()]))
    return dims

"""The pieces of inputs, weights and outputs, as manifest.json describes them."""
import itertools
import json
import math
from pathlib import Path

import numpy

from collectives import coordinates_of, cut_part, join_part, number_of, pad, piece_size
from manifest import mesh_of, read_sharding

TYPES = {
    "f64": numpy.float64, "f32": numpy.float32, "f16": numpy.float16, "i64": numpy.int64, "i32": numpy.int32,
    "i16": numpy.int16, "i8": numpy.int8, "si8": numpy.int8, "ui8": numpy.uint8, "i1": numpy.bool_,
}
SAFETENSORS_TYPES = {
    "F64": numpy.float64, "F32": numpy.float32, "F16": numpy.float16, "I64": numpy.int64, "I32": numpy.int32,
    "I16": numpy.int16, "I8": numpy.int8, "U8": numpy.uint8, "BOOL": numpy.bool_,
}


def type_of(name, types, owner):
    if name not in types:
        raise SystemExit(f"{owner}: numpy has no arrays of {name}")
    return types[name]


def read_tensor(path, name):
    """One tensor of a file of safetensors."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(length))[name]
        begin, end = entry["data_offsets"]
        file.seek(8 + length + begin)
        dtype = type_of(entry["dtype"], SAFETENSORS_TYPES, name)
        return numpy.frombuffer(file.read(end - begin), dtype=dtype).reshape(entry["shape"])


def read_functions(folder):
    """The functions of steps.json, by name."""
    return json.loads((Path(folder) / "steps.json").read_text())["functions"]


def split_at_ends(steps):
    """The parts of the work for one micro-batch, and what follows the last of all micro-batches."""
    parts = [[]]
    for step in steps:
        if "end" in step:
            parts.append([])
        else:
            parts[-1].append(step)
    has_update = any(step.get("end") == "micro_batch" for step in steps)
    return (parts[:-1], parts[-1]) if has_update else (parts, [])


def piece_of(whole, sharding, mesh, number):
    """The piece of a whole tensor that a rank holds; padding is zero."""
    coordinates = coordinates_of(mesh, number)
    for dim, (axes, parts) in enumerate(read_sharding(sharding)):
        if not axes:
            continue
        index = number_of({axis: mesh[axis] for axis in axes}, coordinates)
        places = itertools.accumulate(parts[:-1])
        pieces = [cut_part(part, dim, [mesh[axis] for axis in axes])[index] for part in numpy.split(whole, list(places), dim)]
        whole = numpy.concatenate(pieces, dim)
    return numpy.ascontiguousarray(whole)


def assemble(pieces, shape, sharding, mesh):
    """The whole tensor of the pieces of all ranks of a mesh, in their order."""
    dims = read_sharding(sharding)
    used = [axis for axes, _ in dims for axis in axes]
    whole_of = {}
    for coordinates in itertools.product(*(range(mesh[axis]) for axis in used)):
        place = {**dict.fromkeys(mesh, 0), **dict(zip(used, coordinates))}
        whole_of[coordinates] = pieces[number_of(mesh, place)]
    for dim in reversed(range(len(dims))):
        axes, parts = dims[dim]
        ways, sizes, joined = [mesh[axis] for axis in axes], parts or [shape[dim]], {}
        held = list(itertools.accumulate(piece_size(size, ways) for size in sizes))[:-1]
        for coordinates in {key[:len(key) - len(axes)] for key in whole_of}:
            along = [whole_of[coordinates + rest] for rest in itertools.product(*(range(way) for way in ways))]
            of_parts = zip(*(numpy.split(piece, held, dim) for piece in along))
            joined[coordinates] = numpy.concatenate(
                [join_part(list(part), dim, ways, size) for part, size in zip(of_parts, sizes)], dim)
        whole_of = joined
    return whole_of[()]


def read_piece(folder, manifest, parameter, number):
    """A parameter's piece of one rank from the files of weights, with its padding."""
    files = [Path(folder) / name for name in manifest["weights"]["files"]]
    if "whole_in_file" in parameter:
        whole = read_tensor(files[parameter["whole_in_file"]], parameter["name"])
        return piece_of(whole, parameter["sharding"], mesh_of(manifest), number)
    shard = manifest["layouts"][parameter["layout"]]["shard_of_rank"][number]
    place = parameter["file_of_shard"][shard]
    if place < 0:  # padding alone
        return numpy.zeros(parameter["local_shape"])
    piece = read_tensor(files[place], parameter["name"])
    for dim, size in enumerate(parameter["local_shape"]):
        piece = pad(piece, dim, size)
    return piece


def load_weights(folder, manifest):
    """For each parameter the pieces of all ranks: those of weights from the files, of states as they begin."""
    weights, known = {}, {parameter["name"]: parameter for parameter in manifest["parameters"]}
    mesh = mesh_of(manifest)
    ranks = range(math.prod(mesh.values()))
    for name, parameter in known.items():
        dtype, begins = type_of(parameter["element_type"], TYPES, name), parameter.get("begins", "")
        if begins == "zeros":
            pieces = [numpy.zeros(parameter["local_shape"], dtype)] * len(ranks)
        elif begins.startswith("copy of "):
            source = known[begins[len("copy of "):]]
            whole = assemble([read_piece(folder, manifest, source, number) for number in ranks], source["shape"],
                             source["sharding"], mesh)
            pieces = [piece_of(whole, parameter["sharding"], mesh, number) for number in ranks]
        else:
            pieces = [read_piece(folder, manifest, parameter, number) for number in ranks]
        weights[name] = [piece.astype(dtype, copy=False) for piece in pieces]
    return weights


def split_input(given, entry, manifest, index):
    """The pieces of all ranks of an input of one micro-batch. A tensor that has as many times the elements of the input
    along some dim as there are micro-batches is split along that dim, a list of as many numbers for an input without dims
    is taken number by number; one of the input's shape goes with each."""
    count, shape, mesh = manifest.get("micro_batches", 1), entry["shape"], mesh_of(manifest)
    if entry["name"] not in given:
        raise SystemExit(f"input {entry['name']} is not in the file of inputs, which has {', '.join(sorted(given))}")
    tensor = numpy.asarray(given[entry["name"]], dtype=type_of(entry["element_type"], TYPES, entry["name"]))
    if not shape and list(tensor.shape) == [count]:
        tensor = tensor[index]
    for dim, size in enumerate(shape):
        if tensor.ndim == len(shape) and tensor.shape[dim] == size * count:
            tensor = tensor.take(range(index * size, (index + 1) * size), dim)
    if list(tensor.shape) != shape:
        raise SystemExit(f"input {entry['name']} has shape {list(tensor.shape)}, the program takes {shape} in each of "
                         f"{count} micro-batches")
    return [piece_of(tensor, entry["sharding"], mesh, number) for number in range(math.prod(mesh.values()))]

"""The pieces of inputs, weights and outputs, as manifest.json describes them."""
import itertools
import json
import math
from pathlib import Path

import torch

from collectives import Rank, cut_part, join_part, pad, piece_size
from manifest import mesh_of, read_sharding

TYPES = {
    "f64": torch.float64, "f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i64": torch.int64,
    "i32": torch.int32, "i16": torch.int16, "i8": torch.int8, "si8": torch.int8, "ui8": torch.uint8, "i1": torch.bool,
}


SAFETENSORS_TYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "I64": torch.int64,
    "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8, "BOOL": torch.bool,
}


def read_header(path):
    """The tensors of a file of safetensors, by name, and where their data begin."""
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
    header.pop("__metadata__", None)
    return header, 8 + length


def read_tensor(path, name):
    """One tensor of a file of safetensors."""
    header, start = read_header(path)
    begin, end = header[name]["data_offsets"]
    dtype, shape = SAFETENSORS_TYPES[header[name]["dtype"]], header[name]["shape"]
    if begin == end:
        return torch.zeros(shape, dtype=dtype)
    with open(path, "rb") as file:
        file.seek(start + begin)
        return torch.frombuffer(bytearray(file.read(end - begin)), dtype=dtype).reshape(shape)


def read_tensors(path, device):
    """All tensors of a file of safetensors, by name."""
    return {name: read_tensor(path, name).to(device) for name in read_header(path)[0]}


def piece_of(whole, sharding, mesh, number):
    """The piece of a whole tensor that a rank holds; padding is zero."""
    rank = Rank(mesh, number)
    for dim, (axes, parts) in enumerate(read_sharding(sharding)):
        if axes:
            sizes = parts or [whole.shape[dim]]
            pieces = [cut_part(part, dim, rank.ways(axes))[rank.index(axes)] for part in whole.split(sizes, dim)]
            whole = torch.cat(pieces, dim)
    return whole.contiguous()


def assemble(pieces, shape, sharding, mesh):
    """The whole tensor of the pieces of all ranks of a mesh, in their order."""
    whole_of = {}
    dims = read_sharding(sharding)
    used = [axis for axes, _ in dims for axis in axes]
    for coordinates in itertools.product(*(range(mesh[axis]) for axis in used)):
        place = dict(zip(used, coordinates))
        number = 0
        for axis in mesh:
            number = number * mesh[axis] + place.get(axis, 0)
        whole_of[coordinates] = pieces[number]
    for dim in reversed(range(len(dims))):
        axes, parts = dims[dim]
        ways, joined = [mesh[axis] for axis in axes], {}
        sizes = parts or [shape[dim]]
        for coordinates in {key[:len(key) - len(axes)] for key in whole_of}:
            along = [whole_of[coordinates + rest] for rest in itertools.product(*(range(way) for way in ways))]
            split = [piece.split([piece_size(size, ways) for size in sizes], dim) for piece in along]
            joined[coordinates] = torch.cat([join_part(p, dim, ways, s) for p, s in zip(zip(*split), sizes)], dim)
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
        return torch.zeros(parameter["local_shape"], dtype=TYPES[parameter["element_type"]])
    piece = read_tensor(files[place], parameter["name"])
    for dim, size in enumerate(parameter["local_shape"]):
        piece = pad(piece, dim, size)
    return piece


def read_whole(folder, manifest, parameter):
    if "whole_in_file" in parameter:
        path = Path(folder) / manifest["weights"]["files"][parameter["whole_in_file"]]
        return read_tensor(path, parameter["name"])
    count = math.prod(mesh_of(manifest).values())
    pieces = [read_piece(folder, manifest, parameter, number) for number in range(count)]
    return assemble(pieces, parameter["shape"], parameter["sharding"], mesh_of(manifest))


def data_of(folder, manifest, saved):
    """Folder and manifest of the files of a stage, and the parameters in them, by name: a checkpoint's, where `saved` names
    one (its folder and manifest), or the program's own."""
    folder, source = saved or (folder, manifest)
    held = {entry["name"]: entry for entry in source["parameters"] if "file_of_shard" in entry or "whole_in_file" in entry}
    for entry in manifest["parameters"]:
        name = entry["name"]
        if name not in held and not entry.get("begins"):
            raise SystemExit(f"{folder}: has no data of {name}; 'apc emit --weights' writes weights, --load reads a checkpoint")
        if name in held and (held[name]["sharding"], mesh_of(source)) != (entry["sharding"], mesh_of(manifest)):
            raise SystemExit(f"{folder}: {name} is cut as {held[name]['sharding']} of {mesh_of(source)}, not as the program "
                             f"takes it; 'apc reshard CHECKPOINT PROGRAM -o DIR' cuts it anew")
    return folder, source, held


def load_weights(folder, manifest, number, device, saved=None):
    """The pieces that a rank holds, by name, from the files; states that are in none as they begin."""
    weights, mesh = {}, mesh_of(manifest)
    folder, source, held = data_of(folder, manifest, saved)
    for parameter in manifest["parameters"]:
        name, dtype, begins = parameter["name"], TYPES[parameter["element_type"]], parameter.get("begins", "")
        if name in held:
            tensor = read_piece(folder, source, held[name], number)
        elif begins == "zeros":
            tensor = torch.zeros(parameter["local_shape"], dtype=dtype)
        else:
            whole = read_whole(folder, source, held[begins[len("copy of "):]])
            tensor = piece_of(whole, parameter["sharding"], mesh, number).clone()
        weights[name] = tensor.to(device=device, dtype=dtype)
    return weights


def load_whole_weights(folder, manifest, device, saved=None):
    """All parameters of a stage, whole, by name."""
    weights = {}
    folder, source, held = data_of(folder, manifest, saved)
    for parameter in manifest["parameters"]:
        name, dtype, begins = parameter["name"], TYPES[parameter["element_type"]], parameter.get("begins", "")
        if name in held or begins != "zeros":
            tensor = read_whole(folder, source, held[name if name in held else begins[len("copy of "):]])
        else:
            tensor = torch.zeros(parameter["shape"])
        weights[name] = tensor.to(device=device, dtype=dtype).clone()
    return weights


def batch_of(given, entry, manifest, index):
    """An input of one micro-batch. A tensor that has as many times the elements of the input along some dim as there are
    micro-batches is split along that dim, a list of as many numbers for an input without dims is taken number by number;
    one of the input's shape goes with each."""
    count = manifest.get("micro_batches", 1)
    if entry["name"] not in given:
        raise SystemExit(f"input {entry['name']} is not in the file of inputs, which has {', '.join(sorted(given))}")
    tensor = torch.as_tensor(given[entry["name"]], dtype=TYPES[entry["element_type"]])
    if not entry["shape"] and list(tensor.shape) == [count]:
        tensor = tensor[index]
    for dim, size in enumerate(entry["shape"]):
        if tensor.dim() == len(entry["shape"]) and tensor.shape[dim] == size * count:
            tensor = tensor.narrow(dim, index * size, size)
    if list(tensor.shape) != entry["shape"]:
        raise SystemExit(f"input {entry['name']} has shape {list(tensor.shape)}, the program takes {entry['shape']} in "
                         f"each of {count} micro-batches")
    return tensor


def split_inputs(given, manifest, number, device):
    """This rank's pieces of the inputs, for each micro-batch."""
    mesh, count = mesh_of(manifest), manifest.get("micro_batches", 1)
    return [[piece_of(batch_of(given, entry, manifest, index), entry["sharding"], mesh, number).to(device)
             for entry in manifest["inputs"]] for index in range(count)]

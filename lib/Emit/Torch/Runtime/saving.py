"""Checkpoints: manifest.json and the pieces of weights and states as safetensors, each written by one rank that holds it.

`apc reshard` cuts them for another number of devices; PyTorch's distributed checkpoint reads the files, too."""
import json
import shutil
from pathlib import Path

import torch
import torch.distributed as dist

from collectives import Rank
from loading import SAFETENSORS_TYPES, assemble
from manifest import mesh_of, read_sharding

NAMES = {dtype: name for name, dtype in SAFETENSORS_TYPES.items()}


def assign_files(manifest):
    """For each file its rank and its pieces: parameters, and whether the piece is the whole of one. A piece is in the file
    of the first rank that holds it."""
    mesh, files, known = mesh_of(manifest), [], set()
    for number in range(manifest["devices"]):
        own = []
        for entry in manifest["parameters"]:
            is_whole = is_cut_in_parts(entry)
            shard = None if is_whole else manifest["layouts"][entry["layout"]]["shard_of_rank"][number]
            is_empty = not is_whole and 0 in box_of(entry, mesh, number)[1]
            if (entry["name"], shard) not in known and not is_empty:
                known.add((entry["name"], shard))
                own.append((entry, is_whole))
        if own:
            files.append((number, own))
    return files


def is_cut_in_parts(entry):
    """Pieces of several runs are no boxes; the tensor is then stored whole."""
    return any(len(parts) > 1 for _, parts in read_sharding(entry["sharding"]))


def box_of(entry, mesh, number):
    """Where a rank's piece begins in the tensor, and its sizes, without padding."""
    rank = Rank(mesh, number)
    ends = [rank.offset(axes, size) for (axes, _), size in zip(read_sharding(entry["sharding"]), entry["shape"])]
    return [begin for begin, _ in ends], [end - begin for begin, end in ends]


def file_name(index):
    return f"weights/shard-{index + 1:05}-model-00001-of-00001.safetensors"


def describe(manifest, files, steps):
    """The manifest of a checkpoint of a stage."""
    places = {}
    for index, (number, own) in enumerate(files):
        for entry, is_whole in own:
            shard = 0 if is_whole else manifest["layouts"][entry["layout"]]["shard_of_rank"][number]
            places.setdefault(entry["name"], {})[shard] = index
    parameters = []
    for entry in manifest["parameters"]:
        kept = {key: entry[key] for key in ("name", "shape", "element_type", "sharding", "local_shape", "layout", "begins")
                if key in entry}
        found = places.get(entry["name"], {})
        if is_cut_in_parts(entry):
            kept["whole_in_file"] = found[0]
        else:
            count = 1 + max(manifest["layouts"][entry["layout"]]["shard_of_rank"])
            kept["file_of_shard"] = [found.get(shard, -1) for shard in range(count)]
        parameters.append(kept)
    layouts = [{key: layout[key] for key in ("local_shape", "shard_of_rank")} for layout in manifest["layouts"]]
    mesh = [{"name": name, "size": size} for name, size in mesh_of(manifest).items()]
    return {"version": 1, "format": "checkpoint", "model": manifest["model"], "steps": steps,
            "devices": manifest["devices"], "mesh": mesh, "weights": {"files": [file_name(i) for i in range(len(files))]},
            "parameters": parameters, "layouts": layouts}


def write_tensors(path, tensors):
    """A file of safetensors. `tensors`: name, place of the first element in the whole, tensor."""
    header, offsets, end = {}, {}, 0
    for name, begin, tensor in tensors:
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": NAMES[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [end, end + size]}
        offsets[name] = {"saved_offsets": begin}
        end += size
    compact = {"separators": (",", ":"), "ensure_ascii": False}
    told = {"DCP_SHARDING_INFO": json.dumps(offsets, **compact), "DCP_VERSION": "1.0", "format": "pt"}
    text = json.dumps({"__metadata__": told, **header}, **compact).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for _, _, tensor in tensors:
            if tensor.numel():
                file.write(memoryview(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()))


def gather_whole(entry, manifest, piece, first):
    """The whole tensor on the first rank of its stage; all processes call it."""
    everyone = [None] * dist.get_world_size() if dist.get_rank() == first else None
    dist.gather_object(None if piece is None else piece.cpu(), everyone, dst=first)
    if everyone:
        pieces = everyone[first:first + manifest["devices"]]
        return assemble(pieces, entry["shape"], entry["sharding"], mesh_of(manifest))
    return None


def save_stage(folder, manifest, first, weights, steps):
    """The files of one stage; `weights` are those of this process, None where it is in another stage."""
    files, number = assign_files(manifest), dist.get_rank() - first
    for index, (writer, own) in enumerate(files):
        tensors = []
        for entry, is_whole in own:
            piece = weights[entry["name"]] if weights else None
            if is_whole:
                tensors.append((entry["name"], [0] * len(entry["shape"]), gather_whole(entry, manifest, piece, first)))
            elif number == writer:
                begin, sizes = box_of(entry, mesh_of(manifest), number)
                for dim, size in enumerate(sizes):
                    piece = piece.narrow(dim, 0, size)
                tensors.append((entry["name"], begin, piece))
        if number == writer:
            write_tensors(folder / file_name(index), tensors)
    if number == 0:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(describe(manifest, files, steps))
        (folder / "manifest.json").write_text(text + "\n")


def save_checkpoint(target, manifest, parts, held, steps):
    """Writes a folder that appears whole, once all ranks have written. `parts`: folder, manifest and first rank of each
    stage; `held`: the weights and states of this process, by stage."""
    target = Path(target)
    partial = target.with_name(target.name + ".part")
    if dist.get_rank() == 0:
        shutil.rmtree(partial, ignore_errors=True)  # of a run that was cut off
    dist.barrier()
    for index, (_, part, first) in enumerate(parts):
        folder = partial / manifest["stages"][index]["folder"] if "stages" in manifest else partial
        save_stage(folder, part, first, held.get(index), steps)
    if "stages" in manifest and dist.get_rank() == 0:
        above = {"version": 1, "format": "checkpoint", "model": manifest["model"], "steps": steps,
                 "devices": manifest["devices"], "stages": manifest["stages"]}
        (partial / "manifest.json").write_text(json.dumps(above) + "\n")
    dist.barrier()
    if dist.get_rank() == 0:
        partial.rename(target)
    dist.barrier()

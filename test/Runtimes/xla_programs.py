"""Programs in StableHLO, compiled by XLA and run on as many CPU devices of one process as they have ranks, against what
PyTorch made of the whole models.

xla_programs.py APC MODELS [--all] [NAME...]   MODELS: the folder of tiny models; --all: every case, in place of a few;
    NAME: only cases with this in their names

Training cases have PyTorch's losses and weights after three steps (models/tiny/README.md), inference the outputs of one
pass. Links are fast and devices slow here, so that plans cut what they can. Ends with 77 where jaxlib is missing."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile

NUM_DEVICES = 8
os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={NUM_DEVICES}"
os.environ["JAX_PLATFORMS"] = "cpu"
try:
    import jax
    import numpy
    from jax._src import compiler
except ImportError as missing:
    print(f"skipped: {sys.executable} has no {missing.name}; tools/setup.sh --runtimes installs it")
    sys.exit(77)
jax.config.update("jax_enable_x64", True)

from training_cases import SLOW_DEVICES, training_flags

TOLERANCE = 1e-4
MODELS = ["bert", "dlrm", "gpt", "llama", "mixer", "moe", "resnet", "t5", "unet", "vit"]
KINDS = {
    "cut": [],
    "zero1": ["--parallel", "data", "--zero", "1"],
    "zero2": ["--parallel", "data", "--zero", "2", "--micro-batch", "2"],
    "zero3": ["--parallel", "data", "--zero", "3", "--micro-batch", "2"],
    "recompute": ["--recompute", "full"],
}
STAGES = ["--pipeline", "2", "--schedule", "1f1b", "--micro-batch", "2"]  # compiled, not run
REFUSED = {"gru", "lstm", "rnn"}  # operators
TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i8": "int8", "i1": "bool"}


class Refused(Exception):
    """A program that has no form in StableHLO, or a plan that does not exist, for the reason that the message says."""


def cases(everything):
    """Model, kind and devices; a few of all, in which each model and number of devices stands."""
    listed = []
    for place, model in enumerate(MODELS):
        kinds = ["infer", *KINDS]
        if model in ("gpt", "bert"):
            listed.append((model, "stages", 4))
        if model == "resnet":  # accumulation changes the statistics of its normalisation
            kinds = [kind for kind in kinds if "--micro-batch" not in KINDS.get(kind, [])]
        few = {("infer", (2, 4, 8)[place % 3]), (kinds[1 + place % (len(kinds) - 1)], (4, 2)[place % 2])}
        listed += [(model, kind, devices) for kind in kinds for devices in (2, 4, 8)
                   if everything or (kind, devices) in few]
    return listed


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        message = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1]
        operator = re.search(r"operator '(\w+)' has no form in StableHLO", message)
        raise Refused(message) if operator and operator.group(1) in REFUSED else RuntimeError(message)


# Pieces, by the text of a sharding: "[(node device), -, device{24 24 24}]".


def axes_of(sharding):
    """For each dim its axes, and the sizes of the parts inside which they cut it."""
    dims = []
    for text in re.findall(r"\([^)]*\)(?:\{[^}]*\})?|[^\s,\[\]{]+(?:\{[^}]*\})?", sharding[1:sharding.index("]")]):
        axes, _, parts = text.partition("{")
        names = [] if axes == "-" else axes.strip("()").split()
        dims.append((names, [int(size) for size in parts.strip("}").split()]))
    return dims


def ranges(size, axes, mesh, place):
    """Begin and count of what a rank holds of `size` elements, and the room that they stand in."""
    begin, count, room = 0, size, size
    for axis in axes:
        room = -(-room // mesh[axis])
        start = place[axis] * room
        begin, count = begin + start, min(max(count - start, 0), room)
    return begin, count, room


def places_in(mesh, rank):
    place = {}
    for axis in reversed(list(mesh)):
        rank, place[axis] = divmod(rank, mesh[axis])
    return place


def runs_of(whole, entry, mesh, rank):
    """For each dim the runs [begin, count, room, place in the piece]."""
    result = []
    for size, (axes, parts) in zip(whole, axes_of(entry["sharding"])):
        runs, begin, at = [], 0, 0
        for part in parts or [size]:
            start, count, room = ranges(part, axes, mesh, places_in(mesh, rank))
            runs.append((begin + start, count, at))
            begin, at = begin + part, at + room
        result.append((runs, at))
    return result


def positions(whole, entry, mesh, rank):
    """For each dim the positions in the whole that a rank holds, where they stand in its piece, and the piece's size."""
    found = []
    for runs, size in runs_of(whole, entry, mesh, rank):
        source = numpy.concatenate([numpy.arange(begin, begin + count) for begin, count, _ in runs])
        target = numpy.concatenate([numpy.arange(at, at + count) for _, count, at in runs])
        found.append((source, target, size))
    return found


def cut(tensor, entry, mesh, rank):
    found = positions(tensor.shape, entry, mesh, rank)
    piece = numpy.zeros([size for _, _, size in found], tensor.dtype)
    piece[numpy.ix_(*(target for _, target, _ in found))] = tensor[numpy.ix_(*(source for source, _, _ in found))]
    return piece


def join(pieces, entry, mesh):
    whole = numpy.zeros(entry["shape"], pieces[0].dtype)
    for rank, piece in enumerate(pieces):
        found = positions(whole.shape, entry, mesh, rank)
        whole[numpy.ix_(*(source for source, _, _ in found))] = piece[numpy.ix_(*(target for _, target, _ in found))]
    return whole


def compile_text(text, count):
    """A program on the first devices; the call is private to jax, whose version is pinned."""
    options = compiler.get_compile_options(num_replicas=count, num_partitions=1,
                                           device_assignment=numpy.arange(count).reshape(count, 1))
    client = jax.devices()[0].client
    return client.compile_and_load(text, client.devices()[:count], options)


class Program:
    """The parts of a program, and the tensors that all ranks hold, as lists of pieces by rank."""

    def __init__(self, folder, base):
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.mesh = {axis["name"]: axis["size"] for axis in self.manifest["mesh"]}
        self.count = self.manifest["devices"]
        self.parts = json.loads((folder / "parts.json").read_text())["parts"]
        for part in self.parts:
            part["run"] = compile_text((folder / part["file"]).read_text(), self.count)
        self.devices = jax.devices()[:self.count]
        self.ranks = jax.sharding.Mesh(numpy.array(self.devices), ("rank",))
        self.weights = {}
        for entry in self.manifest["parameters"]:
            self.weights[entry["name"]] = self.pieces_of(self.initial(entry, base), entry)

    def initial(self, entry, base):
        if "begins" in entry:
            if entry["begins"] == "zeros":
                return numpy.zeros(entry["shape"], TYPES[entry["element_type"]])
            source = entry["begins"].removeprefix("copy of ")
            entry = {**next(other for other in self.manifest["parameters"] if other["name"] == source)}
        data = (base / entry["file"]).read_bytes()[entry["offset"]:entry["offset"] + entry["length"]]
        return numpy.frombuffer(data, TYPES[entry["element_type"]]).reshape(entry["shape"])

    def pieces_of(self, tensor, entry):
        return [cut(tensor, entry, self.mesh, rank) for rank in range(self.count)]

    def entry(self, kind, name):
        return next(entry for entry in self.manifest[kind] if entry["name"] == name)

    def execute(self, part, given):
        """Runs a part on pieces of all arguments; the pieces of its results."""
        arrays = []
        for pieces in given:
            shards = [jax.device_put(piece, device) for piece, device in zip(pieces, self.devices)]
            dims, axes = pieces[0].shape, ("rank",) if pieces[0].ndim else ()
            shape = (self.count * dims[0], *dims[1:]) if dims else ()
            sharding = jax.sharding.NamedSharding(self.ranks, jax.sharding.PartitionSpec(*axes))
            arrays.append(jax.make_array_from_single_device_arrays(shape, sharding, shards))
        results = part["run"].execute_sharded(arrays)
        return [[numpy.asarray(shard) for shard in shards] for shards in results.disassemble_into_single_device_arrays()]

    def step(self, inputs):
        """One step on whole inputs; whole outputs. Parameters and states become the new ones."""
        micro_batches = self.manifest.get("micro_batches", 1)
        latest, sums, outputs, replaced = {}, {}, {}, {}
        for number in range(micro_batches):
            for part in self.parts:
                if part["name"] == "update" and number + 1 < micro_batches:
                    continue
                given = [self.argument(value, part, inputs, number, latest, sums) for value in part["arguments"]]
                for value, pieces in zip(part["results"], self.execute(part, given)):
                    store = {"kept": latest, "sum": sums, "output": outputs, "parameter": replaced}[value["kind"]]
                    store[value["name"]] = pieces
        self.weights.update(replaced)
        return {name: join(pieces, self.entry("outputs", name), self.mesh) for name, pieces in outputs.items()}

    def argument(self, value, part, inputs, number, latest, sums):
        kind, name = value["kind"], value["name"]
        if kind == "parameter":
            return self.weights[name]
        if kind == "kept":
            return latest[name]
        if kind == "sum" and name not in sums:
            return [numpy.zeros(value["shape"], TYPES[value["element_type"]])] * self.count
        if kind == "sum":
            return sums[name]
        entry = self.entry("inputs", name)
        tensor = inputs[name]
        for dim, (whole, own) in enumerate(zip(tensor.shape, entry["shape"])):
            if whole != own:
                tensor = tensor.take(range(number * own, (number + 1) * own), dim)
        return self.pieces_of(tensor.astype(TYPES[entry["element_type"]]), entry)


def read_tensor(path):
    """Name and elements of a tensor in protobuf: dims 1, type 2, name 8, raw data 9; the fields of numbers are not used."""
    data, at, dims, raw, name, kind, floats = path.read_bytes(), 0, [], b"", "", 1, []

    def varint():
        nonlocal at
        value, shift = 0, 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        key = varint()
        field, wire = key >> 3, key & 7
        if wire == 0:
            number = varint()
            if field == 1:
                dims.append(number)
            elif field == 2:
                kind = number
        else:
            length = varint()
            content, at = data[at:at + length], at + length
            if field == 1:
                dims += list(content)
            elif field == 8:
                name = content.decode()
            elif field == 9:
                raw = content
    dtype = {1: "float32", 6: "int32", 7: "int64", 9: "bool", 11: "float64"}[kind]
    return name, numpy.frombuffer(raw, dtype).reshape(dims)


def emit(apc, model, devices, flags, folder):
    call([apc, "plan", model, "--devices", str(devices), *flags, *SLOW_DEVICES, "-o", folder])
    call([apc, "emit", folder / "plan.json", "--format", "stablehlo", "-o", folder / "program"])
    return Program(folder / "program", model.parent)


def difference(found, wanted):
    """The largest difference relative to the largest element; infinite where something is not a number."""
    if found.shape != wanted.shape or not numpy.isfinite(found).all():
        return math.inf
    return float(abs(found - wanted).max() / max(abs(wanted).max(), 1e-12)) if wanted.size else 0.0


def check_inference(apc, folder, models, model, devices):
    program = emit(apc, models / model / "model.onnx", devices, ["--mode", "infer"], folder)
    data = models / model / "test_data_set_0"
    given = [read_tensor(path)[1] for path in sorted(data.glob("input_*.pb"))]
    outputs = program.step({entry["name"]: tensor for entry, tensor in zip(program.manifest["inputs"], given)})
    wanted = [read_tensor(path)[1] for path in sorted(data.glob("output_*.pb"))]
    return max(difference(outputs[entry["name"]], tensor)
               for entry, tensor in zip(program.manifest["outputs"], wanted))


def check_training(apc, folder, models, model, kind, devices):
    source = models / "training" / model
    case = json.loads((source / "train.json").read_text())
    program = emit(apc, source / "model.onnx", devices, training_flags(case) + KINDS[kind], folder)
    names = [entry["name"] for entry in program.manifest["inputs"] if entry["name"] not in ("step", "learning_rate")]
    losses = []
    for step in range(case["steps"]):
        given = {"step": numpy.array(step + 1), "learning_rate": numpy.array(case["learning_rate"])}
        for path in sorted((source / f"step_{step}").glob("input_*.pb")):
            given[names[int(path.stem.split("_")[1])]] = read_tensor(path)[1]
        outputs = program.step(given)
        losses.append(float(outputs["loss"]))
    worst = difference(numpy.array(losses), numpy.array(json.loads((source / "expected" / "loss.json").read_text())))
    for path in (source / "expected" / "parameters").iterdir():
        name, values = read_tensor(path)
        entry = program.entry("parameters", name)
        worst = max(worst, difference(join(program.weights[name], entry, program.mesh), values))
    return worst


def compile_stages(apc, folder, models, model, devices):
    """Compiles the parts of each stage; the greatest difference is none."""
    source = models / "training" / model
    flags = training_flags(json.loads((source / "train.json").read_text())) + STAGES
    call([apc, "plan", source / "model.onnx", "--devices", str(devices), *flags, *SLOW_DEVICES, "-o", folder])
    call([apc, "emit", folder / "plan.json", "--format", "stablehlo", "-o", folder / "program"])
    stages = sorted((folder / "program").glob("stage-*"))
    for stage in stages:
        count = json.loads((stage / "manifest.json").read_text())["devices"]
        for part in json.loads((stage / "parts.json").read_text())["parts"]:
            compile_text((stage / part["file"]).read_text(), count)
    return 0 if len(stages) == 2 else math.inf


def main():
    apc, models, names = sys.argv[1], pathlib.Path(sys.argv[2]), [name for name in sys.argv[3:] if name != "--all"]
    counts = {"ran": 0, "refused": 0, "failed": 0}
    for model, kind, devices in cases("--all" in sys.argv):
        title = f"{model} {kind} on {devices}"
        if names and not any(name in title for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                if kind == "infer":
                    worst = check_inference(apc, pathlib.Path(folder), models, model, devices)
                elif kind == "stages":
                    worst = compile_stages(apc, pathlib.Path(folder), models, model, devices)
                else:
                    worst = check_training(apc, pathlib.Path(folder), models, model, kind, devices)
                outcome = "ran" if worst <= TOLERANCE else "failed"
                print(f"{outcome}: {title}: differs by {worst:.1e}", flush=True)
            except Refused as reason:
                outcome = "refused"
                print(f"refused: {title}: {reason}", flush=True)
            except RuntimeError as error:
                outcome = "failed"
                print(f"failed: {title}: {error}", flush=True)
            counts[outcome] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    sys.exit(1 if counts["failed"] or not counts["ran"] else 0)


if __name__ == "__main__":
    main()

"""Carries out a program in StableHLO on XLA's CPU devices, in this process: each stage's modules on the devices of its
ranks, in the order of the workers' actions; values between stages are joined and cut anew."""

import json
import re

from xla_devices import compile_text, jax, numpy

TYPES = {"f64": "float64", "f32": "float32", "f16": "float16", "i64": "int64", "i32": "int32", "i8": "int8", "i1": "bool"}
# The parts of a step that an action runs.
PARTS = {
    "F": {"forward"},
    "I": {"input_gradients"},
    "W": {"weight_gradients"},
    "B": {"backward", "input_gradients", "weight_gradients"},
    "all": {"step", "micro_batch", "forward", "backward", "input_gradients", "weight_gradients"},
}


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


class Stage:
    """A stage on its devices. A value is a list with the piece of each rank."""

    def __init__(self, folder, base, first, given, mail):
        """`first`: the first of its devices; `mail`: the whole values between stages, by name and micro-batch."""
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.mesh = {axis["name"]: axis["size"] for axis in self.manifest["mesh"]}
        self.count = self.manifest["devices"]
        self.parts = json.loads((folder / "parts.json").read_text())["parts"]
        for part in self.parts:
            part["run"] = compile_text((folder / part["file"]).read_text(), first, self.count)
        self.devices = jax.devices()[first:first + self.count]
        self.ranks = jax.sharding.Mesh(numpy.array(self.devices), ("rank",))
        self.mail = mail
        self.weights = {}
        for entry in self.manifest["parameters"]:
            self.weights[entry["name"]] = self.pieces_of(self.initial(entry, base, given), entry)

    def initial(self, entry, base, given):
        if "begins" in entry:
            if entry["begins"] == "zeros":
                return numpy.zeros(entry["shape"], TYPES[entry["element_type"]])
            entry = self.entry("parameters", entry["begins"].removeprefix("copy of "))
        if "file" not in entry:
            return given[entry["name"]]
        data = (base / entry["file"]).read_bytes()[entry["offset"]:entry["offset"] + entry["length"]]
        return numpy.frombuffer(data, TYPES[entry["element_type"]]).reshape(entry["shape"])

    def pieces_of(self, tensor, entry):
        return [cut(tensor, entry, self.mesh, rank) for rank in range(self.count)]

    def entry(self, kind, name):
        return next(entry for entry in self.manifest[kind] if entry["name"] == name)

    def begin_step(self, inputs):
        self.inputs, self.sums, self.outputs, self.replaced = inputs, {}, {}, {}
        self.kept, self.latest, self.sent = {}, {}, set()

    def act(self, kind, micro_batch):
        """Runs the parts of an action. Yields while a value has not come from another stage."""
        for part in self.parts:
            if part["name"] in PARTS[kind]:
                yield from self.run(part, micro_batch)

    def update(self):
        for part in self.parts:
            if part["name"].startswith("update"):
                yield from self.run(part, None)
        self.weights.update(self.replaced)

    def run(self, part, micro_batch):
        given = []
        for value in part["arguments"]:
            given.append((yield from self.argument(value, micro_batch)))
        for value, pieces in zip(part["results"], self.execute(part, given), strict=True):
            kind, name = value["kind"], value["name"]
            if kind == "sent":
                self.send(name, pieces, micro_batch)
            elif kind == "kept":
                self.latest[name] = self.kept.setdefault(micro_batch, {})[name] = pieces
            else:
                {"sum": self.sums, "output": self.outputs, "parameter": self.replaced}[kind][name] = pieces

    def argument(self, value, micro_batch):
        kind, name = value["kind"], value["name"]
        if kind == "parameter":
            return self.weights[name]
        if kind == "kept":  # the update takes those of the micro-batch that ran last
            return self.latest[name] if micro_batch is None else self.kept[micro_batch][name]
        if kind == "sum":
            zeros = numpy.zeros(value["shape"], TYPES[value["element_type"]])
            return self.sums.get(name, [zeros] * self.count)
        if kind == "received":
            entry = self.entry("receives", name)
            key = name, None if entry["each"] == "step" else micro_batch
            while key not in self.mail:
                yield key
            return self.pieces_of(self.mail[key], entry)
        entry, tensor = self.entry("inputs", name), self.inputs[name]
        for dim, (whole, own) in enumerate(zip(tensor.shape, entry["shape"])):
            if whole != own:
                tensor = tensor.take(range(micro_batch * own, (micro_batch + 1) * own), dim)
        return self.pieces_of(tensor.astype(TYPES[entry["element_type"]]), entry)

    def send(self, name, pieces, micro_batch):
        entry = self.entry("sends", name)
        key = name, None if entry["each"] == "step" else micro_batch
        self.mail.setdefault(key, join(pieces, entry, self.mesh))

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


def run_together(tasks, mail):
    """Runs tasks in turn; each goes on until a value that it needs has not come."""
    while tasks:
        came, waiting = len(mail), {}
        for task in tasks:
            for key in task:
                waiting[task] = key
                break
        if len(waiting) == len(tasks) and len(mail) == came:
            raise RuntimeError(f"no stage can go on; they wait for {', '.join(sorted(map(str, waiting.values())))}")
        tasks = list(waiting)


class Program:
    """A program of one or more stages; `base`: the folder of the model's files of weights; `given`: weights that are
    in none, by name."""

    def __init__(self, folder, base, given={}):
        self.manifest = json.loads((folder / "manifest.json").read_text())
        places = [(folder / stage["folder"], stage["first_rank"]) for stage in self.manifest.get("stages", [])]
        self.mail = {}
        self.stages = [Stage(path, base, first, given, self.mail) for path, first in places or [(folder, 0)]]
        self.inputs = self.manifest["inputs"]

    def tasks(self):
        """The work of each worker: its actions, as "F 0 3", with all copies of a micro-batch."""
        copies, count = self.manifest.get("copies", 1), self.manifest.get("micro_batches", 1)
        lists = [[(kind, int(stage), int(micro_batch) * copies + copy)
                  for kind, stage, micro_batch in map(str.split, worker["actions"]) for copy in range(copies)]
                 for worker in self.manifest.get("workers", [])]

        def work(actions):
            for kind, stage, run in actions:
                yield from self.stages[stage].act(kind, run)

        return [work(actions) for actions in lists or [[("all", 0, run) for run in range(count)]]]

    def step(self, inputs):
        """One step on whole inputs; whole outputs. Parameters and states become the new ones."""
        self.mail.clear()
        for stage in self.stages:
            stage.begin_step(inputs)
        run_together(self.tasks(), self.mail)
        run_together([stage.update() for stage in self.stages], self.mail)
        return {name: join(pieces, stage.entry("outputs", name), stage.mesh)
                for stage in self.stages for name, pieces in stage.outputs.items()}

    def whole(self, name):
        """A parameter, or a state."""
        for stage in self.stages:
            if name in stage.weights:
                return join(stage.weights[name], stage.entry("parameters", name), stage.mesh)
        raise RuntimeError(f"no stage has parameter {name}")

"""Runs the program of a plan with ONNX Runtime, all ranks in this process: python3 run.py --inputs batch.npz --check

Each input file has the arrays of one step by the names of the inputs (numpy.savez); steps take the files in turn.
Between the models that ranks run, steps.json says which collectives they take; numpy carries them out.
"""
import argparse
import math
import sys
from pathlib import Path

import numpy
import onnxruntime

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from collectives import collect, offset
from loading import assemble, load_weights, piece_of, read_functions, split_at_ends, split_input
from manifest import add_numbers, mesh_of, read_manifest


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", nargs="+", required=True, metavar="FILE.npz", help="the inputs of each step")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--first-step", type=int, default=1, help="the number of the first step, which Adam counts")
    parser.add_argument("--check", action="store_true", help="also run the whole model of an inference, and compare")
    parser.add_argument("--model", metavar="FILE.onnx", help="the whole model, where it is not where the manifest says")
    parser.add_argument("--save", metavar="FILE.npz", help="results of the last step and weights, whole")
    return parser.parse_args()


class Stage:
    """A stage on all of its ranks. A value is a list with the piece of each rank."""

    def __init__(self, number, folder, manifest, mail):
        self.number = number
        self.folder = folder
        self.manifest = manifest
        self.mesh = mesh_of(manifest)
        self.ranks = range(math.prod(self.mesh.values()))
        self.functions = read_functions(folder)
        self.parts, self.last = split_at_ends(self.functions["main"]["steps"])
        self.weights = load_weights(folder, manifest)
        self.sessions = {}
        self.mail = mail

    def begin_step(self, given):
        self.given, self.sums, self.kept, self.received, self.sent = given, {}, {}, {}, set()
        self.done = self.begin(0)

    def begin(self, micro_batch):
        """The values that the first part finds."""
        names = self.functions["main"]["inputs"]
        inputs = [split_input(self.given, entry, self.manifest, micro_batch) for entry in self.manifest["inputs"]]
        return {**self.weights, **dict(zip(names, inputs))}

    def act(self, kind, micro_batch):
        """F: the forward part; B: all behind it; I and W: the parts of B. Yields while a value has not come."""
        first, last = {"F": (0, 1), "B": (1, len(self.parts)), "I": (1, 2), "W": (2, 3), "all": (0, len(self.parts))}[kind]
        values = self.begin(micro_batch) if first == 0 else self.kept.pop(micro_batch)
        for part in self.parts[first:last]:
            yield from self.run(part, values, "", micro_batch)
        if last == len(self.parts):
            self.done = values
        else:
            self.kept[micro_batch] = values

    def update(self):
        yield from self.run(self.last, self.done, "", None)
        main = self.functions["main"]
        self.results = {}
        for value, name, parameter in zip(main["outputs"], main["output_names"], main["replaces"]):
            if parameter:
                self.weights[parameter] = self.done[value]
            else:
                self.results[name] = self.done[value]

    def run(self, steps, values, path, micro_batch):
        for step in steps:
            if "receive" in step:
                results = [(yield from self.receive(step, micro_batch))]
            elif "call" in step:
                results = yield from self.call(step, [values[name] for name in step["inputs"]], path, micro_batch)
            else:
                results = self.take(step, [values[name] for name in step.get("inputs", [])], path, micro_batch)
            values.update(zip(step.get("outputs", []), results))

    def call(self, step, inputs, path, micro_batch):
        function = self.functions[step["call"]]
        values = dict(zip(function["inputs"], inputs))
        yield from self.run(function["steps"], values, f"{path}/{step['outputs'][0]}", micro_batch)
        return [values[name] for name in function["outputs"]]

    def take(self, step, inputs, path, micro_batch):
        if "run" in step:
            return self.run_segment(step, inputs)
        if "collective" in step:
            return collect(step, inputs, self.mesh)
        if "offset" in step:
            spans = [offset(self.mesh, rank, step["axes"], step["offset"]) for rank in self.ranks]
            return [[numpy.array(span if step["dims"] else span[0], dtype=numpy.int64) for span in spans]]
        if "accumulate" in step:
            key, terms = f"{path}/{step['accumulate']}", inputs + self.sums.get(f"{path}/{step['accumulate']}", [])
            self.sums[key] = [[sum(pieces[1:], pieces[0]) for pieces in zip(*terms)]]
            return self.sums[key]
        if "send" in step:
            self.send(step, inputs[0], micro_batch)
        return []

    def run_segment(self, step, inputs):
        if step["run"] not in self.sessions:
            options = onnxruntime.SessionOptions()
            options.log_severity_level = 3
            self.sessions[step["run"]] = onnxruntime.InferenceSession(
                self.folder / step["run"], options, providers=["CPUExecutionProvider"])
        session = self.sessions[step["run"]]
        of_ranks = [session.run(step["outputs"], {name: numpy.asarray(pieces[rank]) for name, pieces in zip(step["inputs"], inputs)})
                    for rank in self.ranks]
        return [list(pieces) for pieces in zip(*of_ranks)]

    def entry(self, kind, name):
        return next(entry for entry in self.manifest[kind] if entry["name"] == name)

    def send(self, step, pieces, micro_batch):
        once = step["each"] == "step"
        if once and step["send"] in self.sent:
            return
        self.sent.add(step["send"])
        entry = self.entry("sends", step["send"])
        self.mail[step["send"], None if once else micro_batch] = assemble(pieces, entry["shape"], entry["sharding"], self.mesh)

    def receive(self, step, micro_batch):
        key = step["receive"], None if step["each"] == "step" else micro_batch
        while key not in self.mail:
            yield key
        entry = self.entry("receives", step["receive"])
        return [piece_of(self.mail[key], entry["sharding"], self.mesh, rank) for rank in self.ranks]

    def whole(self):
        """Results and weights."""
        found = {}
        for entry in self.manifest["parameters"] + self.manifest["outputs"]:
            pieces = {**self.weights, **self.results}.get(entry["name"])
            if pieces is not None:
                found[entry["name"]] = assemble(pieces, entry["shape"], entry["sharding"], self.mesh)
        return found


def run_together(tasks, mail):
    """Runs tasks in turn; each goes on until a value that it needs has not come."""
    while tasks:
        sent, waiting = len(mail), {}
        for task in tasks:
            for key in task:
                waiting[task] = key
                break
        if len(waiting) == len(tasks) and len(mail) == sent:
            sys.exit(f"no stage can go on; they wait for {', '.join(sorted(map(str, waiting.values())))}")
        tasks = list(waiting)


def actions_of(manifest, stages):
    """The task of each worker."""
    copies, count = manifest.get("copies", 1), manifest.get("micro_batches", 1)
    if "workers" not in manifest:
        return [stages[0].act("all", index) for index in range(count)]

    def work(actions):
        for kind, stage, micro_batch in map(str.split, actions):
            for copy in range(int(micro_batch) * copies, (int(micro_batch) + 1) * copies):
                yield from stages[int(stage)].act(kind, copy)

    return [work(worker["actions"]) for worker in manifest["workers"]]


def difference(found, wanted):
    """The largest difference of elements relative to the largest one, infinite where something is not a number, or
    infinite in one array alone."""
    scale = max(abs(wanted[numpy.isfinite(wanted)]).max(initial=0.0), 1e-12)
    with numpy.errstate(invalid="ignore"):
        away = numpy.where(found == wanted, 0.0, abs(found - wanted))
    return float(numpy.nan_to_num(away, nan=math.inf, posinf=math.inf).max(initial=0.0)) / scale


def check(found, manifest, given, path):
    """Compares the results with those of ONNX Runtime on the whole model."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    known = {value.name for value in session.get_inputs()}
    wanted = session.run(None, {name: given[name] for name in given if name in known})
    missing = [value.name for value in session.get_outputs() if value.name not in found]
    if missing:
        sys.exit(f"check: the whole model has {', '.join(missing)}, which the program's ranks have not")
    worst = 0.0
    for value, tensor in zip(session.get_outputs(), wanted):
        own = found[value.name]
        if own.shape != tensor.shape:
            sys.exit(f"check: result {value.name} has shape {own.shape}, that of the whole model {tensor.shape}")
        worst = max(worst, difference(own.astype(float), tensor.astype(float)))
    print(f"check: results differ from those of the whole model by {worst:.1e} at most")
    if not worst <= 1e-3:
        sys.exit(1)


def main():
    arguments, manifest, mail = read_arguments(), read_manifest(HERE), {}
    if "stages" in manifest:
        places = [(HERE / stage["folder"], read_manifest(HERE / stage["folder"])) for stage in manifest["stages"]]
    else:
        places = [(HERE, manifest)]
    stages = [Stage(number, folder, part, mail) for number, (folder, part) in enumerate(places)]
    is_training = any(any(stage.functions["main"]["replaces"]) for stage in stages)
    if arguments.check and is_training:
        sys.exit("--check: the program trains; what one device makes of the model is known for inference alone")
    for step in range(arguments.steps):
        with numpy.load(arguments.inputs[step % len(arguments.inputs)]) as given:
            given = dict(given)
        whole_inputs = dict(given)
        for _, part in places:
            add_numbers(given, part, arguments.first_step + step, arguments.learning_rate)
        mail.clear()
        for stage in stages:
            stage.begin_step(given)
        run_together(actions_of(manifest, stages), mail)
        run_together([stage.update() for stage in stages], mail)
        for stage in stages:
            for name, pieces in stage.results.items():
                if pieces[0].size == 1:
                    print(f"step {step} {name} {pieces[0].item():.7g}", flush=True)
    found = {name: tensor for stage in stages for name, tensor in stage.whole().items()}
    if arguments.check:
        check(found, manifest, whole_inputs, arguments.model or manifest["model"]["path"])
    if arguments.save:
        numpy.savez(arguments.save, **found)


if __name__ == "__main__":
    main()

"""Programs in StableHLO, compiled by XLA and run on as many CPU devices of one process as they have ranks, against what
PyTorch made of the whole models.

xla_programs.py APC MODELS [--all] [NAME...]   MODELS: the folder of tiny models; --all: every case, in place of a few;
    NAME: only cases with this in their names

Training cases have PyTorch's losses and weights after three steps (models/tiny/README.md), inference the outputs of one
pass. Links are fast and devices slow here, so that plans cut what they can. Ends with 77 where jaxlib is missing."""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

from training_cases import KINDS, NO_PLAN, accumulates, plan_command, training_flags
from xla_devices import numpy
from xla_runner import Program

TOLERANCE = 1e-4
MODELS = ["bert", "dlrm", "gpt", "llama", "mixer", "moe", "resnet", "t5", "tts", "unet", "vit"]
# One step of plain descent, whose gradients are compared.
GRADIENTS = [("gpt", "zero2", 2), ("bert", "cut", 2), ("t5", "1f1b", 2), ("moe", "zero3", 2)]


class Refused(Exception):
    """A plan that does not exist, for the reason that the message says."""


def cases(everything):
    """Model, kind and devices; a few of all, in which each model, kind and number of devices stands."""
    listed = []
    for place, model in enumerate(MODELS):
        kinds = ["infer", *KINDS]
        if model == "resnet":
            kinds = [kind for kind in kinds if not accumulates(kind)]
        few = {("infer", (2, 4, 8)[place % 3]), (kinds[1 + place % (len(kinds) - 1)], (4, 2)[place % 2])}
        if model == "gpt":
            few.add(("1f1b", 8))
        if model == "resnet":  # the greatest element of a window is found again in its gradient
            few.add(("cut", 2))
        listed += [(model, kind, devices) for kind in kinds for devices in (2, 4, 8)
                   if everything or (kind, devices) in few]
    return listed


def call(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        message = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1]
        raise Refused(message) if any(reason in message for reason in NO_PLAN) else RuntimeError(message)


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


def emit(apc, model, devices, flags, folder, given={}):
    call([*plan_command(apc, model, devices, flags), "-o", folder])
    call([apc, "emit", folder / "plan.json", "--format", "stablehlo", "-o", folder / "program"])
    return Program(folder / "program", model.parent, given)


def difference(found, wanted, least=1e-12):
    """The largest difference relative to the largest element, or to `least`; infinite where something is not a number."""
    if found.shape != wanted.shape or not numpy.isfinite(found).all():
        return math.inf
    return float(abs(found - wanted).max() / max(abs(wanted).max(), least)) if wanted.size else 0.0


def check_inference(apc, folder, models, model, devices):
    program = emit(apc, models / model / "model.onnx", devices, ["--mode", "infer"], folder)
    data = models / model / "test_data_set_0"
    (stage,) = program.stages
    given = [read_tensor(path)[1] for path in sorted(data.glob("input_*.pb"))]
    outputs = program.step({entry["name"]: tensor for entry, tensor in zip(stage.manifest["inputs"], given)})
    wanted = [read_tensor(path)[1] for path in sorted(data.glob("output_*.pb"))]
    return max(difference(outputs[entry["name"]], tensor)
               for entry, tensor in zip(stage.manifest["outputs"], wanted))


class TrainingCase:
    """A tiny model with PyTorch's losses, weights and gradients."""

    def __init__(self, models, model):
        self.source = models / "training" / model
        self.case = json.loads((self.source / "train.json").read_text())

    def expected(self, what):
        return map(read_tensor, (self.source / "expected" / what).iterdir())

    def train(self, program, steps, rate):
        """The losses of so many steps."""
        names = [entry["name"] for entry in program.inputs if entry["name"] not in ("step", "learning_rate")]
        losses = []
        for step in range(steps):
            given = {"step": numpy.array(step + 1), "learning_rate": numpy.array(rate)}
            for path in sorted((self.source / f"step_{step}").glob("input_*.pb")):
                given[names[int(path.stem.split("_")[1])]] = read_tensor(path)[1]
            losses.append(float(program.step(given)["loss"]))
        return numpy.array(losses)


def check_training(apc, folder, models, model, kind, devices):
    case = TrainingCase(models, model)
    program = emit(apc, case.source / "model.onnx", devices, training_flags(case.case) + KINDS[kind], folder)
    losses = case.train(program, case.case["steps"], case.case["learning_rate"])
    worst = difference(losses, numpy.array(json.loads((case.source / "expected" / "loss.json").read_text())))
    return max(worst, *(difference(program.whole(name), values) for name, values in case.expected("parameters")))


def check_gradients(apc, folder, models, model, kind, devices):
    """Plain descent takes a gradient times the rate off each weight; both are held to PyTorch's gradients of the first step."""
    case, rate = TrainingCase(models, model), 1024.0
    flags = training_flags({**case.case, "optimizer": "sgd", "weight_decay": 0.0, "clip_norm": None})
    program = emit(apc, case.source / "model.onnx", devices, flags + KINDS[kind], folder)
    wanted = dict(case.expected("gradients"))
    if len(wanted) < 10:
        raise RuntimeError(f"{case.source} has {len(wanted)} gradients")
    before = {name: program.whole(name) for name in wanted}
    case.train(program, 1, rate)
    # Gradients that are zero but for rounding are held to an absolute difference of 1e-6.
    return max(difference((before[name] - program.whole(name)) / rate, values, 1e-2) for name, values in wanted.items())


def main():
    apc, models, names = sys.argv[1], pathlib.Path(sys.argv[2]), [name for name in sys.argv[3:] if name != "--all"]
    counts = {"ran": 0, "refused": 0, "failed": 0}
    listed = [(f"{model} {kind} on {devices}", check_inference if kind == "infer" else check_training,
               (model, devices) if kind == "infer" else (model, kind, devices))
              for model, kind, devices in cases("--all" in sys.argv)]
    listed += [(f"{model} gradients {kind} on {devices}", check_gradients, (model, kind, devices))
               for model, kind, devices in GRADIENTS]
    for title, check, case in listed:
        if names and not any(name in title for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst = check(apc, pathlib.Path(folder), models, *case)
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

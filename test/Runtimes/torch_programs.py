"""Programs for PyTorch, run by as many gloo processes as they have ranks, against what PyTorch made of the whole models.

torch_programs.py APC MODELS [--all] [NAME...]   MODELS: the folder of tiny models; --all: every case, in place of a few;
    NAME: only cases with this in their names

Training cases have PyTorch's losses and weights after three steps (models/tiny/README.md), inference the outputs of one
pass. Links are fast and devices slow here, so that plans cut what they can. Ends with 77 where PyTorch is missing."""

import hashlib
import json
import math
import os
import pathlib
import runpy
import signal
import socket
import subprocess
import sys
import tempfile

try:
    import numpy
    import onnx.numpy_helper
    import torch
except ImportError as missing:
    print(f"skipped: {sys.executable} has no {missing.name}; Debian's packages python3-torch and python3-onnx bring it")
    sys.exit(77)

from training_cases import KINDS, NO_PLAN, accumulates, plan_command, training_flags

TOLERANCE = 1e-4
MODELS = ["bert", "dlrm", "gpt", "llama", "mixer", "moe", "resnet", "t5", "tts", "unet", "vit"]
# Cut inside the queries, keys and values of one matrix, which is stored whole.
PARTS = ["--pin", "c_attn/Gemm$: n=2, ...", "--pin", "c_fc/Gemm$: n=2, ..."]
# Steps under one layout after the other, with checkpoints in between.
MOVED = [
    ("gpt", [("zero1", 2), ("parts", 4), ("cut", 2)]),
    ("llama", [("1f1b", 4), ("zero1", 2)]),
    ("moe", [("cut", 2), ("gpipe-zero3", 4), ("zero1", 3)]),
]
# One step of plain descent, whose gradients are compared.
GRADIENTS = [("gpt", "zero2", 2), ("bert", "cut", 2), ("t5", "1f1b", 2), ("moe", "zero3", 2)]

def cases(everything):
    """Model, kind and devices; a few of all, in which each model, kind and number of devices stands."""
    listed = []
    for place, model in enumerate(MODELS):
        kinds = ["infer", *KINDS]
        if model == "resnet":
            kinds = [kind for kind in kinds if not accumulates(kind)]
        few = {(kinds[place % len(kinds)], 2), (kinds[(place + 4) % len(kinds)], 4)}
        listed += [(model, kind, devices) for kind in kinds for devices in (2, 4, 8)
                   if everything or (kind, devices) in few]
    return listed


def read_tensor(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor.name, onnx.numpy_helper.to_array(tensor)


class Refused(Exception):
    pass


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        message = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1]
        raise Refused(message) if any(reason in message for reason in NO_PLAN) else RuntimeError(message)


def emit(apc, model, devices, flags, folder):
    call([*plan_command(apc, model, str(devices), flags), "-o", folder])
    call([apc, "emit", folder / "plan.json", "--format", "torch", "--weights", "-o", folder / "program"])
    return json.loads((folder / "program" / "manifest.json").read_text())


def run(folder, devices, arguments):
    """Runs run.py in as many processes, which begin with PyTorch loaded; the lines that all of them print."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    children = {}
    for rank in range(devices):
        child = os.fork()
        if child == 0:
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(devices), MASTER_ADDR="127.0.0.1",
                              MASTER_PORT=str(port))
            log = os.open(folder / f"log-{rank}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            sys.argv = ["run.py", *arguments]
            torch.set_num_threads(1)
            code = 1
            try:
                runpy.run_path(str(folder / "program" / "run.py"), run_name="__main__")
                code = 0
            except BaseException:  # a child must end here
                import traceback
                traceback.print_exc()
            sys.stdout.flush()
            os._exit(code)
        children[child] = rank
    failed = []
    while children:
        child, status = os.wait()
        rank = children.pop(child)
        if status and not failed:  # the others may wait for it in vain
            failed.append(rank)
            for other in children:
                os.kill(other, signal.SIGKILL)
    if failed:
        raise RuntimeError((folder / f"log-{failed[0]}").read_text()[-800:])
    return [line for rank in range(devices) for line in (folder / f"log-{rank}").read_text().splitlines()]


def difference(found, wanted, least=1e-12):
    """The largest difference relative to the largest element, or to `least`; infinite where something is not a number."""
    if found.shape != wanted.shape or not numpy.isfinite(found).all():
        return math.inf
    return float(abs(found - wanted).max() / max(abs(wanted).max(), least)) if wanted.size else 0.0


class TrainingCase:
    """A tiny model with PyTorch's losses and weights after some steps."""

    def __init__(self, models, model, folder):
        self.source = models / "training" / model
        self.case = json.loads((self.source / "train.json").read_text())
        self.flags = training_flags(self.case)
        graph = onnx.load(self.source / "model.onnx", load_external_data=False).graph
        known = {tensor.name for tensor in graph.initializer}
        names = [value.name for value in graph.input if value.name not in known]
        target = "target" if "target" not in names else names[-1]
        self.files = []
        for step in range(self.case["steps"]):
            given = {}
            for path in sorted((self.source / f"step_{step}").glob("input_*.pb")):
                place = int(path.stem.split("_")[1])
                given[names[place] if place < len(names) else target] = read_tensor(path)[1]
            self.files.append(folder / f"step-{step}.npz")
            numpy.savez(self.files[-1], **given)

    def train(self, folder, devices, steps, flags, rate=None):
        """Runs the program in `folder` for some of the steps; their losses."""
        lines = run(folder, devices, ["--inputs", *(str(self.files[step]) for step in steps), "--steps", str(len(steps)),
                                      "--learning-rate", str(rate or self.case["learning_rate"]), "--check", *flags])
        return [float(line.split()[-1]) for line in sorted(lines) if line.startswith("step ")]

    def difference(self, losses, result):
        """The largest difference from PyTorch's losses and weights."""
        wanted = json.loads((self.source / "expected" / "loss.json").read_text())
        worst = difference(numpy.array(losses), numpy.array(wanted))
        results = numpy.load(result)
        for path in (self.source / "expected" / "parameters").iterdir():
            name, values = read_tensor(path)
            worst = max(worst, difference(results[name], values))
        return worst


def check_training(apc, folder, models, model, kind, devices):
    case = TrainingCase(models, model, folder)
    manifest = emit(apc, case.source / "model.onnx", devices, case.flags + KINDS[kind], folder)
    losses = case.train(folder, manifest["devices"], range(case.case["steps"]), ["--save", str(folder / "result.npz")])
    return case.difference(losses, folder / "result.npz")


def check_gradients(apc, folder, models, model, kind, devices):
    """Plain descent takes a gradient times the rate off each weight; both are held to PyTorch's gradients of the first step."""
    case, rate = TrainingCase(models, model, folder), 1024.0
    flags = training_flags({**case.case, "optimizer": "sgd", "weight_decay": 0.0, "clip_norm": None})
    manifest = emit(apc, case.source / "model.onnx", devices, flags + KINDS[kind], folder)
    case.train(folder, manifest["devices"], range(1), ["--save", str(folder / "result.npz")], rate)
    graph, results = onnx.load(case.source / "model.onnx").graph, numpy.load(folder / "result.npz")
    before = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    wanted = dict(map(read_tensor, (case.source / "expected" / "gradients").iterdir()))
    if len(wanted) < 10:
        raise RuntimeError(f"{case.source} has {len(wanted)} gradients")
    # Gradients that are zero but for rounding are held to an absolute difference of 1e-6.
    return max(difference((before[name] - results[name]) / rate, values, 1e-2) for name, values in wanted.items())


def check_moved(apc, folder, models, model, layouts):
    """One step under each layout but the last, all others under that; the checkpoint is cut anew in between, and back."""
    case, losses, loaded = TrainingCase(models, model, folder), [], None
    for place, (kind, devices) in enumerate(layouts):
        own, steps = folder / str(place), range(place, place + 1)
        kinds = PARTS if kind == "parts" else KINDS[kind]
        manifest = emit(apc, case.source / "model.onnx", devices, case.flags + kinds, own)
        flags = ["--save", str(own / "result.npz"), "--save-checkpoint", str(own / "saved")]
        if loaded:
            call([apc, "reshard", loaded, own / "program", "-o", own / "given"])
            call([apc, "reshard", own / "given", loaded, "-o", own / "back"])
            if hashes(own / "back") != hashes(loaded):
                raise RuntimeError("the checkpoint, cut anew and back, has other bytes")
            flags += ["--load", str(own / "given")]
        if place + 1 == len(layouts):
            steps = range(place, case.case["steps"])
        losses += case.train(own, manifest["devices"], steps, flags)
        loaded = own / "saved"
    return case.difference(losses, own / "result.npz")


def hashes(folder):
    """SHA-256 of the files of weights."""
    return {path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in folder.rglob("*.safetensors")}


def check_inference(apc, folder, models, model, devices):
    source = models / model
    manifest = emit(apc, source / "model.onnx", devices, ["--mode", "infer"], folder)
    data = source / "test_data_set_0"
    inputs = [read_tensor(path)[1] for path in sorted(data.glob("input_*.pb"))]
    numpy.savez(folder / "inputs.npz", **{entry["name"]: tensor for entry, tensor in zip(manifest["inputs"], inputs)})
    run(folder, manifest["devices"], ["--inputs", str(folder / "inputs.npz"), "--save", str(folder / "result.npz")])
    results = numpy.load(folder / "result.npz")
    wanted = [read_tensor(path)[1] for path in sorted(data.glob("output_*.pb"))]
    return max(difference(results[entry["name"]], tensor) for entry, tensor in zip(manifest["outputs"], wanted))


def named(everything, names):
    """The cases to run: a title, and a function of a folder that says how far the results are from PyTorch's."""
    apc, models = sys.argv[1], pathlib.Path(sys.argv[2])
    listed = []
    for model, kind, devices in cases(everything):
        check = (lambda folder, model=model, devices=devices: check_inference(apc, folder, models, model, devices)) \
            if kind == "infer" else \
            (lambda folder, model=model, kind=kind, devices=devices: check_training(apc, folder, models, model, kind, devices))
        listed.append((f"{model} {kind} on {devices}", check))
    for model, kind, devices in GRADIENTS:
        listed.append((f"{model} gradients {kind} on {devices}", lambda folder, model=model, kind=kind, devices=devices:
                       check_gradients(apc, folder, models, model, kind, devices)))
    for model, layouts in MOVED:
        title = f"{model} moved: " + ", then ".join(f"{kind} on {devices}" for kind, devices in layouts)
        listed.append((title, lambda folder, model=model, layouts=layouts: check_moved(apc, folder, models, model, layouts)))
    return [(title, check) for title, check in listed if not names or any(name in title for name in names)]


def main():
    names = [name for name in sys.argv[3:] if name != "--all"]
    counts = {"ran": 0, "refused": 0, "failed": 0}
    for title, check in named("--all" in sys.argv, names):
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst = check(pathlib.Path(folder))
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

"""Programs for PyTorch as torch_programs.py runs them, by a PyTorch of 2026; weights and schedules read by its own
readers.

new_torch.py APC MODELS FOLDER [ARGS...]   FOLDER: of the virtual environment that is made, of 5 GB; ARGS go to
    torch_programs.py

Ends with 77 where the packages cannot be had."""

import csv
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Tools"))
from environment import python_of

PACKAGES = ["torch==2.12.1", "numpy==2.4.6", "onnx==1.23.2", "safetensors==0.8.0"]

if pathlib.Path(sys.prefix).resolve() != pathlib.Path(sys.argv[3]).resolve():
    python = python_of(pathlib.Path(sys.argv[3]), PACKAGES)
    sys.exit(subprocess.run([python, "-B", *sys.argv]).returncode)

import numpy
import onnx
import onnx.numpy_helper
import torch
import torch.distributed.checkpoint as checkpoint
from torch.distributed.pipelining import schedules


def call(*command):
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def check_reader(apc, model, folder):
    """The distributed checkpoint's reader of Hugging Face's files puts the pieces of six ranks together."""
    call(apc, "plan", model, "--cluster", "cpu-local", "--mode", "infer", "--devices", 6, "--pin", "c_attn/Gemm$: n=2, ...",
         "--pin", "c_fc/Gemm$: n=3, ...", "-o", folder)
    call(apc, "emit", folder / "plan.json", "--format", "torch", "--weights", "-o", folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    assert len(manifest["weights"]["files"]) > 2
    known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(model).graph.initializer}
    read = {entry["name"]: torch.full(entry["shape"], float("nan")) for entry in manifest["parameters"]}
    checkpoint.load(read, storage_reader=checkpoint.HuggingFaceStorageReader(str(folder / "weights")), no_dist=True)
    for name, tensor in read.items():
        assert numpy.array_equal(tensor.numpy(), known[name]), name
    print(f"PyTorch {torch.__version__} reads {len(read)} parameters of {len(manifest['weights']['files'])} files", flush=True)


def check_schedules(apc, model, folder):
    """The parser and the validation of PyTorch's pipelining take the CSV of exported schedules, and refuse one without an
    action."""
    for layout, stages in (("dp=2,pp=2,mb=1,zero=1,schedule=1f1b", 2), ("dp=2,pp=2,mb=1,zero=1,schedule=zb-h1", 2)):
        call(apc, "evaluate", model, "--loss", "sum", "--layout", layout, "--cluster", "cpu-local", "--global-batch", 12, "-o", folder)
        call(apc, "export", folder / "plan.json", "--to", "torchtitan", "-o", folder / "titan")
        with open(folder / "titan" / "schedule.csv", newline="") as file:
            order = {rank: [schedules._Action.from_str(cell) for cell in row] for rank, row in enumerate(csv.reader(file))}
        ranks = schedules._validate_schedule(order, stages, stages, 6)
        assert ranks == {stage: stage for stage in range(stages)}, ranks
        last = max(place for place, action in enumerate(order[0]) if action)
        order[0][last] = None
        try:
            schedules._validate_schedule(order, stages, stages, 6)
        except AssertionError:
            print(f"PyTorch {torch.__version__} reads the schedule of {layout}", flush=True)
            continue
        raise RuntimeError("PyTorch takes a schedule without an action")


def main():
    apc, models = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        check_reader(apc, models / "gpt" / "model.onnx", pathlib.Path(folder))
        check_schedules(apc, models / "gpt" / "model.onnx", pathlib.Path(folder))
    script = pathlib.Path(__file__).with_name("torch_programs.py")
    sys.exit(subprocess.run([sys.executable, "-B", script, apc, models, *sys.argv[4:]]).returncode)


if __name__ == "__main__":
    main()

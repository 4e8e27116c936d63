"""Recurrent operators and their gradients in StableHLO, run by XLA on one device and on two that share the directions, or
the sequences, against PyTorch.

xla_kernels.py APC [NAME...]   NAME: only cases with this in their names

torch_kernels.py makes the cases, with Debian's Python. Ends with 1 where a result is wrong, with 77 where jaxlib or
PyTorch is missing."""

import json
import pathlib
import subprocess
import sys
import tempfile

from xla_programs import difference, emit, read_tensor

TOLERANCE = 1e-5
RECURRENT = ["rnn", "gru", "lstm"]


def layouts(case):
    """Devices, and the factor that they share: two share the directions, three the sequences."""
    yield 1, None
    if "both" in case or "lstm-activations" in case:
        yield 2, "d"
    yield 3, "b"


def tensors_of(source, kind):
    return [read_tensor(path)[1] for path in sorted((source / "test_data_set_0").glob(f"{kind}_*.pb"))]


def check(apc, source, devices, factor, folder):
    names = json.loads((source / "names.json").read_text())
    given = dict(zip(names["inputs"], tensors_of(source, "input"), strict=True))
    pins = ["--pin", f"^(RNN|GRU|LSTM)$: {factor}={devices}, ..."] if factor else []
    program = emit(apc, source / "model.onnx", devices, ["--mode", "infer", *pins], folder, given)
    (stage,) = json.loads((folder / "plan.json").read_text())["stages"]
    if factor and not any(choice["strategy"].startswith(f"{factor}:") for choice in stage["choices"]):
        raise RuntimeError(f"no op cuts {factor}")
    outputs = program.step(given)
    return max(difference(outputs[name], tensor)
               for name, tensor in zip(names["outputs"], tensors_of(source, "output"), strict=True))


def main():
    apc, counts = sys.argv[1], {"ran": 0, "failed": 0}
    with tempfile.TemporaryDirectory() as folder:
        root, maker = pathlib.Path(folder), pathlib.Path(__file__).with_name("torch_kernels.py")
        made = subprocess.run(["/usr/bin/python3", "-B", maker, apc, "--into", root / "cases", *(sys.argv[2:] or RECURRENT)],
                              capture_output=True, text=True)
        if made.returncode:
            print(made.stdout + made.stderr)
            sys.exit(made.returncode)
        for source in sorted(path.parent for path in (root / "cases").glob("*/model.onnx")):
            for devices, factor in layouts(source.name):
                try:
                    worst = check(apc, source, devices, factor, root / f"{source.name}-{devices}")
                    outcome, message = "ran" if worst <= TOLERANCE else "failed", f"differs by {worst:.1e}"
                except RuntimeError as error:
                    outcome, message = "failed", error
                print(f"{outcome}: {source.name} on {devices}: {message}", flush=True)
                counts[outcome] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    sys.exit(1 if counts["failed"] or not counts["ran"] else 0)


if __name__ == "__main__":
    main()

"""Operators without tests of ONNX's, and gradients, by the programs for PyTorch against the reference kernels.

torch_kernels.py APC APC-CONFORMANCE [NAME...]   NAME: only cases with this in their names
torch_kernels.py APC --into DIR [NAME...]   writes the cases with PyTorch's outputs, for runs by other runtimes

Models are made here; their outputs are those of PyTorch on one device. apc-conformance compares them with the kernels,
programs for two devices are compared with the program for one. Ends with 1 where any differs, with 77 where PyTorch is
missing."""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch_operators  # ends here where PyTorch is missing

import onnx
import torch
from onnx import helper, numpy_helper

from torch_made_cases import CASES

TRAINING = "ai.onnx.preview.training"
OPTIONS = {"attributes", "constants", "domain", "gradient", "opset", "wanted"}


def value_of(name, tensor):
    return helper.make_tensor_value_info(name, numpy_helper.from_array(tensor).data_type, tensor.shape)


def gradient_nodes(names):
    """Nodes for the gradients d0, d1, ... of the sum of the cubes of y0."""
    outputs = [f"d{index}" for index in range(len(names))]
    return outputs, [helper.make_node("Mul", ["y0", "y0"], ["square"], name="square"),
                     helper.make_node("Mul", ["y0", "square"], ["cube"], name="cube"),
                     helper.make_node("Gradient", names, outputs, domain=TRAINING, xs=names, y="cube")]


def write_case(folder, op, inputs, options):
    """A model of one operator, or of gradients through it, and its inputs."""
    names = ["" if tensor is None else f"x{index}" for index, tensor in enumerate(inputs)]
    given = {name: tensor for name, tensor in zip(names, inputs) if name}
    attributes = {key: value for key, value in options.items() if key not in OPTIONS} | options.get("attributes", {})
    domain, inside = options.get("domain", ""), {f"x{index}" for index in options.get("constants", ())}
    results = [f"y{index}" if is_wanted else "" for index, is_wanted in enumerate(options.get("wanted", [True]))]
    outputs = list(filter(None, results))
    nodes = [helper.make_node(op, names, results, domain=domain, name=op, **attributes)]
    if "gradient" in options:
        outputs, more = gradient_nodes([names[index] for index in options["gradient"]])
        nodes += more
    free = [name for name in given if name not in inside]
    graph = helper.make_graph(nodes, "case", [value_of(name, given[name]) for name in free],
                              [helper.make_empty_tensor_value_info(name) for name in outputs],
                              [numpy_helper.from_array(given[name], name) for name in sorted(inside)])
    opsets = [helper.make_opsetid("", options.get("opset", 17)), helper.make_opsetid(TRAINING, 1)]
    opsets += [helper.make_opsetid(domain, 1)] if domain else []
    (folder / "test_data_set_0").mkdir(parents=True)
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "model.onnx")
    for index, name in enumerate(free):
        write_tensor(folder / "test_data_set_0" / f"input_{index}.pb", given[name])


def write_tensor(path, tensor):
    path.write_bytes(numpy_helper.from_array(tensor).SerializeToString())


def record(apc, folder, scratch):
    """Writes the outputs that PyTorch gives on one device."""
    case = torch_operators.Case(folder)
    program = case.emit(apc, scratch / folder.name, ["--devices", "1"])
    store = torch.distributed.FileStore(str(program / "store"), 1)
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        whole = torch_operators.results_of(program, case, 1)
    finally:
        torch.distributed.destroy_process_group()
    model = onnx.load(folder / "model.onnx")
    for index, output in enumerate(model.graph.output):
        tensor = whole[output.name].numpy()
        output.CopyFrom(value_of(output.name, tensor))
        write_tensor(folder / "test_data_set_0" / f"output_{index}.pb", tensor)
    names = {"inputs": [value.name for value in model.graph.input], "outputs": [value.name for value in model.graph.output]}
    (folder / "names.json").write_text(json.dumps(names))
    onnx.save(model, folder / "model.onnx")


def write_cases(apc, root, names):
    """Cases with PyTorch's outputs in a folder; how many have none."""
    failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        for name, op, inputs, options in CASES:
            if names and not any(part in name for part in names):
                continue
            write_case(root / name, op, inputs, options)
            try:
                record(apc, root / name, pathlib.Path(scratch))
            except Exception as error:
                print(f"failed: {name}: {type(error).__name__}: {error}")
                failed += 1
                (root / name / "model.onnx").unlink()
    return failed


def main():
    torch.set_grad_enabled(False)
    if sys.argv[2] == "--into":
        sys.exit(write_cases(sys.argv[1], pathlib.Path(sys.argv[3]), sys.argv[4:]))
    apc, conformance, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        failed = write_cases(apc, root, names)
        judged = subprocess.run([conformance, str(root), "--ranks", "none"], capture_output=True, text=True)
        print("\n".join(line for line in judged.stdout.splitlines() if not line.startswith("passed") or names))
        sources = sorted(path.parent for path in root.glob("*/model.onnx"))
        counts = torch_operators.run_cases(apc, sources, 2, bool(names))
    sys.exit(1 if failed or judged.returncode or counts["failed"] or not counts["ran"] else 0)


if __name__ == "__main__":
    main()

"""What torch_programs.py cannot see from results: names that models take, faults that runs must tell, messages between ranks.

torch_runner.py APC MODELS [NAME...]   MODELS: the folder of tiny models; NAME: only cases with this in their names

Ends with 77 where PyTorch is missing."""

import builtins
import json
import keyword
import pathlib
import sys
import tempfile

from torch_programs import difference, emit, run

import numpy
import onnx
import onnx.helper
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def expect(condition, message):
    if not condition:
        raise RuntimeError(message)


def save_model(path, nodes, weights):
    """A model of nodes (name, operator, inputs behind the result of the node before, attributes), from x [8, 4] to y."""
    made, before = [], "x"
    for place, (name, operator, inputs, attributes) in enumerate(nodes):
        result = "y" if place + 1 == len(nodes) else f"value{place}"
        made.append(onnx.helper.make_node(operator, [before, *inputs], [result], name=name, **attributes))
        before = result
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape) for name, shape in
            [("x", [8, 4]), ("y", [8, weights[list(weights)[-1]].shape[-1]])]]
    tensors = [onnx.numpy_helper.from_array(values, name) for name, values in weights.items()]
    graph = onnx.helper.make_graph(made, "g", ends[:1], ends[1:], tensors)
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=8), path)


def check_names(apc, _models, folder):
    """Nodes called as what the program imports, defines and calls: each would hide it from the statements behind it."""
    runtime = (ROOT / "lib/Emit/Torch/Runtime/collectives.py").read_text()
    names = [line.split()[1].split("(")[0] for line in runtime.splitlines() if line.startswith("def ")]
    names += ["layer0", "forward", "backward", "update", "update_parameter", "update_parameter_2", "make_constants",
              "rank", "weights", "sums", "kept", "name", "gradient", "i", "torch", "ops", "math", "scaled_product"]
    names += [name for name in dir(builtins) if name.islower()] + [name for name in keyword.kwlist if name.islower()]
    random = numpy.random.default_rng(1)
    weights = {name: random.random(shape).astype(numpy.float32) for name, shape in [("v", (4, 6)), ("w", (6, 5))]}
    lowest = {"lowest": numpy.float32(-numpy.inf)}
    nodes = [("first", "MatMul", ["v"], {}), *[(name, "Relu", [], {}) for name in names],
             ("bound", "Clip", ["lowest"], {}), ("last", "Gemm", ["w"], {"alpha": 0.5})]
    save_model(folder / "model.onnx", nodes, {**lowest, **weights})
    x = random.random((8, 4)).astype(numpy.float32)
    numpy.savez(folder / "x.npz", x=x)
    flags = ["--loss", "sum:y", "--optimizer", "sgd", "--pin", "^first$: k=2", "--pin", "^last$: k=2", "--parallel", "semi"]
    manifest = emit(apc, folder / "model.onnx", 2, flags, folder)
    lines = run(folder, manifest["devices"], ["--inputs", str(folder / "x.npz"), "--check"])
    losses = [float(line.split()[-1]) for line in lines if line.startswith("step ")]
    worst = difference(numpy.array(losses), numpy.array([(0.5 * x @ weights["v"] @ weights["w"]).sum()]))
    expect(worst < 1e-4, f"the loss is {losses}, which differs by {worst:.1e}")


def fill_weights(program, byte):
    """Every byte of the weights replaced: all floats are no numbers where it is 255."""
    for path in program.rglob("*.safetensors"):
        data = path.read_bytes()
        begin = 8 + int.from_bytes(data[:8], "little")
        path.write_bytes(data[:begin] + bytes([byte]) * (len(data) - begin))


def fails(folder, devices, arguments, message):
    """The run must fail and say `message`."""
    try:
        run(folder, devices, arguments)
    except RuntimeError as error:
        expect(message in str(error), f"the run failed with {error}, not with '{message}'")
        return
    raise RuntimeError(f"the run went through, though '{message}'")


def check_faults(apc, models, folder):
    """--check fails where results are not numbers, and where one is missing."""
    manifest = emit(apc, models / "mixer" / "model.onnx", 2, ["--mode", "infer"], folder)
    inputs = {entry["name"]: numpy.ones(entry["shape"], numpy.float32) for entry in manifest["inputs"]}
    numpy.savez(folder / "inputs.npz", **inputs)
    arguments = ["--inputs", str(folder / "inputs.npz"), "--check"]
    run(folder, 2, arguments)
    manifest["outputs"][0]["name"] = "another"
    (folder / "program" / "manifest.json").write_text(json.dumps(manifest))
    fails(folder, 2, arguments, "which the program's ranks have not")
    manifest = emit(apc, models / "mixer" / "model.onnx", 2, ["--mode", "infer"], folder)
    fill_weights(folder / "program", 255)
    fails(folder, 2, arguments, "differ from those of one device by inf at most")


CASES = {
    "names that the program has": check_names,
    "faults that --check tells": check_faults,
}


def main():
    apc, models, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    failed = 0
    for title, check in CASES.items():
        if names and not any(name in title for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(apc, models, pathlib.Path(folder))
                print(f"ran: {title}", flush=True)
            except RuntimeError as error:
                failed += 1
                print(f"failed: {title}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

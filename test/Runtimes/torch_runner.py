"""The runner and the runtime of programs for PyTorch, beyond the results that torch_programs.py compares: names that models
take, faults that runs must tell, messages between ranks.

torch_runner.py APC MODELS [NAME...]   MODELS: the folder of tiny models; NAME: only cases with this in their names

Ends with 77 where PyTorch is missing."""

import builtins
import json
import keyword
import pathlib
import sys
import tempfile

from torch_programs import KINDS, TrainingCase, difference, emit, run

import numpy
import onnx
import onnx.helper
import torch

EMIT = pathlib.Path(__file__).resolve().parents[2] / "lib" / "Emit"
RUNTIME = [str(EMIT / "Torch" / "Runtime"), str(EMIT / "Runtime")]
sys.path += RUNTIME

from loading import piece_of
from transfers import choose, plan_messages, put


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
    runtime = (EMIT / "Torch" / "Runtime" / "collectives.py").read_text()
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


def check_gathering(apc, models, folder):
    """Whole weights and results come to rank 0 only where something is made of them."""
    case = TrainingCase(models, "mixer", folder)
    emit(apc, case.source / "model.onnx", 2, case.flags, folder)
    gather_object = torch.distributed.gather_object

    def refuse(*_, **__):
        raise RuntimeError("everything was gathered")

    arguments = ["--inputs", str(case.files[0])]
    torch.distributed.gather_object = refuse  # in the processes that `run` forks, too
    try:
        run(folder, 2, arguments)
        fails(folder, 2, [*arguments, "--check"], "everything was gathered")
        fails(folder, 2, [*arguments, "--save", str(folder / "result.npz")], "everything was gathered")
    finally:
        torch.distributed.gather_object = gather_object


def check_threads(apc, models, folder):
    """A fault in the update of one of several stages ends the process, though others wait for that stage."""
    case = TrainingCase(models, "unet", folder)
    emit(apc, case.source / "model.onnx", 2, case.flags + KINDS["zb-v-recompute"], folder)
    for place, last in ((0, "raise ValueError('broken update')"), (3, "rank.mail.post.receive(0, 99)")):
        with open(folder / "program" / f"stage-{place:04}" / "program.py", "a") as program:
            program.write(f"\n\ndef update_that_fails(rank, *_):\n    {last}\n\n\nUPDATE = update_that_fails\n")
    fails(folder, 2, ["--inputs", str(case.files[0])], "broken update")


POST = """
import sys, threading
sys.path[:0] = RUNTIME
import torch
import torch.distributed as dist
from transfers import Post

dist.init_process_group("gloo")
number = dist.get_rank()
post = Post({"transfers": ["x"]}, torch.device("cpu"))
post.connect({(0, 1), (1, 0)})
for step in range(2):
    for message in range(6):  # both ways at once, more than buffers hold
        post.send(1 - number, message, torch.full((1 << 20,), 10 * step + message + number, dtype=torch.float32))
    found = {}
    def receive(messages):
        for message in messages:
            found[message] = post.receive(1 - number, message).view(torch.float32)
    threads = [threading.Thread(target=receive, args=(own,)) for own in ([5, 1, 0], [3, 4, 2])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for message, values in found.items():
        assert len(values) == 1 << 20 and (values == 10 * step + message + 1 - number).all(), message
    assert len(found) == 6
    post.send(1 - number, 7, torch.zeros(0))
    assert post.receive(1 - number, 7).numel() == 0
    post.send(number, 8, torch.ones(3, dtype=torch.bool))
    assert post.receive(number, 8).all()
    post.end_step()
"""


def check_order(_apc, _models, folder):
    """Messages may be asked for in another order than they come, by several threads, while as many go the other way."""
    (folder / "program").mkdir()
    (folder / "program" / "run.py").write_text(POST.replace("RUNTIME", repr(RUNTIME)))
    run(folder, 2, [])


SHARDINGS = ["[a, b]", "[(a b), -]", "[-, c{4 6}]", "[c{5 2}, a]", "[-, (b a){3 3 4}]", "[-, -]"]
MESH = {"a": 2, "b": 2, "c": 3}


def check_messages(_apc, _models, _folder):
    """Messages carry every element of a piece from one sharding to another, and no padding."""
    whole = torch.arange(70).reshape(7, 10) + 1
    for source in SHARDINGS:
        for target in SHARDINGS:
            sends, receives = ({"shape": [7, 10], "sharding": sharding} for sharding in (source, target))
            targets = [torch.zeros_like(piece_of(whole, target, MESH, number)) for number in range(12)]
            for sender, receiver, shared in plan_messages(sends, receives, MESH, MESH, lambda *_: True):
                put(targets[receiver], shared, choose(piece_of(whole, source, MESH, sender), shared))
            for number, found in enumerate(targets):
                expect(torch.equal(found, piece_of(whole, target, MESH, number)),
                       f"{source} -> {target}: rank {number} has {found.tolist()}")
    scalar, target = {"shape": [], "sharding": "[]"}, torch.zeros(())
    for _, _, shared in plan_messages(scalar, scalar, {"a": 1}, {"a": 1}, lambda *_: True):
        put(target, shared, choose(torch.tensor(3.0), shared))
    expect(target == 3, "a number did not arrive")


def check_planning(_apc, _models, _folder):
    """The lines that run while messages of a wide value are planned: as many for 12,288 columns as for 16."""
    def lines_of(width):
        count = 0

        def trace(_frame, event, _argument):
            nonlocal count
            count += event == "line"
            return trace

        sends = {"shape": [2048, width], "sharding": "[-, a]"}
        receives = {"shape": [2048, width], "sharding": "[a, -]"}
        sys.settrace(trace)
        try:
            messages = plan_messages(sends, receives, {"a": 8}, {"a": 8}, lambda *_: True)
        finally:
            sys.settrace(None)
        expect(len(messages) == 64, f"there are {len(messages)} messages, not 64")
        return count

    few, many = lines_of(16), lines_of(12288)
    expect(few == many and many < 10000, f"{few} lines run for 16 columns, {many} for 12,288")


CASES = {
    "names that the program has": check_names,
    "faults that --check tells": check_faults,
    "whole weights": check_gathering,
    "faults in threads": check_threads,
    "order of messages": check_order,
    "elements of messages": check_messages,
    "planning of messages": check_planning,
}


def run_cases(cases):
    apc, models, names = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    failed = 0
    for title, check in cases.items():
        if names and not any(name in title for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                check(apc, models, pathlib.Path(folder))
                print(f"ran: {title}", flush=True)
            except (RuntimeError, AssertionError) as error:
                failed += 1
                print(f"failed: {title}: {error}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    run_cases(CASES)

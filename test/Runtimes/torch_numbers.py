"""Numbers of training steps in programs for PyTorch: draws of random numbers, steps and rates under names that models take,
and sums over micro-batches of gradients in 16 bits.

torch_numbers.py APC MODELS [NAME...]   NAME: only cases with this in their names

Ends with 77 where PyTorch is missing."""

from torch_programs import emit, run
from torch_runner import expect, fails, run_cases

import numpy
import onnx
import onnx.helper
import torch

from collectives import Sums  # which the processes of programs share


def save_training_model(path, inputs):
    """A model with a Dropout and a weight that both of its layers share; its inputs, both of [8, 4], have these names."""
    make, random = onnx.helper.make_node, numpy.random.default_rng(2)
    nodes = [make("MatMul", [inputs[0], "w"], ["a"], name="first"), make("Dropout", ["a", "ratio", "train"], ["d"], name="drop"),
             make("Tanh", ["d"], ["t"], name="between"), make("Mul", ["t", inputs[1]], ["m"], name="times"),
             make("MatMul", ["m", "w"], ["y"], name="second")]
    weights = {"w": random.standard_normal((4, 4), numpy.float32), "ratio": numpy.float32(0.5), "train": numpy.bool_(True)}
    ends = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [8, 4]) for name in (*inputs, "y")]
    tensors = [onnx.numpy_helper.from_array(numpy.asarray(values), name) for name, values in weights.items()]
    graph = onnx.helper.make_graph(nodes, "g", ends[:2], ends[2:], tensors)
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8), path)
    return {name: random.standard_normal((8, 4), numpy.float32) for name in inputs}


TRAINED = ["--loss", "sum:y", "--optimizer", "sgd", "--pipeline", "2", "--schedule", "1f1b", "--micro-batch", "2"]


def losses_of(folder, devices, given, flags):
    """The losses of a program for these inputs, which it must share with one device."""
    numpy.savez(folder / "inputs.npz", **given)
    lines = run(folder, devices, ["--inputs", str(folder / "inputs.npz"), "--check", *flags])
    return [line.split()[-1] for line in sorted(lines) if line.startswith("step ")]


def check_draws(apc, _models, folder):
    """Each micro-batch of each step draws other random numbers, by its number or by those of the file."""
    given = save_training_model(folder / "model.onnx", ["x", "z"])
    devices = emit(apc, folder / "model.onnx", 2, TRAINED, folder)["devices"]
    flags = ["--steps", "2", "--learning-rate", "0"]
    own = losses_of(folder, devices, given, flags)
    first, second = ({**given, "draw": list(range(begin, begin + 4))} for begin in (0, 4))
    expect(own[0] != own[1], f"both steps draw alike: {own}")
    expect(losses_of(folder, devices, first, flags) == [own[0]] * 2, "step 1 does not draw 0, 1, 2, 3")
    expect(losses_of(folder, devices, second, flags) == [own[1]] * 2, "step 2 does not draw 4, 5, 6, 7")
    same = losses_of(folder, devices, {**given, "draw": 0}, flags)
    expect(same[0] != own[0], "all micro-batches draw alike")
    numpy.savez(folder / "inputs.npz", x=given["x"])
    fails(folder, devices, ["--inputs", str(folder / "inputs.npz")], "input z is not in the file of inputs")


def check_numbers(apc, _models, folder):
    """Inputs of a model that are called as the numbers of a step are."""
    losses = []
    for names in (["x", "z"], ["step", "learning_rate"], ["draw", "step"]):
        own = folder / names[0]
        own.mkdir()
        given = save_training_model(own / "model.onnx", names)
        losses.append(losses_of(own, emit(apc, own / "model.onnx", 2, TRAINED, own)["devices"], given, ["--steps", "2"]))
    expect(losses[0] == losses[1] == losses[2], f"losses are {losses}")


def check_short_sums(apc, _models, folder):
    """Sums over micro-batches of gradients in 16 bits, to which both stages of a pipeline add, are of 32 bits."""
    given, add = save_training_model(folder / "model.onnx", ["x", "z"]), Sums.add

    def add_long(sums, name, tensor):
        expect(tensor.dtype == torch.float32, f"{name} is a sum of {tensor.dtype}")
        return add(sums, name, tensor)

    Sums.add = add_long  # in the processes that `run` forks, too
    try:
        devices = emit(apc, folder / "model.onnx", 2, [*TRAINED, "--precision", "bf16"], folder)["devices"]
        losses_of(folder, devices, {**given, "draw": 0}, [])
    finally:
        Sums.add = add


CASES = {
    "draws of micro-batches": check_draws,
    "inputs called as numbers of a step": check_numbers,
    "short sums": check_short_sums,
}


if __name__ == "__main__":
    run_cases(CASES)

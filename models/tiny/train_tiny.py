#!/usr/bin/python3
"""Trains the tiny models for a few steps by PyTorch, in float64, from the weights in their files: what training must give.

Needs only Debian 12: apt-get install --no-install-recommends python3-torch python3-onnx python3-numpy
Run:  /usr/bin/python3 models/tiny/train_tiny.py [NAME ...]        (no name: all)

Writes training/NAME/ beside this file; models/tiny/README.md describes the files. Before a case is written, the same steps are run
again in float32, with noise of one rounding on every weight: all must agree with what is written, well within the tolerance.
"""
import copy
import json
import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Callable, NamedTuple

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper
from torch.nn.utils.stateless import functional_call

from export_tiny import MODELS, sample
from language_models import VOCABULARY

RELATIVE, FLOOR = 1e-4, 1e-6  # the tolerance
MOST_ROUNDING = 0.6  # of the tolerance
STEPS = 3
DEFAULTS = dict(loss="", optimizer="sgd", learning_rate=0.1, momentum=0.0, dampening=0.0, nesterov=False,
                betas=[0.9, 0.999], eps=1e-8, amsgrad=False, weight_decay=0.0, clip_norm=None, steps=STEPS,
                micro_batches=1, freeze="", tie=[])


class Training(NamedTuple):
    target: Callable[[], torch.Tensor]
    settings: dict
    still: str = ""  # parameters whose gradient is zero but for rounding, as a regular expression
    seed: int = 7


def labels(classes, *shape):
    return lambda: torch.randint(classes, shape)


def numbers(*shape):
    return lambda: torch.randn(*shape)


# `eps` and `weight_decay` are large on purpose: rounding is not blown up, and a wrong place of either shows.
CASES = {
    "gpt": Training(labels(VOCABULARY, 6, 5), dict(
        loss="cross-entropy:logits", optimizer="adamw", learning_rate=3e-3, betas=[0.9, 0.95], eps=1e-3, weight_decay=0.5,
        clip_norm=1.0)),
    "llama": Training(labels(VOCABULARY, 6, 7), dict(
        loss="cross-entropy:logits", optimizer="adam", learning_rate=2e-3, eps=1e-3, weight_decay=0.02,
        freeze="onnx::Cos_.*|.*norm.*")),
    "bert": Training(labels(VOCABULARY, 6, 7), dict(
        loss="cross-entropy:logits", optimizer="adamw", learning_rate=2e-3, eps=1e-3, weight_decay=0.1,
        freeze="pooler.*"), still=".*key.bias"),
    "t5": Training(labels(VOCABULARY, 6, 5), dict(
        loss="cross-entropy:logits", optimizer="momentum", learning_rate=0.05, momentum=0.9, weight_decay=0.01,
        clip_norm=2.0), seed=24),
    "vit": Training(labels(11, 6), dict(
        loss="cross-entropy:logits", optimizer="adam", learning_rate=2e-3, betas=[0.9, 0.5], eps=1e-3, amsgrad=True,
        clip_norm=0.5)),
    "resnet": Training(labels(11, 6), dict(
        loss="cross-entropy:logits", optimizer="momentum", learning_rate=0.05, momentum=0.9, nesterov=True,
        weight_decay=0.01), seed=24),
    "unet": Training(numbers(6, 5, 12, 20), dict(loss="mse:logits", optimizer="sgd", learning_rate=0.2), seed=10),
    "dlrm": Training(lambda: torch.rand(6, 1), dict(loss="mse:click", optimizer="sgd", learning_rate=0.2), seed=13),
    "moe": Training(labels(VOCABULARY, 6, 7), dict(
        loss="cross-entropy:logits", optimizer="sgd", learning_rate=0.1, weight_decay=0.02, clip_norm=1.0)),
    "mixer": Training(numbers(11, 6), dict(
        loss="mse:scores", optimizer="momentum", learning_rate=0.05, momentum=0.8, dampening=0.3)),
    "tts": Training(numbers(6, 14, 9), dict(loss="mse:spectrum", optimizer="sgd", learning_rate=0.5)),
}


# ------------------------------------------------------------------------------- weights of the file and of the module
class Stored(NamedTuple):
    """How a file holds a parameter of the module: as it is, transposed, its first rows, or with further dims."""
    name: str
    transposed: bool = False
    rows: int = 0  # 0: all
    shape: tuple = ()  # (): the module's

    def cut(self, parameter):
        """From the module's layout to the file's."""
        if self.shape:
            return parameter.reshape(self.shape)
        return parameter.t() if self.transposed else parameter[:self.rows] if self.rows else parameter

    def whole(self, leaf, parameter):
        """The module's parameter with what the file holds of it."""
        if self.shape:
            return leaf.reshape(parameter.shape)
        if self.rows:
            return torch.cat((leaf, parameter[self.rows:]))
        return leaf.t() if self.transposed else leaf


def match(held, parameter, name):
    """The initializer that holds a parameter."""
    array = parameter.detach().numpy()
    for key, value in held.items():
        if np.array_equal(value, array):
            return Stored(key)
        if array.ndim == 2 and np.array_equal(value, array.T):
            return Stored(key, transposed=True)
        if value.ndim == array.ndim > 1 and value.shape[0] < array.shape[0] and np.array_equal(value, array[:len(value)]):
            return Stored(key, rows=len(value))
        if value.size == array.size and np.array_equal(value.flatten(), array.flatten()):
            return Stored(key, shape=value.shape)
    raise SystemExit(f"no initializer holds {name}")


def initializers(proto):
    return {i.name: numpy_helper.to_array(i) for i in proto.graph.initializer}


def is_trained(name, settings):
    return not re.fullmatch(settings["freeze"], name) if settings["freeze"] else True


def check_names(proto, stored, settings):
    """Every float initializer of more than one element is a parameter, a statistic or frozen."""
    known = {entry.name for entry in stored.values()}
    known |= {name for node in proto.graph.node if node.op_type == "BatchNormalization" for name in node.input[3:5]}
    for name, value in initializers(proto).items():
        if value.dtype == np.float32 and value.size > 1 and name not in known and is_trained(name, settings):
            raise SystemExit(f"initializer {name} is neither trained nor frozen")


# ---------------------------------------------------------------------------------------------------------------- steps
def loss_of(network, stored, leaves, batch, output_names, settings):
    whole = dict(network.named_parameters())
    values = {name: entry.whole(leaves[entry.name], whole[name].detach())
              for name, entry in stored.items() if entry.name in leaves}
    out = functional_call(network, values, batch["inputs"])
    out = dict(zip(output_names, out if isinstance(out, tuple) else (out,)))
    kind, _, name = settings["loss"].rpartition(":")
    if kind == "cross-entropy":  # classes in the last dim
        return F.cross_entropy(out[name].flatten(0, -2), batch["target"].flatten())
    return F.mse_loss(out[name], batch["target"])


def optimizer_of(parameters, s):
    if s["optimizer"] in ("adam", "adamw"):
        kind = torch.optim.Adam if s["optimizer"] == "adam" else torch.optim.AdamW
        return kind(parameters, lr=s["learning_rate"], betas=tuple(s["betas"]), eps=s["eps"], amsgrad=s["amsgrad"],
                    weight_decay=s["weight_decay"])
    return torch.optim.SGD(parameters, lr=s["learning_rate"], momentum=s["momentum"], dampening=s["dampening"],
                           nesterov=s["nesterov"], weight_decay=s["weight_decay"])


def cast(batch, dtype):
    to = lambda x: x.to(dtype) if x.is_floating_point() else x
    return {"inputs": tuple(to(x) for x in batch["inputs"]), "target": to(batch["target"])}


def train(network, stored, batches, output_names, settings, dtype=torch.float64, noise=0.0):
    """-> losses, gradients of step 0 before clipping, parameters after the last step; the latter by the file's names."""
    network = copy.deepcopy(network).to(dtype).train()
    leaves = {}
    for name, parameter in network.named_parameters():
        if is_trained(stored[name].name, settings):
            value = stored[name].cut(parameter.detach())
            leaves[stored[name].name] = torch.nn.Parameter((value * (1 + noise * torch.randn_like(value))).contiguous())
    optimizer, losses, first = optimizer_of(list(leaves.values()), settings), [], None
    for batch in batches:
        optimizer.zero_grad()
        loss = loss_of(network, stored, leaves, cast(batch, dtype), output_names, settings)
        loss.backward()
        losses.append(loss.item())
        missing = [name for name, leaf in leaves.items() if leaf.grad is None]
        if missing:
            raise SystemExit(f"no gradient reaches {missing}")
        first = first or {name: leaf.grad.detach().clone() for name, leaf in leaves.items()}
        if settings["clip_norm"]:
            torch.nn.utils.clip_grad_norm_(leaves.values(), settings["clip_norm"])
        optimizer.step()
    return losses, first, {name: leaf.detach() for name, leaf in leaves.items()}


def tolerances(got, want):
    return ((got.double() - want).abs() / (RELATIVE * want.abs()).clamp(min=FLOOR)).max().item()


# ---------------------------------------------------------------------------------------------------------------- files
def file_name(name):
    return re.sub(r"[^A-Za-z0-9._-]", "_", name) + ".pb"


def write_tensor(path, name, tensor):
    if path.exists():
        raise SystemExit(f"two names, one file: {path}")
    path.parent.mkdir(parents=True, exist_ok=True)
    array = tensor.float().numpy() if tensor.is_floating_point() else tensor.numpy()
    path.write_bytes(numpy_helper.from_array(np.ascontiguousarray(array), name).SerializeToString(deterministic=True))


def write_case(folder, model_bytes, settings, batches, input_names, result):
    shutil.rmtree(folder, ignore_errors=True)
    losses, gradients, parameters = result
    for step, batch in enumerate(batches):
        for index, (name, tensor) in enumerate(zip((*input_names, "target"), (*batch["inputs"], batch["target"]))):
            write_tensor(folder / f"step_{step}" / f"input_{index}.pb", name, tensor)
    for kind, tensors in (("gradients", gradients), ("parameters", parameters)):
        for name, tensor in tensors.items():
            write_tensor(folder / "expected" / kind / file_name(name), name, tensor)
    (folder / "model.onnx").write_bytes(model_bytes)
    (folder / "train.json").write_text(json.dumps(settings, indent=2) + "\n")
    (folder / "expected" / "loss.json").write_text(json.dumps(losses) + "\n")


def check(name, result, runs, start, still):
    """Rounding stays well below the tolerance, and a wrong gradient or update would be felt."""
    losses, gradients, parameters = result
    worst = max(max([tolerances(torch.tensor(got[0]), torch.tensor(losses, dtype=torch.float64))] +
                    [tolerances(got[kind][key], want) for kind, values in ((1, gradients), (2, parameters))
                     for key, want in values.items()]) for got in runs)
    felt = [key for key in gradients if not (still and re.fullmatch(still, key))]
    pulled = min(tolerances(torch.zeros_like(gradients[key]), gradients[key].clone()) for key in felt)
    moved = min(tolerances(start[key], parameters[key]) for key in felt)
    print(f"{name:7} loss {' '.join(f'{loss:.4f}' for loss in losses)}  rounding {worst:.3f} of the tolerance, "
          f"gradients {pulled:.0f}, updates {moved:.0f} tolerances at least")
    if worst > MOST_ROUNDING:
        raise SystemExit(f"{name}: float32 differs by {worst:.3g} of the tolerance")
    if pulled < 100 or moved < 10:
        raise SystemExit(f"{name}: a wrong gradient or update would pass")


def make(name, case):
    here = Path(__file__).resolve().parent
    model, settings = MODELS[name], {**DEFAULTS, **case.settings}
    model_bytes = (here / name / "model.onnx").read_bytes()
    proto = onnx.load_from_string(model_bytes)
    network = sample(model)[0]
    held = initializers(proto)
    stored = {key: match(held, parameter, key) for key, parameter in network.named_parameters()}
    check_names(proto, stored, settings)
    torch.manual_seed(case.seed)
    batches = [{"inputs": model.draw(), "target": case.target()} for _ in range(STEPS)]
    result = train(network, stored, batches, model.outputs, settings)
    runs = [train(network, stored, batches, model.outputs, settings, torch.float32, noise)
            for noise in (0.0, 6e-8, 6e-8, 6e-8)]
    start = {entry.name: entry.cut(parameter.detach()).double()
             for entry, parameter in ((stored[key], p) for key, p in network.named_parameters())}
    check(name, result, runs, start, case.still)
    write_case(here / "training" / name, model_bytes, settings, batches, model.inputs, result)


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in sys.argv[1:] or CASES:
        if name not in CASES:
            raise SystemExit(f"no case {name!r}: there are {', '.join(CASES)}")
        make(name, CASES[name])


if __name__ == "__main__":
    main()

#!/usr/bin/python3
"""Write the tiny models with weights, inputs and the outputs that PyTorch computes: an oracle with no code of ours.

Needs only Debian 12: apt-get install --no-install-recommends python3-torch python3-onnx python3-numpy
Run:  /usr/bin/python3 models/tiny/export_tiny.py [NAME ...]        (no name: all)

Each folder is laid out as ONNX's own tests are: NAME/model.onnx, NAME/test_data_set_0/input_0.pb, output_0.pb, ...
"""
import copy
import sys
import warnings
from pathlib import Path
from typing import Callable, NamedTuple

import onnx
import torch
from onnx import numpy_helper
from torch import nn

from language_models import Bert, Experts, Gpt, Llama, Moe, T5, bert_inputs, tokens
from other_models import Dlrm, Mixer, ResNet, UNet, Vit, dlrm_inputs
from recurrent_models import Tts


class Model(NamedTuple):
    make: Callable[[], nn.Module]
    inputs: tuple
    draw: Callable[[], tuple]
    outputs: tuple
    opset: int = 17
    gain: float = 1.0  # widens the weights where an output would be far from order one
    seed: int = 1
    fold: bool = True  # false where folding would store a tied embedding a second time, transposed


MODELS = {
    "gpt": Model(Gpt, ("tokens",), lambda: (tokens(6, 5),), ("logits",), fold=False),
    "llama": Model(Llama, ("tokens",), lambda: (tokens(6, 7),), ("logits",)),
    "bert": Model(Bert, ("tokens", "segments", "mask"), bert_inputs, ("logits", "pooled"), opset=14),
    "t5": Model(T5, ("tokens", "targets"), lambda: (tokens(6, 7), tokens(6, 5)), ("logits",), opset=15, fold=False),
    "vit": Model(Vit, ("image",), lambda: (torch.randn(6, 3, 14, 21),), ("logits",)),
    "resnet": Model(ResNet, ("image",), lambda: (torch.randn(6, 3, 19, 23),), ("logits",), opset=14, gain=0.9),
    "unet": Model(UNet, ("image",), lambda: (torch.randn(6, 3, 12, 20),), ("logits",), opset=16, gain=1.4),
    "dlrm": Model(Dlrm, ("dense", "indices"), dlrm_inputs, ("click",), opset=14, gain=2.0),
    "moe": Model(Moe, ("tokens",), lambda: (tokens(6, 7),), ("logits",)),
    "mixer": Model(Mixer, ("series",), lambda: (torch.randn(6, 9, 7),), ("scores",), opset=16),
    "tts": Model(Tts, ("text",), lambda: (tokens(6, 7),), ("spectrum",), opset=14, gain=1.4),
}


def fan_in(module, weight):
    """How many products are summed into one element of the result."""
    if isinstance(module, nn.ConvTranspose2d):
        return weight[:, 0].numel() / (module.stride[0] * module.stride[1])
    if type(module).__module__.startswith("torch."):
        return weight[0].numel()
    return weight.size(-2)


@torch.no_grad()
def fill(model, gain):
    """Random values that keep activations of order one; no bias is zero and no gain is one, so that each is felt."""
    for module in model.modules():
        for name, weight in module.named_parameters(recurse=False):
            if weight.dim() > 1:
                weight.normal_(0, gain * fan_in(module, weight)**-0.5)
            else:
                weight.normal_(0 if name.endswith("bias") else 1, 0.1)
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)


def check_gates(experts, inputs):
    """The choice of experts hangs on no rounding, and some token finds its expert full."""
    gates = experts.gates(*inputs)
    top = gates.topk(3).values
    margin = (top[..., :2] - top[..., 1:]).min().item()
    if margin < 1e-3:
        raise SystemExit(f"two gates are only {margin:g} apart: choose another seed")
    if (experts.combine_weights(gates) > 0).sum() == 2 * gates[..., 0].numel():
        raise SystemExit("no expert is ever full: choose a smaller capacity")


def write_tensors(folder, kind, names, tensors):
    for index, (name, tensor) in enumerate(zip(names, tensors)):
        proto = numpy_helper.from_array(tensor.numpy(), name)
        (folder / f"{kind}_{index}.pb").write_bytes(proto.SerializeToString(deterministic=True))


def sample(model):
    """The network with its weights, inputs and outputs."""
    torch.manual_seed(model.seed)
    network = model.make().eval()
    fill(network, model.gain)
    inputs = model.draw()
    hooks = [m.register_forward_pre_hook(check_gates) for m in network.modules() if isinstance(m, Experts)]
    outputs = network(*inputs)
    for hook in hooks:
        hook.remove()
    return network, inputs, outputs if isinstance(outputs, tuple) else (outputs,)


def rounding(network, inputs, outputs):
    """The largest distance of the outputs from the same computation in double precision."""
    exact = copy.deepcopy(network).double()(*(x.double() if x.is_floating_point() else x for x in inputs))
    exact = exact if isinstance(exact, tuple) else (exact,)
    return max((a - b).abs().max().item() for a, b in zip(exact, outputs))


@torch.no_grad()
def export(name, model, folder):
    network, inputs, outputs = sample(model)
    data = folder / "test_data_set_0"
    data.mkdir(parents=True, exist_ok=True)
    # PRESERVE keeps BatchNormalization: the exporter's EVAL folds it into the convolution before it.
    torch.onnx.export(network, inputs, folder / "model.onnx", input_names=model.inputs, output_names=model.outputs,
                      opset_version=model.opset, do_constant_folding=model.fold,
                      training=torch.onnx.TrainingMode.PRESERVE)
    onnx.checker.check_model(onnx.load(folder / "model.onnx"), full_check=True)
    write_tensors(data, "input", model.inputs, inputs)
    write_tensors(data, "output", model.outputs, outputs)
    count = sum(p.numel() for p in network.parameters())
    spread = ", ".join(f"{tensor.std().item():.2f}" for tensor in outputs)
    error = rounding(network, inputs, outputs)
    print(f"{name:7}{count:6} parameters, outputs spread by {spread}, rounding {error:.1e}")


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    for name in sys.argv[1:] or MODELS:
        if name not in MODELS:
            raise SystemExit(f"no model {name!r}: there are {', '.join(MODELS)}")
        export(name, MODELS[name], Path(__file__).resolve().parent / name)


if __name__ == "__main__":
    main()

"""Attention on pieces of its keys in PyTorch, summed up, against whole attention and its gradients by autograd.

torch_split_keys.py OPS   OPS: the folder of the operators, lib/IR/Ops. Ends with 77 where PyTorch is missing."""

import math
import pathlib
import sys

try:
    import torch
    import torch.nn.functional as F
except ImportError as missing:
    print(f"skipped: {sys.executable} has no {missing.name}; Debian's package python3-torch brings it")
    sys.exit(77)

KEYS, PIECE = 5, 3  # the second piece has one key of padding


def functions(folder):
    """The functions of the operators, which call one another by name."""
    names = {"torch": torch, "math": math, "F": F, "ints": list, "number": float}
    for path in sorted(folder.glob("*/torch_*.py")):
        exec(path.read_text(), names)
    return names


def floats(*dims):
    return torch.randn(*dims, dtype=torch.float64, requires_grad=True)


def pieces_of(K, V, mask):
    """Keys, values and mask of each piece, with its first key; padding holds numbers that no result may depend on."""
    def part(tensor, dim, begin):
        padded = torch.cat([tensor, torch.ones_like(tensor.narrow(dim, 0, 1))], dim)
        return padded.narrow(dim, begin, PIECE)
    return [(part(K, -2, begin), part(V, -2, begin), part(mask, -1, begin), [begin]) for begin in (0, PIECE)]


def check(ops, fill, is_transposed):
    """The largest difference of results and gradients."""
    Q, K, V = floats(2, 4, 3, 2), floats(2, 2, KEYS, 2), floats(2, 2, KEYS, 3)
    mask = floats(4, 3, KEYS) if fill is None else torch.rand(3, KEYS) > 0.3
    turned = (lambda tensor: tensor.transpose(-1, -2)) if is_transposed else (lambda tensor: tensor)
    Y = ops["softmax_attention"](Q, turned(K), V, mask, 0.5, fill, is_transposed)
    dY = torch.randn_like(Y)
    Y.backward(dY)
    common = {"scale": 0.5, "fill": fill, "keys_transposed": is_transposed, "total_keys": KEYS}
    with torch.no_grad():
        pieces = pieces_of(K, V, mask)
        sums = torch.stack([ops["softmax_attention_log_sum"](Q, turned(k), m, offsets=at, **common)
                            for k, _, m, at in pieces]).logsumexp(0)

        def on_pieces(name, *more):
            return [ops["softmax_attention_by" + name](Q, turned(k), v, m, *more, sums, offsets=at, **common)
                    for k, v, m, at in pieces]
        result = sum(on_pieces(""))
        pairs = [(result, Y), (sum(on_pieces("_query_grad", dY, result)), Q.grad),
                 (torch.cat(list(map(turned, on_pieces("_key_grad", dY, result))), -2)[..., :KEYS, :], K.grad),
                 (torch.cat(on_pieces("_value_grad", dY), -2)[..., :KEYS, :], V.grad)]
        if fill is None:
            pairs.append((torch.cat(on_pieces("_mask_grad", dY, result), -1)[..., :KEYS], mask.grad))
        return max(float((found - wanted).abs().max()) for found, wanted in pairs)


def main():
    ops = functions(pathlib.Path(sys.argv[1]))
    torch.manual_seed(0)
    worst = max(check(ops, fill, is_transposed) for fill in (None, -1.0) for is_transposed in (0, 1))
    print(f"largest difference {worst:.1e}")
    sys.exit(0 if worst < 1e-12 else 1)


if __name__ == "__main__":
    main()

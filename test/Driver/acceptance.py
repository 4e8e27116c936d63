"""acceptance.py data|tensor: a training plan on standard input, as plan.json. `data`: the contractions of the model cut
their batch and nothing else, states are cut over all devices, and the plan is no slower than data parallelism that
leaves them whole. `tensor`: most contractions of the layers are cut on weights inside a node, parameters and states lie
in pieces, and what either kind of parallelism saves is said."""

import json
import math
import sys

BATCH = {"matmul": {"b0", "m"}, "gemm": {"m"}, "conv": {"n"}, "softmax_attention": {"b0"}}


def cuts(choice):
    """Factor -> axes: "b0:node n:(device.a device.b)"."""
    found, factor = {}, None
    for word in choice["strategy"].replace("(", "").replace(")", "").split():
        if ":" in word:
            factor, word = word.split(":")
        if factor:
            found.setdefault(factor, set()).add(word)
    return found


def share(stage, role):
    """The part of all values of a role that one device holds."""
    values = [value for value in stage["shardings"] if value["role"] == role]
    whole = sum(math.prod(value["shape"]) for value in values)
    return sum(math.prod(value["local_shape"]) for value in values) / whole


def check_data(plan, stage):
    forward = [choice for choice in stage["choices"] if choice["operator"] in BATCH and ".grad" not in choice["op"]]
    others = [choice for choice in forward if not set(cuts(choice)) <= BATCH[choice["operator"]]]
    assert len(forward) > 40 and len(others) <= len(forward) // 40, [choice["op"] for choice in others]
    whole = next(row for row in plan["references"] if row["name"] == "data parallel")
    assert plan["step_seconds"] <= whole["step_seconds"] * (1 + 1e-9), whole
    assert plan["memory_bytes"]["total"] <= whole["memory_bytes"], whole
    print(f"{len(forward)} contractions are data parallel; states are 1/{1 / share(stage, 'optimizer_state'):.1f} of all")


def check_tensor(plan, stage):
    inner = {axis["name"] for axis in stage["mesh"] if axis["level"] == "device"}
    layers = [choice for choice in stage["choices"] if choice["operator"] == "matmul" and "/h." in choice["op"]]
    cut = [choice for choice in layers if inner & set().union(*(cuts(choice).get(factor, set()) for factor in "nk"))]
    assert len(cut) > len(layers) / 2, (len(cut), len(layers))
    assert share(stage, "optimizer_state") < 1 / 32 and share(stage, "parameter") < 1 / 8
    saved = {row["kind"]: row["memory_bytes"] - plan["memory_bytes"]["total"] for row in plan["parallelism"]}
    assert saved["tensor parallel"] > 0 and "cut storage" in saved, saved
    print(f"{len(cut)} of {len(layers)} products are tensor parallel inside the node; what is saved is said")


plan = json.load(sys.stdin)
{"data": check_data, "tensor": check_tensor}[sys.argv[1]](plan, plan["stages"][0])

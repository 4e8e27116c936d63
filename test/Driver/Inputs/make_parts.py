"""Writes the models parts_*.onnx beside this file: one projection that several things come out of.

Needs numpy and onnx. The weights are drawn from a fixed seed.
"""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH, POSITIONS, HIDDEN, HEADS, SIZE, INNER = 2, 3, 16, 4, 4, 12
node = helper.make_node
random = np.random.default_rng(0)


def weights(name, *shape):
    return numpy_helper.from_array((random.standard_normal(shape) * 0.2).astype(np.float32), name)


def numbers(name, *values, element=np.int64):
    return numpy_helper.from_array(np.array(values, dtype=element), name)


def tensor(name, *shape):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def save(name, nodes, initializers, inputs=None, outputs=None):
    inputs = inputs or [tensor("x", BATCH, POSITIONS, HIDDEN)]
    outputs = outputs or [tensor("y", BATCH, POSITIONS, HIDDEN)]
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 8
    onnx.save(model, os.path.join(HERE, f"parts_{name}.onnx"))


def attend(queries, keys, values):
    """Queries [b, h, s, d], keys [b, h, d, s]."""
    return [
        node("MatMul", [queries, keys], ["scores"], name="scores"),
        node("Div", ["scores", "root"], ["scaled"], name="scale"),
        node("Softmax", ["scaled"], ["shares"], name="softmax", axis=-1),
        node("MatMul", ["shares", values], ["attended"], name="attend"),
        node("Transpose", ["attended"], ["moved"], name="heads_back", perm=[0, 2, 1, 3]),
        node("Reshape", ["moved", "flat"], ["joined"], name="join"),
        node("MatMul", ["joined", "wo"], ["y"], name="out"),
    ]


def heads(value, perm):
    return [
        node("Reshape", [value, "heads"], [value + "_r"], name=value + "_reshape"),
        node("Transpose", [value + "_r"], [value + "_t"], name=value + "_transpose", perm=perm),
    ]


PROJECTION = [
    node("MatMul", ["x", "wqkv"], ["product"], name="qkv"),
    node("Add", ["bqkv", "product"], ["fused"], name="bias"),
]
COMMON = [
    weights("wqkv", HIDDEN, 3 * HIDDEN),
    weights("bqkv", 3 * HIDDEN),
    weights("wo", HIDDEN, HIDDEN),
    numbers("heads", 0, 0, HEADS, SIZE),
    numbers("flat", 0, 0, HIDDEN),
    numpy_helper.from_array(np.float32(SIZE**0.5), "root"),
]
APART = heads("q", [0, 2, 1, 3]) + heads("k", [0, 2, 3, 1]) + heads("v", [0, 2, 1, 3]) + attend("q_t", "k_t", "v_t")

split = node("Split", ["fused", "sizes"], ["q", "k", "v"], name="split", axis=-1)
save("split", PROJECTION + [split] + APART, COMMON + [numbers("sizes", HIDDEN, HIDDEN, HIDDEN)])

slices, bounds = [], [numbers("axis", 2)]
for place, name in enumerate("qkv"):
    slices.append(node("Slice", ["fused", f"start{place}", f"end{place}", "axis"], [name], name="slice_" + name))
    bounds.append(numbers(f"start{place}", place * HIDDEN))
    bounds.append(numbers(f"end{place}", (place + 1) * HIDDEN if place < 2 else 2**40))
save("slice", PROJECTION + slices + APART, COMMON + bounds)

taken = [
    node("Reshape", ["fused", "three"], ["apart"], name="apart"),
    node("Transpose", ["apart"], ["first"], name="three_first", perm=[2, 0, 3, 1, 4]),
]
for place, name in enumerate("qkv"):
    taken.append(node("Gather", ["first", f"place{place}"], [name], name="take_" + name, axis=0))
taken.append(node("Transpose", ["k"], ["k_t"], name="turn_k", perm=[0, 1, 3, 2]))
places = [numpy_helper.from_array(np.int64(place), f"place{place}") for place in range(3)]
save("reshape", PROJECTION + taken + attend("q", "k_t", "v"), COMMON + places + [numbers("three", 0, 0, 3, HEADS, SIZE)])

save(
    "gate",
    [
        node("Transpose", ["wgu"], ["wgu_t"], name="turn", perm=[1, 0]),
        node("MatMul", ["x", "wgu_t"], ["fused"], name="gate_up"),
        node("Split", ["fused", "sizes"], ["gate", "up"], name="split", axis=2),
        node("Sigmoid", ["gate"], ["open"], name="sigmoid"),
        node("Mul", ["gate", "open"], ["opened"], name="swish"),
        node("Mul", ["opened", "up"], ["inner"], name="mul"),
        node("MatMul", ["inner", "wd"], ["y"], name="down"),
    ],
    [weights("wgu", 2 * INNER, HIDDEN), weights("wd", INNER, HIDDEN), numbers("sizes", INNER, INNER)],
)


def grouped(name, query_heads, key_heads):
    past, width = 2, (query_heads + 2 * key_heads) * SIZE
    total = past + POSITIONS
    save(
        name,
        [
            node("MatMul", ["x", "wqkv"], ["product"], name="qkv"),
            node("Add", ["product", "bqkv"], ["fused"], name="bias"),
            node(
                "GroupQueryAttention",
                ["fused", "", "", "past_k", "past_v", "lengths", "total"],
                ["attended", "next_k", "next_v"],
                name="attend",
                domain="com.microsoft",
                num_heads=query_heads,
                kv_num_heads=key_heads,
            ),
            node("MatMul", ["attended", "wo"], ["y"], name="out"),
        ],
        [
            weights("wqkv", HIDDEN, width),
            weights("bqkv", width),
            weights("wo", query_heads * SIZE, HIDDEN),
            numbers("lengths", *[total - 1] * BATCH, element=np.int32),
            numbers("total", total, element=np.int32),
        ],
        [
            tensor("x", BATCH, POSITIONS, HIDDEN),
            tensor("past_k", BATCH, key_heads, past, SIZE),
            tensor("past_v", BATCH, key_heads, past, SIZE),
        ],
        [
            tensor("y", BATCH, POSITIONS, HIDDEN),
            tensor("next_k", BATCH, key_heads, total, SIZE),
            tensor("next_v", BATCH, key_heads, total, SIZE),
        ],
    )


grouped("grouped", 8, 4)
grouped("few_keys", 8, 2)


def fused(name, operator, operands, initializers):
    attend = node(operator, operands, ["attended"], name="attend", domain="com.microsoft", num_heads=HEADS)
    out = node("MatMul", ["attended", "wo"], ["y"], name="out")
    product = [node("MatMul", ["x", "wqkv"], ["fused"], name="qkv")] if "fused" in operands else []
    save(name, product + [attend, out], initializers + [COMMON[0], COMMON[1], COMMON[2]])


fused("projected", "Attention", ["x", "wqkv", "bqkv"], [])
fused("blocks", "MultiHeadAttention", ["fused", "", "", "bqkv"], [])

# A projection of what another op makes: in training, a gradient is summed over its columns.
save(
    "after",
    [
        node("MatMul", ["x", "wx"], ["mixed"], name="mix"),
        node("MatMul", ["mixed", "wqkv"], ["product"], name="qkv"),
        PROJECTION[1],
        split,
    ]
    + APART,
    COMMON + [numbers("sizes", HIDDEN, HIDDEN, HIDDEN), weights("wx", HIDDEN, HIDDEN)],
)

"""Writes the seeds of the fuzzers: python3 test/Fuzz/make_seeds.py. The files are kept in the repository; this says how each
was made. Models are written field by field of ONNX's protobuf, without a library, so that broken ones can be written too."""

import json
import struct
from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
FLOAT, INT64 = 1, 7


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """One protobuf field: an int as varint, text or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def dims(sizes):
    return b"".join(field(1, field(2 if isinstance(size, str) else 1, size)) for size in sizes)


def value(name, sizes, element=FLOAT):
    return field(1, name) + field(2, field(1, field(1, element) + field(2, dims(sizes))))


def tensor(name, sizes, element=FLOAT, data=None, external=None):
    out = b"".join(field(1, size) for size in sizes) + field(2, element) + field(8, name)
    if data is not None:
        out += field(9, data)
    if external:
        out += field(13, field(1, "location") + field(2, external)) + field(14, 1)
    return out


def ints(numbers):
    return b"".join((number & (1 << 64) - 1).to_bytes(8, "little") for number in numbers)


def attribute(name, number):
    if isinstance(number, str):
        return field(1, name) + field(4, number) + field(20, 3)
    if isinstance(number, list) and isinstance(number[0], str):
        return field(1, name) + b"".join(field(9, text) for text in number) + field(20, 8)
    if isinstance(number, list) and isinstance(number[0], float):
        return field(1, name) + field(7, struct.pack(f"<{len(number)}f", *number)) + field(20, 6)
    if isinstance(number, list):
        return field(1, name) + b"".join(field(8, n) for n in number) + field(20, 7)
    if isinstance(number, bytes):
        return field(1, name) + field(6, number) + field(20, 5)
    return field(1, name) + field(3, number) + field(20, 2)


def node(operator, inputs, outputs, domain="", name="", **attributes):
    out = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
    out += field(3, name) + field(4, operator) + b"".join(field(5, attribute(k, v)) for k, v in attributes.items())
    return out + field(7, domain)


def graph(nodes, inputs, outputs, initializers=()):
    return (b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, t) for t in initializers) +
            b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))


def model(body, functions=(), opset=17, domains=(), version=1):
    out = field(1, 9) + field(7, body) + field(8, field(1, "") + field(2, opset))
    out += b"".join(field(8, field(1, domain) + field(2, version)) for domain in domains)
    return out + b"".join(field(25, f) for f in functions)


def models():
    x, y = value("x", [2, 3]), value("y", [2, 4])
    weight = tensor("w", [3, 4], external="weights.data")
    matmul = node("MatMul", ["x", "w"], ["y"], name="first")
    yield "matmul", model(graph([matmul], [x], [y], [weight]))
    yield "dynamic", model(graph([node("Add", ["x", "x"], ["y"])], [value("x", ["N", 3])], [value("y", ["N", 3])]))
    yield "empty_data", model(graph([matmul], [x], [y], [tensor("w", [3, 4])]))
    yield "gemm", model(graph([node("Gemm", ["x", "w", ""], ["y"], transB=1)], [x], [y], [tensor("w", [4, 3])]))
    shape = tensor("s", [2], INT64, ints([3, -1]))
    yield "reshape", model(graph([node("Reshape", ["x", "s"], ["y"])], [x], [value("y", [3, 2])], [shape]))
    chain = [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["c"]), node("Add", ["x", "c"], ["y"])]
    yield "shape_chain", model(graph(chain, [x], [value("y", [2, 3])]))
    yield "unsorted", model(graph([node("Relu", ["h"], ["y"]), matmul.replace(b"\x12\x01y", b"\x12\x01h")], [x], [y], [weight]))
    yield "cycle", model(graph([node("Add", ["x", "b"], ["a"]), node("Add", ["x", "a"], ["b"])], [x], [value("a", [2, 3])]))
    yield "huge", model(graph([node("Relu", ["x"], ["y"])], [value("x", [1 << 40, 1 << 40])], [value("y", [1, 1])]))
    yield "transpose", model(graph([node("Transpose", ["x"], ["y"], perm=[1, 0])], [x], [value("y", [3, 2])]))
    inner = graph([node("Identity", ["x"], ["z"])], [], [value("z", [2, 3])])
    branch = node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    yield "if", model(graph([branch], [x, value("c", [], 9)], [value("y", [2, 3])]))
    taken = node("NonMaxSuppression", ["b", "s", "k"], ["y"])
    yield "boxes", model(graph([taken], [value("b", [1, 4, 4]), value("s", [1, 2, 4])], [value("y", ["N", 3], INT64)],
                               [tensor("k", [1], INT64, ints([3]))]))
    yield "opaque", model(graph([node("Mix", ["x"], ["y"], domain="own", heads=2)], [x], [value("y", [2, 3])]), domains=["own"])
    step = graph([node("Identity", ["g"], ["h"]), node("Add", ["a", "x"], ["b"])],
                 [value("i", [], INT64), value("g", [], 9), value("a", [2, 3])],
                 [value("h", [], 9), value("b", [2, 3]), value("b", [2, 3])])
    trips = [tensor("m", [], INT64, ints([3])), tensor("c", [], 9, b"\1")]
    yield "loop", model(graph([node("Loop", ["m", "c", "x"], ["y", "s"], body=step)], [x], [value("y", [2, 3])], trips))
    pair = graph([node("Add", ["a", "b"], ["d"])], [value("a", [3]), value("b", [3])], [value("d", [3]), value("d", [3])])
    scan = node("Scan", ["r", "x"], ["y", "s"], body=pair, num_scan_inputs=1, scan_input_axes=[0], scan_output_axes=[1])
    yield "scan", model(graph([scan], [x, value("r", [3])], [value("y", [3]), value("s", [3, 2])]))
    series, state = value("x", [4, 2, 3]), value("y", [4, 2, 2, 5])
    weights = [tensor("w", [2, 20, 3]), tensor("r", [2, 20, 5])]
    lstm = node("LSTM", ["x", "w", "r"], ["y"], direction="bidirectional", hidden_size=5,
                activations=["Sigmoid", "Tanh", "Tanh"] * 2)
    yield "lstm", model(graph([lstm], [series], [state], weights))
    silu = field(1, "Silu") + field(4, "a") + field(5, "b") + field(7, node("Sigmoid", ["a"], ["s"])) + \
        field(7, node("Mul", ["a", "s"], ["b"])) + field(9, field(2, 17)) + field(10, "own")
    call = node("Silu", ["x"], ["y"], domain="own")
    yield "function", model(graph([call], [x], [value("y", [2, 3])]), [silu], domains=["own"])
    loop = field(1, "F") + field(4, "a") + field(5, "b") + field(7, node("F", ["a"], ["b"], domain="own")) + field(10, "own")
    yield "recursion", model(graph([node("F", ["x"], ["y"], domain="own")], [x], [x]), [loop], domains=["own"])


def models_of_lists():
    """Sequences, and operators whose tables stand in lists of attributes."""
    x, place = value("x", [4, 3]), tensor("p", [], INT64, ints([-1]))
    parts = [node("SplitToSequence", ["x"], ["s"], axis=0), node("SequenceAt", ["s", "p"], ["e"]),
             node("SequenceInsert", ["s", "e"], ["t"]), node("SequenceErase", ["t", "p"], ["u"]),
             node("SequenceLength", ["u"], ["n"]), node("ConcatFromSequence", ["u"], ["y"], axis=1)]
    yield "sequence", model(graph(parts, [x], [value("y", [1, 12]), value("n", [], INT64)], [place]))
    given = [node("Optional", ["x"], ["o"]), node("OptionalHasElement", ["o"], ["h"]), node("OptionalGetElement", ["o"], ["y"])]
    yield "optional", model(graph(given, [x], [value("y", [4, 3]), value("h", [], 9)]))
    domain = "ai.onnx.ml"
    forest = node("TreeEnsembleRegressor", ["x"], ["y"], domain, n_targets=1, nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2],
                  nodes_featureids=[2, 0, 0], nodes_values=[0.5, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
                  nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0], target_treeids=[0, 0], target_nodeids=[1, 2],
                  target_ids=[0, 0], target_weights=[1.0, 2.0], aggregate_function="SUM")
    yield "forest", model(graph([forest], [x], [value("y", [4, 1])]), domains=[domain])
    vectors = node("SVMRegressor", ["x"], ["y"], domain, n_supports=2, kernel_type="RBF", kernel_params=[0.5, 0.0, 3.0],
                   support_vectors=[1.0] * 6, coefficients=[1.0, -1.0], rho=[0.5])
    yield "vectors", model(graph([vectors], [x], [value("y", [4, 1])]), domains=[domain])
    labels = node("LabelEncoder", ["x"], ["y"], domain, keys_floats=[1.0, 2.0], values_int64s=[3, 4], default_int64=-1)
    scaled = node("Scaler", ["x"], ["z"], domain, offset=[1.0], scale=[2.0, 3.0, 4.0])
    yield "features", model(graph([labels, scaled], [x], [value("y", [4, 3], INT64), value("z", [4, 3])]),
                            domains=[domain], version=3)


def plan():
    """Two products on [data=2 | model=4], in one stage: every key of plan.json once at least."""
    memory = {"parameters": 1 << 20, "gradients": 0, "optimizer": 0, "activations": 1 << 10, "workspace": 0, "communication": 0,
              "runtime": 1 << 8}
    memory["total"] = sum(memory.values())
    memory["host"] = 1 << 12
    points = [{"figure": "level.node.bytes_per_second", "factor": 1.5, "value": 37.5e9},
              {"figure": "device.peak_flops_per_second", "factor": 0.25, "value": None}]
    runner_up = {"strategy": "n:model", "extra_seconds": 0.001, "wins_if": points}
    product = {
        "op": "h.0/MatMul", "operator": "matmul", "strategy": "m:data k:model", "seconds": 0.003, "communication_seconds": 0,
        "bytes": 64, "runner_up": runner_up, "rejections": 0,
        "factors": [{"factor": "k", "size": 16, "cut": True, "must_be_whole": False, "other": runner_up}], "pinned": None,
        "merged": ["h.0/Softmax"]
    }
    pinned = {"by": "pin 'h.1/MatMul: k=4' (--pin)", "free": {"strategy": "n:(data model)", "extra_seconds": -0.0002, "wins_if": []}}
    rejections = {
        "rule": "m k, k n -> m n {m=8, k=16 sum, n=32} flops=2", "offered": 9,
        "reasons": [{"reason": "m = 8 is less than 16", "count": 3, "example": "m:(data model)"}]
    }
    sharding = {
        "value": "y0", "producer": "h.0/MatMul", "role": "activation", "shape": [8, 32], "local_shape": [4, 32],
        "dims": [["data"], []], "partial": ["model"], "combiner": "sum", "element_bits": 32, "users": ["h.1/MatMul"]
    }
    move = {
        "values": ["y0"], "target": "[data, -]", "target_dims": [["data"], []], "target_partial": [], "target_combiner": "sum",
        "users": ["h.1/MatMul"], "collectives": ["AllReduce{model}"], "seconds": 0.003
    }
    stage = {
        "first_rank": 0, "devices": 8,
        "mesh": [{"name": "data", "size": 2, "level": "node", "level_index": 0},
                 {"name": "model", "size": 4, "level": "device", "level_index": 1}],
        "compute_seconds": 0.007, "communication_seconds": 0.003, "flops_per_device": 1e12, "memory_bytes": memory,
        "communication_bytes": {"AllReduce": 4096},
        "choices": [product, dict(product, op="h.1/MatMul", runner_up=None, factors=[], pinned=pinned)],
        "rejections": [rejections], "shardings": [sharding], "moves": [move],
        "collectives": [{"collective": "AllReduce", "levels": "device", "count": 1, "seconds": 0.003, "received_bytes": 6144}],
        "memory_peak_op": "h.1/MatMul"
    }
    request = {
        "dim": ["batch=4"], "value": ["k=5"], "condition": ["c=true"], "operator": ["a.B: m k -> m; flops=2"], "parameters": "w.*", "devices": 8, "cluster": "dgx-h100",
        "cluster_set": ["device.memory_bytes=40GiB"], "mode": "infer", "memory_limit_bytes": 1 << 33, "search": "dp",
        "parallel": "auto", "mesh_axes": 3, "pin": ["h.1/MatMul: k=4"], "ignore_model_shardings": False,
        "layout": ["dp=2,tp=4,zero=3"], "time_limit_seconds": 60, "gap": 0.001, "sensitivity": True
    }
    return {
        "version": 2, "apc_version": "0.1.0", "model": {"path": "two_layers.onnx", "sha256": "00ff"}, "request": request,
        "cluster": "dgx-h100", "devices": 8, "devices_used": 8, "mode": "infer", "search": "dp", "status": "optimal",
        "step_seconds": 0.01, "compute_seconds": 0.007, "communication_seconds": 0.003, "lower_bound_seconds": 0.01, "gap": 0,
        "samples_per_second": 400, "share_of_peak": 0.25, "flops_per_device": 1e12, "memory_bytes": memory, "memory_limit_bytes": 1 << 33,
        "device_memory_bytes": 1 << 34, "communication_bytes": {"AllReduce": 4096},
        "references": [{"name": "single device", "step_seconds": 0.05, "memory_bytes": 1 << 22, "feasible": True, "reason": ""},
                       {"name": "data parallel", "step_seconds": None, "memory_bytes": None, "feasible": False, "reason": "no"}],
        "stages": [stage],
        "sensitivity": [{"figure": "links", "factor": 0.8, "step_seconds": None, "changed_ops": 0, "mesh": "", "reason": "no"}],
        "notes": ["a note"], "timing_seconds": {"import": 0.1, "problem": 0.2, "search": 0.3, "total": 0.6}
    }


def texts():
    """The first byte chooses the reader: 0 a problem, 1 a cluster, 2 a plan, 3 any document."""
    node_a = '{"name": "a", "strategies": [{"name": "r", "seconds": 1.0, "persistent_bytes": 4, "transient_bytes": 2}, ' \
             '{"name": "c", "seconds": 2}]}'
    yield "problem", f'0{{"memory_limit_bytes": 15, "nodes": [{node_a}, {node_a.replace(chr(34) + "a", chr(34) + "b")}], ' \
                     '"edges": [{"from": "a", "to": "b", "seconds": [[0, 1], [null, 0]]}]}'
    yield "empty_problem", '0{"nodes": [], "edges": []}'
    yield "wrong_type", '0{"nodes": [{"name": 3, "strategies": "many"}]}'
    yield "plan", "2" + json.dumps(plan(), separators=(",", ":"))
    yield "empty_cluster", "1{}"
    yield "document", '3{"key": [1, -1, 1.5e300, 18446744073709551615, "\\u00e4", null, true], "b": {"c": [[]]}}'
    yield "cluster", "1" + (CORPUS.parents[2] / "lib/Cluster/Presets/cpu-local.json").read_text()


if __name__ == "__main__":
    for name, data in [*models(), *models_of_lists()]:
        (CORPUS / "ImportFuzzer" / name).write_bytes(data)
    for name, text in texts():
        (CORPUS / "JsonFuzzer" / name).write_text(text)

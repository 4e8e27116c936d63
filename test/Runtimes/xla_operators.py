"""Single operators in StableHLO, compiled by XLA and run on two CPU devices, against NumPy.

xla_operators.py APC PROTO [NAME...]   PROTO: the folder of OnnxModel.proto; NAME: only cases with this in their names

Ends with 1 where a result is wrong, with 77 where jaxlib is missing."""

import itertools
import pathlib
import statistics
import subprocess
import sys
import tempfile

from xla_programs import difference, emit
import numpy

ELEMENTS = {"float32": 1, "int32": 6, "int64": 7}
RANDOM = numpy.random.default_rng(7)
FLOATS = RANDOM.integers(-4, 4, (6, 8)).astype("float32")  # with equal elements
INTEGERS = numpy.array([[3, -(2 ** 31), 3, 0], [2 ** 31 - 1, -7, 1, -7]], "int32")
PLACES = numpy.array([[0, -1, 2, 5, 1, 0, 3, -6]] * 4, "int64")


def top(x, count, axis, largest):
    order = numpy.argsort(-x.astype("int64") if largest else x.astype("int64"), axis, kind="stable")
    places = order.take(range(count), axis)
    return [numpy.take_along_axis(x, places, axis), places]


def scattered(reduction, places):
    result, updates = FLOATS.copy(), numpy.ones(places.shape, "float32") * 3
    for at, update in numpy.ndenumerate(updates):
        to = (places[at], at[1])
        result[to] = {"none": update, "add": result[to] + update, "mul": result[to] * update}[reduction]
    return [FLOATS, places, updates], [result]


def cases():
    """Name, type, attributes, inputs, constants behind them, and results."""
    for name, x in (("floats", FLOATS), ("integers", INTEGERS)):
        for axis in (0, 1, -1):
            for largest in (0, 1):
                yield (f"TopK of {name} {axis} {largest}", "TopK", {"axis": axis, "largest": largest}, [x],
                       [numpy.array([2], "int64")], top(x, 2, axis, largest))
    yield ("GatherElements", "GatherElements", {"axis": 0}, [FLOATS, PLACES], [],
           [numpy.take_along_axis(FLOATS, PLACES % 6, 0)])
    own = numpy.array([[0, -1, 2, 5, 1, 0, 3, -6], [1, 0, 3, 0, 2, 1, 4, 2]], "int64")
    for reduction, places in (("none", own), ("add", PLACES), ("mul", PLACES)):
        inputs, wanted = scattered(reduction, places)
        yield f"ScatterElements {reduction}", "ScatterElements", {"axis": 0, "reduction": reduction}, inputs, [], wanted


def learned_cases():
    """Operators of ai.onnx.ml: tables of labels, and probits."""
    odd = numpy.array([[3.0, numpy.nan, -1.5, 3.0], [0.25, 7.0, 0.0, numpy.nan]], "float32")
    keys = {"keys_floats": [3.0, float("nan"), -1.5, 3.0], "values_int64s": [30, 40, 50, 60], "default_int64": -7}
    yield ("LabelEncoder of floats", "ai.onnx.ml.LabelEncoder", keys, [odd], [],
           [numpy.array([[30, 40, 50, 30], [-7, -7, -7, 40]], "int64")])
    keys = {"keys_int64s": [5, -2, 0], "values_floats": [0.5, 1.5, 2.5], "default_float": 9.0}
    yield ("LabelEncoder of integers", "ai.onnx.ml.LabelEncoder", keys, [PLACES], [],
           [numpy.select([PLACES == 5, PLACES == -2, PLACES == 0], [0.5, 1.5, 2.5], 9.0).astype("float32")])
    shares = numpy.linspace(0.01, 0.99, 50, dtype="float32").reshape(50, 1)
    wanted = [[statistics.NormalDist().inv_cdf(float(share))] for share in shares[:, 0]]
    yield ("Probit", "ai.onnx.ml.LinearRegressor", {"coefficients": [1.0], "post_transform": "PROBIT"}, [shares], [],
           [numpy.array(wanted, "float32")])


# Trees: nodes as (feature, mode, split, tracks missing, when true, when false), leaves as {target: weight}.
TREES = [
    [(0, "LEQ", 0.5, 0, 1, 2), (2, "GT", -1.0, 1, 3, 4), (1, "NEQ", 2.0, 0, 5, 6), {0: 1.0}, {1: -2.0, 0: 4.0}, {1: 8.0}, {0: 0.5}],
    [(1, "LT", 0.0, 1, 1, 2), {0: -16.0, 1: 32.0}, (3, "GTE", 1.0, 0, 3, 4), {1: 64.0}, (0, "EQ", 3.0, 0, 5, 6), {0: 0.25}, {1: 0.125}],
]
HOLDS = {"LEQ": numpy.less_equal, "LT": numpy.less, "GTE": numpy.greater_equal, "GT": numpy.greater, "EQ": numpy.equal,
         "NEQ": numpy.not_equal}


def reached(tree, row):
    at = tree[0]
    while isinstance(at, tuple):
        feature, mode, split, missing, when_true, when_false = at
        holds = HOLDS[mode](row[feature], split) or (missing and numpy.isnan(row[feature]))
        at = tree[when_true if holds else when_false]
    return at


def tree_cases():
    """Trees whose weights are put together in each way; targets that no leaf has are 0."""
    rows = numpy.random.default_rng(3).integers(-3, 4, (12, 4)).astype("float32")
    rows[3, 1] = rows[5, 2] = rows[7, 0] = numpy.nan
    nodes = [(number, place, node) for number, tree in enumerate(TREES) for place, node in enumerate(tree)]
    inner = [node if isinstance(node, tuple) else (0, "LEAF", 0.0, 0, 0, 0) for _, _, node in nodes]
    votes = [(number, place, *vote) for number, place, node in nodes if isinstance(node, dict) for vote in node.items()]
    attributes = {"n_targets": 2, "nodes_treeids": [number for number, _, _ in nodes], "nodes_nodeids": [place for _, place, _ in nodes]}
    for at, name in enumerate(["featureids", "modes", "values", "missing_value_tracks_true", "truenodeids", "falsenodeids"]):
        attributes[f"nodes_{name}"] = [node[at] for node in inner]
    attributes["nodes_modes"] = ["LEAF" if mode == "LEAF" else f"BRANCH_{mode}" for mode in attributes["nodes_modes"]]
    for at, name in enumerate(["treeids", "nodeids", "ids", "weights"]):
        attributes[f"target_{name}"] = [vote[at] for vote in votes]
    combine = {"SUM": sum, "AVERAGE": lambda weights: sum(weights) / len(TREES), "MIN": min, "MAX": max}
    for how, function in combine.items():
        found = [[leaf[target] for tree in TREES if target in (leaf := reached(tree, row))] for row in rows for target in (0, 1)]
        wanted = numpy.array([function(weights) if weights else 0 for weights in found], "float32").reshape(12, 2)
        yield (f"TreeEnsembleRegressor {how}", "ai.onnx.ml.TreeEnsembleRegressor", {**attributes, "aggregate_function": how},
               [rows], [], [wanted])


def attribute_text(number):
    if isinstance(number, list) and isinstance(number[0], str):
        return " ".join(["type: 8", *(f'strings: "{each}"' for each in number)])
    if isinstance(number, list):
        kind = (7, "ints") if isinstance(number[0], int) else (6, "floats")
        return " ".join([f"type: {kind[0]}", *(f"{kind[1]}: {each}" for each in number)])
    if isinstance(number, str):
        return f'type: 3 s: "{number}"'
    return f"type: 1 f: {number}" if isinstance(number, float) else f"type: 2 i: {number}"


def model_text(operator, attributes, inputs, constants, results):
    """The model in protobuf's text form."""

    def value(kind, name, tensor):
        dims = " ".join(f"dim {{ dim_value: {size} }}" for size in tensor.shape)
        return (f'{kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: {ELEMENTS[tensor.dtype.name]} '
                f'shape {{ {dims} }} }} }} }}')

    lines = [value("input", f"x{i}", tensor) for i, tensor in enumerate(inputs)]
    lines += [value("output", f"y{i}", tensor) for i, tensor in enumerate(results)]
    for i, tensor in enumerate(constants):
        dims = " ".join(f"dims: {size}" for size in tensor.shape)
        lines.append(f'initializer {{ name: "c{i}" {dims} data_type: 7 int64_data: {tensor.tolist()} }}')
    names = [f"x{i}" for i in range(len(inputs))] + [f"c{i}" for i in range(len(constants))]
    node = " ".join(f'input: "{name}"' for name in names) + " ".join(f' output: "y{i}"' for i in range(len(results)))
    for key, number in attributes.items():
        node += f' attribute {{ name: "{key}" {attribute_text(number)} }}'
    domain, _, operator = operator.rpartition(".")
    lines.append(f'node {{ name: "op" domain: "{domain}" op_type: "{operator}" {node} }}')
    return 'ir_version: 8 opset_import { version: 18 } opset_import { domain: "ai.onnx.ml" version: 3 } graph { name: "g" ' + "\n".join(lines) + " }"


def check(apc, proto, folder, case):
    _, operator, attributes, inputs, constants, wanted = case
    text = model_text(operator, attributes, inputs, constants, wanted)
    model = folder / "model.onnx"
    encode = ["protoc", f"-I{proto}", "--encode=apc.onnx.ModelProto", "OnnxModel.proto"]
    model.write_bytes(subprocess.run(encode, input=text.encode(), check=True, stdout=subprocess.PIPE).stdout)
    outputs = emit(apc, model, 2, ["--mode", "infer"], folder).step({f"x{i}": x for i, x in enumerate(inputs)})
    return max(difference(outputs[f"y{i}"], tensor) for i, tensor in enumerate(wanted))


def main():
    failed = 0
    for case in itertools.chain(cases(), learned_cases(), tree_cases()):
        if sys.argv[3:] and not any(name in case[0] for name in sys.argv[3:]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            worst = check(sys.argv[1], sys.argv[2], pathlib.Path(folder), case)
        is_right = worst <= (1e-5 if case[0] == "Probit" else 0)
        print(f"{'ran' if is_right else 'failed'}: {case[0]}: differs by {worst:.1e}", flush=True)
        failed += not is_right
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()

"""Models of a few nodes, with inputs of their own, for what no tiny model has."""

import numpy
import onnx
import onnx.numpy_helper


def save(folder, name, nodes, inputs, weights=None, opset=20):
    """folder/name/model.onnx, whose output is y, and its inputs beside it."""
    def declared(key, own):
        return onnx.helper.make_tensor_value_info(key, onnx.helper.np_dtype_to_tensor_dtype(own.dtype), own.shape)

    graph = onnx.helper.make_graph(nodes, name, [declared(*own) for own in inputs.items()], [onnx.helper.make_empty_tensor_value_info("y")],
                                   [onnx.numpy_helper.from_array(own, key) for key, own in (weights or {}).items()])
    opsets = [onnx.helper.make_opsetid("", opset), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    model.graph.output[0].CopyFrom(onnx.shape_inference.infer_shapes(model, strict_mode=True).graph.output[0])
    data = folder / name / "test_data_set_0"
    data.mkdir(parents=True)
    onnx.save(model, folder / name / "model.onnx")
    for index, (key, own) in enumerate(inputs.items()):
        (data / f"input_{index}.pb").write_bytes(onnx.numpy_helper.from_array(own, key).SerializeToString())


def make_keys(folder):
    """Few queries that look at many keys; the last piece of four has padding."""
    random, make = numpy.random.default_rng(1), onnx.helper.make_node
    draw = lambda *dims: random.standard_normal(dims, numpy.float32)
    save(folder, "keys", [
        make("MatMul", ["x", "wq"], ["q"]), make("MatMul", ["c", "wk"], ["k"]), make("MatMul", ["c", "wv"], ["v"]),
        make("Transpose", ["k"], ["turned"], perm=[0, 1, 3, 2]), make("MatMul", ["q", "turned"], ["scores"]),
        make("Softmax", ["scores"], ["weights"]), make("MatMul", ["weights", "v"], ["y"], name="attention"),
    ], {"x": draw(1, 2, 4, 16), "c": draw(1, 2, 4099, 16)}, {name: draw(16, 16) / 4 for name in ("wq", "wk", "wv")})


def make_older(folder):
    """Operators that the newest version of ONNX has otherwise."""
    random, make = numpy.random.default_rng(1), onnx.helper.make_node
    save(folder, "split", [make("Split", ["x"], ["a", "b"], axis=1), make("Mul", ["a", "b"], ["y"])],
         {"x": random.standard_normal((4, 6), numpy.float32)}, opset=13)
    save(folder, "upsample", [make("Upsample", ["x", "scales"], ["near"]), make("Upsample", ["near", "scales"], ["y"], mode="linear")],
         {"x": random.standard_normal((1, 2, 4, 6), numpy.float32)}, {"scales": numpy.float32([1, 1, 2, 2.5])}, opset=9)


def make_any(folder):
    """Whether any of many elements is positive."""
    make = onnx.helper.make_node
    save(folder, "any", [
        make("Greater", ["x", "zero"], ["over"]), make("ReduceMax", ["over"], ["found"], keepdims=0, name="any"),
        make("Cast", ["found"], ["y"], to=onnx.TensorProto.FLOAT),
    ], {"x": numpy.random.default_rng(1).standard_normal((12, 30), numpy.float32) - 3, "zero": numpy.zeros((), numpy.float32)})


def learned(operator, inputs, outputs, **attributes):
    return onnx.helper.make_node(operator, inputs, outputs, domain="ai.onnx.ml", **attributes)


def make_features(folder):
    """Features through trees with several votes a leaf, labels through a table, and a linear model."""
    votes = [(0, 1, 0, 0.5), (0, 1, 2, 0.25), (0, 2, 1, 0.75), (1, 1, 1, 0.5), (1, 2, 0, 0.125), (1, 2, 2, 0.75)]
    names = ("treeids", "nodeids", "ids", "weights")
    trees = {f"class_{name}": list(column) for name, column in zip(names, zip(*votes))} | {
        "nodes_treeids": [0, 0, 0, 1, 1, 1], "nodes_nodeids": [0, 1, 2] * 2, "nodes_featureids": [1, 0, 0, 3, 0, 0],
        "nodes_values": [0.25, 0.0, 0.0, -0.5, 0.0, 0.0], "nodes_truenodeids": [1, 0, 0] * 2,
        "nodes_falsenodeids": [2, 0, 0] * 2, "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_GT", "LEAF", "LEAF"]}
    linear = {"coefficients": [0.5, -0.25] * 4, "intercepts": [0.5, 0.25], "targets": 2,
              "post_transform": "SOFTMAX_ZERO"}
    save(folder, "features", [
        learned("Scaler", ["x"], ["scaled"], offset=[0.25] * 4, scale=[0.5, 1.0, 2.0, 1.5]),
        learned("TreeEnsembleClassifier", ["scaled"], ["label", "scores"], classlabels_int64s=[5, 3, 8], **trees),
        learned("LabelEncoder", ["label"], ["worth"], keys_int64s=[3, 5], values_floats=[0.5, 1.5], default_float=2.5),
        learned("Normalizer", ["scaled"], ["unit"], norm="L2"),
        learned("LinearRegressor", ["unit"], ["chance"], **linear),
        onnx.helper.make_node("Reshape", ["worth", "column"], ["worths"]),
        onnx.helper.make_node("Concat", ["scores", "worths", "chance"], ["joined"], axis=1),
        onnx.helper.make_node("Reshape", ["joined", "whole"], ["y"]),
    ], {"x": numpy.random.default_rng(1).standard_normal((12, 4), numpy.float32)},
         {"column": numpy.array([12, 1]), "whole": numpy.array([12, 6])})


def make_probit(folder):
    """Probabilities beside their probits; ONNX Runtime's own are good to 2e-3 alone."""
    save(folder, "probit", [
        learned("LinearRegressor", ["x"], ["probits"], coefficients=[1.0], post_transform="PROBIT"),
        onnx.helper.make_node("Concat", ["x", "probits"], ["joined"], axis=1),
        onnx.helper.make_node("Reshape", ["joined", "whole"], ["y"]),
    ], {"x": numpy.linspace(0.01, 0.99, 50, dtype=numpy.float32).reshape(50, 1)}, {"whole": numpy.array([50, 2])})

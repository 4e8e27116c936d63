"""Models of a few nodes, with inputs of their own, for what no tiny model has."""

import numpy
import onnx
import onnx.numpy_helper


def save(folder, name, nodes, inputs, weights=None):
    """folder/name/model.onnx, whose output is y, and its inputs beside it."""
    def declared(key, own):
        return onnx.helper.make_tensor_value_info(key, onnx.helper.np_dtype_to_tensor_dtype(own.dtype), own.shape)

    graph = onnx.helper.make_graph(nodes, name, [declared(*own) for own in inputs.items()], [onnx.helper.make_empty_tensor_value_info("y")],
                                   [onnx.numpy_helper.from_array(own, key) for key, own in (weights or {}).items()])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9)
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


def make_any(folder):
    """Whether any of many elements is positive."""
    make = onnx.helper.make_node
    save(folder, "any", [
        make("Greater", ["x", "zero"], ["over"]), make("ReduceMax", ["over"], ["found"], keepdims=0, name="any"),
        make("Cast", ["found"], ["y"], to=onnx.TensorProto.FLOAT),
    ], {"x": numpy.random.default_rng(1).standard_normal((12, 30), numpy.float32) - 3, "zero": numpy.zeros((), numpy.float32)})

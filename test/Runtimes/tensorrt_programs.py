"""Models with TensorRT's DistCollective, run node by node for all ranks at once, against ONNX Runtime on the whole models.

tensorrt_programs.py APC MODELS PACKAGES FOLDER [--all] [NAME...]   as onnx_programs.py

TensorRT needs several GPUs. Here ONNX Runtime runs what stands between collectives, numpy the collectives as TensorRT's
page on the operator describes them; each model passes ONNX's checker and shape inference, an Identity of the shapes that
TensorRT gives in the place of each collective."""

import pathlib
import sys
import tempfile

from onnx_programs import TOLERANCE, Refused, call, difference, read_tensor
from training_cases import SLOW_DEVICES
from onnx_made_models import make_any, make_keys

import json
import numpy
import onnx
import onnx.numpy_helper
import onnxruntime

EMIT = pathlib.Path(__file__).parents[2] / "lib" / "Emit"
sys.path[:0] = [str(EMIT / "Onnx" / "Runtime"), str(EMIT / "Runtime")]
from loading import assemble, piece_of
from manifest import mesh_of

MODELS = ["bert", "dlrm", "gpt", "llama", "mixer", "moe", "resnet", "t5", "tts", "unet", "vit"]
REDUCTIONS = {"SUM": numpy.add, "PROD": numpy.multiply, "MAX": numpy.maximum, "MIN": numpy.minimum}
seen = set()


def attributes(node):
    return {own.name: onnx.helper.get_attribute_value(own) for own in node.attribute}


def collect(nodes, inputs):
    """The results of one collective on all ranks."""
    results = [None] * len(nodes)
    for rank, node in enumerate(nodes):
        own = attributes(node)
        operation, reduction, group = own["collective_operation"].decode(), own["reduce_op"].decode(), own["groups"]
        seen.add((operation, reduction))
        assert rank in group and own["nb_rank"] == own["group_size"] == len(group) and own["root"] == -1
        assert all(attributes(nodes[other]) == own for other in group), node.name
        given = [inputs[other] for other in group]
        assert given[0].dtype != bool, "collectives move numbers, no bools"
        assert len({piece.shape for piece in given}) == 1
        place = list(group).index(rank)
        if operation == "ALL_GATHER":
            assert reduction == "NONE"
            results[rank] = numpy.concatenate(given, 0)
        elif operation == "ALL_TO_ALL":
            assert reduction == "NONE"
            results[rank] = numpy.concatenate([numpy.split(piece, len(group), 0)[place] for piece in given], 0)
        else:
            combined = given[0]
            for piece in given[1:]:
                combined = REDUCTIONS[reduction](combined, piece)
            results[rank] = combined if operation == "ALL_REDUCE" else numpy.split(combined, len(group), 0)[place]
            assert operation in ("ALL_REDUCE", "REDUCE_SCATTER")
    return results


def run_nodes(model, nodes, known, later):
    """Adds the values of nodes without collectives that others read."""
    made = {name for node in nodes for name in node.output if name}
    read = [name for name in dict.fromkeys(name for node in nodes for name in node.input if name) if name not in made]
    constants = [tensor for tensor in model.graph.initializer if tensor.name in read]
    read = [name for name in read if name not in {tensor.name for tensor in constants}]
    inputs = [onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(known[name].dtype), known[name].shape)
              for name in read]
    graph = onnx.helper.make_graph(nodes, "part", inputs, [], constants)
    part = onnx.helper.make_model(graph, opset_imports=model.opset_import, ir_version=10)
    types = {value.name: value for value in onnx.shape_inference.infer_shapes(part, strict_mode=True).graph.value_info}
    wanted = [name for name in made if name in later]
    part.graph.output.extend(types[name] for name in wanted)
    onnx.checker.check_model(part, full_check=True)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(part.SerializeToString(), options)
    known.update(zip(wanted, session.run(wanted, {name: known[name] for name in read})))


def run_ranks(models, values):
    """Runs all ranks, from collective to collective."""
    last = {}
    for index, node in enumerate(models[0].graph.node):
        last.update(dict.fromkeys(node.input, index))
    last.update({output.name: len(models[0].graph.node) for output in models[0].graph.output})
    begin, constants = 0, [{tensor.name for tensor in model.graph.initializer} for model in models]
    for index, node in enumerate(models[0].graph.node):
        ours = [model.graph.node[index] for model in models]
        kinds = {(own.op_type, *(name for name in own.input if name not in known), *own.output) for own, known in zip(ours, constants)}
        assert len(kinds) == 1, "ranks run other nodes"
        if node.op_type != "DistCollective":
            continue
        for model, known in zip(models, values):
            if begin < index:
                run_nodes(model, model.graph.node[begin:index], known, {name for name, at in last.items() if at >= index})
        for known, result in zip(values, collect(ours, [known[node.input[0]] for known in values])):
            known[node.output[0]] = numpy.asarray(result)
        begin = index + 1
    for model, known in zip(models, values):
        if begin < len(model.graph.node):
            run_nodes(model, model.graph.node[begin:], known, {output.name for output in model.graph.output})


def check(apc, folder, models, model, devices, flags):
    source = (folder if (folder / model).exists() else models) / model
    call([apc, "plan", source / "model.onnx", "--devices", devices, "--mode", "infer", *flags, *SLOW_DEVICES, "-o", folder])
    program = folder / "program"
    call([apc, "emit", folder / "plan.json", "--format", "tensorrt", "--weights", "-o", program])
    call([sys.executable, "-B", program / "with_weights.py"])
    manifest = json.loads((program / "manifest.json").read_text())
    mesh = mesh_of(manifest)
    session = onnxruntime.InferenceSession(source / "model.onnx")
    inputs = [read_tensor(path)[1] for path in sorted((source / "test_data_set_0").glob("input_*.pb"))]
    given = {value.name: tensor for value, tensor in zip(session.get_inputs(), inputs)}
    programs = [onnx.load(program / f"rank-{rank:04}-full.onnx") for rank in range(devices)]
    values = []
    for rank, own in enumerate(programs):
        known = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in own.graph.initializer}
        known.update({entry["name"]: piece_of(given[entry["name"]], entry["sharding"], mesh, rank) for entry in manifest["inputs"]})
        assert {value.name for value in own.graph.input} <= set(known)
        values.append(known)
    run_ranks(programs, values)
    names = [value.name for value in session.get_outputs()]
    wanted = dict(zip(names, session.run(names, given)))
    worst = 0.0
    for entry in manifest["outputs"]:
        found = assemble([known[entry["name"]] for known in values], entry["shape"], entry["sharding"], mesh)
        worst = max(worst, difference(found, wanted[entry["name"]]))
    return worst


def cases(everything):
    """Model, devices and flags; a few of all, which hold all collectives: rows whose sums are split, too."""
    pinned = [("keys", 4, ["--pin", "attention$: t=4"]), ("any", 4, ["--pin", "any$: d0=2, d1=2"]), ("mixer", 2, ["--pin", "Softmax$: b2=2, ..."])]
    few = [("gpt", 4, []), ("moe", 4, []), ("unet", 6, []), ("resnet", 4, [])]
    return pinned + ([(model, devices, []) for model in MODELS for devices in (2, 4, 6)] if everything else few)


def main():
    apc, models = sys.argv[1], pathlib.Path(sys.argv[2])
    names = [name for name in sys.argv[5:] if name != "--all"]
    counts = {"ran": 0, "refused": 0, "failed": 0}
    for model, devices, flags in cases("--all" in sys.argv):
        title = " ".join([f"{model} on {devices}", *flags])
        if names and not any(name in title for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                make_keys(pathlib.Path(folder))
                make_any(pathlib.Path(folder))
                worst = check(apc, pathlib.Path(folder), models, model, devices, flags)
                outcome = "ran" if worst <= TOLERANCE else "failed"
                print(f"{outcome}: {title}: differs by {worst:.1e}", flush=True)
            except Refused as reason:
                outcome = "refused"
                print(f"refused: {title}: {reason}", flush=True)
            counts[outcome] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()) + ": " + ", ".join(
        operation + ("" if reduction == "NONE" else " " + reduction) for operation, reduction in sorted(seen)))
    sys.exit(1 if counts["failed"] or not counts["ran"] else 0)


if __name__ == "__main__":
    main()

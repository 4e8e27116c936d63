"""Reads exports with their tools' own readers, as far as they come as packages: JAX's shardings on CPU devices, ONNX's checker and onnx-ir, and the grammar of DOT.

readers.py VENV APC MODELS OUT: makes the virtual environment VENV where it is not there; 77 where its packages cannot be had."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Tools"))
from environment import python_of

PACKAGES = ["jax==0.10.2", "jaxlib==0.10.2", "pydot==4.0.1", "onnx==1.23.2", "onnx-ir==1.1.0"]


def enter(folder):
    """Runs this script again with the interpreter of the environment."""
    python = python_of(folder, PACKAGES)
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=16", "JAX_PLATFORMS": "cpu", "APC_READERS": "1"}
    sys.exit(subprocess.run([python, "-B", *sys.argv], env={**os.environ, **flags}).returncode)


if "APC_READERS" not in os.environ:
    enter(pathlib.Path(sys.argv[1]))
del sys.argv[1]

import re

import jax
import numpy
import onnx
import onnx_ir
import pydot
from jax.sharding import Mesh, NamedSharding

from plans import LAYOUTS, OUT, expect, export, plan_of, run
import json


def read_jax(name, plan, text):
    """JAX's own pieces of each parameter, where it accepts the sharding."""
    scope = {}
    exec(text, scope)
    count = 0
    for stage, own in enumerate(plan["stages"]):
        mesh_index = scope["STAGES"][stage][1]
        sizes, axes = scope["MESHES"][mesh_index]
        devices = numpy.array(jax.devices()[:numpy.prod(sizes)]).reshape(sizes)
        for value in own["shardings"]:
            if value["role"] != "parameter" or value["producer"] != value["value"]:
                continue
            spec = next(spec for expression, spec, mesh, only_stage in scope["PARAMETERS"]
                        if mesh == mesh_index and only_stage in (None, stage) and re.fullmatch(expression, value["value"]))
            try:
                piece = NamedSharding(Mesh(devices, axes), spec).shard_shape(tuple(value["shape"]))
            except ValueError:
                assert any(-(-whole // part) * part != whole for whole, part in zip(value["shape"], value["local_shape"])), value
                continue
            expect(name, value["value"], list(piece), value["local_shape"])
            count += 1
    return count


def read_annotated(name, plan):
    """ONNX's checker accepts the model; onnx-ir finds a spec for tensors of most nodes, for as many devices."""
    file = OUT / f"{name}.onnx"
    done = run("export", plan, "--to", "onnx", "-o", file)
    assert done.returncode == 0, done.stderr
    onnx.checker.check_model(str(file))
    count = 0
    for node in onnx_ir.load(file).graph:
        for configured in node.device_configurations:
            expect(name, "devices", configured.configuration.num_devices, json.loads(plan.read_text())["request"]["devices"])
            for spec in configured.sharding_specs:
                assert spec.value in (*node.inputs, *node.outputs)
                count += 1
    assert count > 50, f"{name}: {count} specs"
    return count


def read_dot(name, text):
    """All that DOT's grammar finds in the picture."""
    (graph,) = pydot.graph_from_dot_data(text)
    nodes = {node.get_name() for node in graph.get_nodes()} - {"node"}
    for edge in graph.get_edges():
        assert {edge.get_source(), edge.get_destination()} <= nodes, name
    expect(name, "boxes", len(nodes), len(re.findall(r"^  n\d+ \[", text, re.MULTILINE)))
    return len(nodes)


def main():
    pieces = boxes = specs = 0
    for name in LAYOUTS:
        plan = plan_of(name)
        pieces += read_jax(name, json.loads(plan.read_text()), export(plan, "jax")[0]["files"]["jax_shardings.py"])
        specs += read_annotated(name, plan)
        boxes += read_dot(name, export(plan, "dot")[0]["files"]["plan.dot"])
    print(f"JAX {jax.__version__}: {pieces} parameters; onnx {onnx.__version__}: {specs} specs; pydot: {boxes} boxes")
    assert pieces > 100 and boxes > 100


main()

"""ONNX's operator tests by the programs for PyTorch, against the outputs that come with them.

torch_operators.py APC FOLDER... [--strategies] [NAME...]   FOLDER: of cases, each with model.onnx and test_data_set_0;
    --strategies: on two devices, in place of one: as slow devices want it, and with each factor cut of the operator of
    models that have but one; NAME: only cases with this in their names

All programs run in one process for each device. Inputs that are weights, or that decide shapes, stand in the model.
Ends with 1 where a result is wrong, with 77 where PyTorch or the cases are missing."""

import collections
import concurrent.futures
import datetime
import hashlib
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

from training_cases import SLOW_DEVICES

try:
    import numpy
    import onnx.numpy_helper
    import torch
    import torch.distributed
except ImportError as missing:
    print(f"skipped: {sys.executable} has no {missing.name}; Debian's packages python3-torch and python3-onnx bring it")
    sys.exit(77)

TIMEOUT = datetime.timedelta(seconds=10)
UNIT = {torch.float16: 2.0 ** -10, torch.bfloat16: 2.0 ** -7}


# Made with an epsilon that the model does not say (test_adam_multiple up to ONNX 1.12), by the digest of the model.
WRONG = {"c4e5ae63e47e1f1034b74ad5fd92fe1f908dcdea805ad58a2a67993b7990270e"}

# Their draws are those of the system that made the case.
RANDOM = {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}


class Refused(Exception):
    """A case that is not for programs of PyTorch, with the reason."""


def read_values(paths, protos):
    """The values of a data set's files, in order; None where one is absent."""
    values = []
    for path, proto in zip(paths, protos):
        if not path.exists():
            values.append(None)
            continue
        if proto.type.WhichOneof("value") != "tensor_type":
            raise Refused("values other than tensors")
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        if proto.type.tensor_type.elem_type == onnx.TensorProto.STRING:
            raise Refused("strings")
        if proto.type.tensor_type.elem_type not in onnx.mapping.TENSOR_TYPE_TO_NP_TYPE:
            raise Refused("element types that PyTorch has not")
        value = onnx.numpy_helper.to_array(tensor).copy()
        if proto.type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16:
            value = (value.astype(numpy.uint32) << 16).view(numpy.float32) if value.dtype == numpy.uint16 else value
        declared = [dim.dim_value for dim in proto.type.tensor_type.shape.dim]
        if all(declared) and list(value.shape) != declared:
            raise Refused("data of another shape than the model declares")
        values.append(value)
    return values


def call(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Refused((done.stderr.strip() or done.stdout.strip()).splitlines()[-1])


def fill_in(model, given, names, path):
    """The model with the values of some inputs inside."""
    for value in list(model.graph.input):
        if value.name in names and given.get(value.name) is not None:
            model.graph.input.remove(value)
            model.graph.initializer.append(onnx.numpy_helper.from_array(given[value.name], value.name))
    onnx.save(model, path)


def draw(seed, position):
    """The number from [0, 1) that apc draws for an element: 64-bit FNV-1a of both, with a final mix."""
    state, mask = 0xcbf29ce484222325, 2 ** 64 - 1
    for byte in seed.to_bytes(8, "little") + position.to_bytes(8, "little"):
        state = ((state ^ byte) * 0x100000001b3) & mask
    state = ((state ^ (state >> 33)) * 0xff51afd7ed558ccd) & mask
    return ((state ^ (state >> 33)) >> 11) / 2 ** 53


def dropped(node, given, model):
    """The results of a Dropout in training, whose numbers ONNX leaves open."""
    values = {**{tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}, **given}
    for constant in model.graph.node:
        if constant.op_type == "Constant":
            values[constant.output[0]] = onnx.numpy_helper.to_array(constant.attribute[0].t)
    x, trains = values[node.input[0]], bool(values[node.input[2]])
    ratio = float(values[node.input[1]]) if node.input[1] else 0.5
    seed = next((attribute.i for attribute in node.attribute if attribute.name == "seed"), None)
    if seed is None:
        raise Refused("random")
    kept = numpy.array([not trains or draw(seed, place) >= ratio for place in range(x.size)]).reshape(x.shape)
    return dict(zip(node.output, (kept * x * (1 / (1 - ratio) if trains else 1), kept)))


class Case:
    """A folder with a model and its data."""

    def __init__(self, source):
        if hashlib.sha256((source / "model.onnx").read_bytes()).hexdigest() in WRONG:
            raise Refused("a case with wrong outputs")
        self.model, self.path, self.inside = onnx.load(source / "model.onnx"), source / "model.onnx", set()
        if any(node.op_type in RANDOM for node in self.model.graph.node):
            raise Refused("a case of random numbers")
        known = {tensor.name for tensor in self.model.graph.initializer}
        takes, gives = [value for value in self.model.graph.input if value.name not in known], self.model.graph.output
        data = source / "test_data_set_0"
        inputs = read_values([data / f"input_{index}.pb" for index in range(len(takes))], takes)
        outputs = read_values([data / f"output_{index}.pb" for index in range(len(gives))], gives)
        self.given = {value.name: tensor for value, tensor in zip(takes, inputs)}
        self.wanted = {value.name: tensor for value, tensor in zip(gives, outputs)}
        for node in self.model.graph.node:
            if node.op_type == "Dropout" and len(node.input) > 2:
                self.wanted.update(dropped(node, self.given, self.model))

    def emit(self, apc, folder, flags):
        """Plans and writes folder/program; inputs that need to be inside the model go there."""
        folder.mkdir(exist_ok=True)
        while True:
            try:
                call([apc, "plan", self.path, "--mode", "infer", *flags, "-o", folder])
                call([apc, "emit", folder / "plan.json", "--format", "torch", "--weights", "-o", folder / "program"])
                return folder
            except Refused as reason:
                names = set(re.findall(r"'([^']*)' \(an input of the graph", str(reason)))
                if "decides a shape" in str(reason) or "constant" in str(reason):
                    names |= {name for name, tensor in self.given.items() if tensor is not None and tensor.ndim <= 1}
                if names <= self.inside:
                    raise
                self.inside |= names
                self.path = folder / "model.onnx"
                fill_in(self.model, self.given, self.inside, self.path)

    def emit_cut(self, apc, folder):
        """Programs for two devices: the fastest one, and one for each factor of a single operator that may be cut."""
        yield "fastest", self.emit(apc, folder, ["--devices", "2", *SLOW_DEVICES])
        choices = json.loads((folder / "plan.json").read_text())["stages"][0]["choices"]
        choices = [choice for choice in choices if choice["factors"]]
        for factor in choices[0]["factors"] if len(choices) == 1 else []:
            if not factor["must_be_whole"] and factor["size"] > 1:
                name = factor["factor"]
                pin = f"--pin={re.escape(choices[0]['op'])}: {name}=2"
                yield name, self.emit(apc, folder.with_name(f"{folder.name}-{name}"), ["--devices", "2", pin])


def prepare(apc, source, folder, devices):
    """The programs of a case: titles with folder and case, or with the reason why there is none."""
    prepared = []
    try:
        case = Case(source)
        if devices == 1:
            return [(source.name, case.emit(apc, folder, ["--devices", "1"]), case)]
        for title, program in case.emit_cut(apc, folder):
            prepared.append((f"{source.name} {title}", program, case))
    except Refused as reason:
        prepared.append((source.name, folder, reason))
    return prepared


def why_wrong(found, wanted):
    """The first fault of a tensor, with ONNX's tolerance; empty where there is none."""
    if list(found.shape) != list(wanted.shape):
        return f"has shape {list(found.shape)}, expected {list(wanted.shape)}"
    if not found.dtype.is_floating_point:
        wrong = numpy.atleast_1d(found.numpy() != wanted)
    else:
        unit = UNIT.get(found.dtype, 0)
        found, wanted = found.double().numpy(), numpy.asarray(wanted, dtype=numpy.float64)
        finite = numpy.abs(wanted[numpy.isfinite(wanted)])
        absolute = max(1e-7, unit, 1e-6 * finite.max() if finite.size else 0)
        with numpy.errstate(invalid="ignore"):
            near = numpy.abs(found - wanted) <= absolute + max(1e-3, 4 * unit) * numpy.abs(wanted)
        wrong = numpy.atleast_1d(~(near | (found == wanted) | (numpy.isnan(found) & numpy.isnan(wanted))))
    if not wrong.any():
        return ""
    place = [int(index) for index in numpy.argwhere(wrong)[0]]
    at = tuple(place) if found.ndim else ()
    return f"element {place} is {found[at]}, expected {wanted[at]} ({wrong.sum()} of {wrong.size} differ)"


def results_of(folder, case, devices):
    """Runs a program as run.py does; its outputs by name, on rank 0."""
    if "run" not in sys.modules:
        sys.path.insert(0, str(folder / "program"))
    import run
    run.HERE = folder / "program"
    manifest = run.read_manifest(run.HERE)
    if manifest["devices"] < devices:
        raise Refused("the fastest plan uses one device")
    post = run.Post(manifest, torch.device("cpu"))
    stages, actions = run.make_stages(manifest, post, None)
    run.run_step(stages, actions, case.given, post)
    whole = run.collect(stages, manifest)
    torch.distributed.barrier()
    return whole


def fault_of(whole, case):
    """The first fault of each output."""
    faults = [(name, why_wrong(whole[name], tensor)) for name, tensor in case.wanted.items() if tensor is not None]
    return "; ".join(f"output '{name}' {fault}" for name, fault in faults if fault)


def outcome_of(folder, case, rank, devices):
    """Ran, refused or failed, and why. Each case has its own group, so that none waits for what another one sent."""
    if isinstance(case, Refused):
        return "refused", str(case)
    store = torch.distributed.FileStore(str(folder / "store"), devices)
    torch.distributed.init_process_group("gloo", store=store, rank=rank, world_size=devices, timeout=TIMEOUT)
    try:
        whole = results_of(folder, case, devices)
        fault = fault_of(whole, case) if whole else ""
        return ("failed", fault) if fault else ("ran", "")
    except Refused as reason:
        return "refused", str(reason)
    except Exception as error:
        if "not implemented for 'Half'" in str(error):
            return "refused", "this PyTorch has no such operation of f16 on a CPU"
        return "failed", f"{type(error).__name__}: {error}"
    finally:
        torch.distributed.destroy_process_group()


def run_all(rank, devices, prepared):
    torch.set_grad_enabled(False)
    torch.set_num_threads(1)
    return [outcome_of(folder, case, rank, devices) for _, folder, case in prepared]


def run_ranks(devices, prepared, folder):
    """The outcomes of all cases, by as many processes as there are devices."""
    children = []
    for rank in range(1, devices):
        children.append(os.fork())
        if children[-1] == 0:
            outcomes = run_all(rank, devices, prepared)
            (folder / f"outcomes-{rank}").write_bytes(pickle.dumps(outcomes))
            os._exit(0)
    outcomes = run_all(0, devices, prepared)
    for rank, child in enumerate(children, start=1):
        os.waitpid(child, 0)
        others = pickle.loads((folder / f"outcomes-{rank}").read_bytes())
        outcomes = [other if other[0] == "failed" and (own[0] != "failed" or "gloo" in own[1]) else own
                    for own, other in zip(outcomes, others)]
    return outcomes


def summary(reason):
    """A reason without the names of one case."""
    unsupported = re.search(r"not supported, here with the nodes that use them: ([\w.]+)", reason)
    if unsupported:
        return f"operator {unsupported[1]} is not supported"
    if "no legal strategy" in reason:
        return "a factor that is not cut alone"
    common = r"PyTorch has no tensors of \w+|operator '\w+' has no function in PyTorch yet|decides a shape"
    without = re.search(common, reason)
    return without[0] if without else re.sub(r"^apc: error: (\S*model\.onnx: )?", "", reason)[:150]


def run_cases(apc, sources, devices, prints_all):
    """Runs all cases, prints those that fail and what there is of each outcome; how many of each."""
    with tempfile.TemporaryDirectory() as scratch:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            folders = [pathlib.Path(scratch) / str(index) for index in range(len(sources))]
            lists = pool.map(lambda source, folder: prepare(apc, source, folder, devices), sources, folders)
            prepared = [one for listed in lists for one in listed]
        outcomes = run_ranks(devices, prepared, pathlib.Path(scratch))
    for (title, _, _), (outcome, reason) in zip(prepared, outcomes):
        if outcome == "failed" or prints_all:
            print(f"{outcome}: {title}: {reason}")
    counts = collections.Counter(outcome for outcome, _ in outcomes)
    reasons = collections.Counter(summary(reason) for outcome, reason in outcomes if outcome == "refused")
    for reason, count in reasons.most_common():
        print(f"{count:5} refused: {reason}")
    print(f"{counts['ran']} ran, {counts['failed']} failed, {counts['refused']} refused", flush=True)
    return counts


def main():
    apc, devices = sys.argv[1], 2 if "--strategies" in sys.argv else 1
    rest = [argument for argument in sys.argv[2:] if argument != "--strategies"]
    names = [argument for argument in rest if not os.path.isdir(argument)]
    found = {path.parent for argument in rest for path in pathlib.Path(argument).glob("**/model.onnx")
             if (path.parent / "test_data_set_0").is_dir()}
    sources = sorted(source for source in found if not names or any(name in source.name for name in names))
    if not sources:
        print("skipped: no such cases in the folders")
        sys.exit(77)
    counts = run_cases(apc, sources, devices, bool(names))
    sys.exit(1 if counts["failed"] or not counts["ran"] else 0)


if __name__ == "__main__":
    main()

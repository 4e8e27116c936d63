"""Exports plans to the targets that are told values, ops or actions, and reads their files back."""

import json
import math
import re
import sys
import types

from plans import LAYOUTS, MODELS, OUT, check_targets, expect, export, other_plans, plan_of, run


def only(document):
    (text,) = document["files"].values()
    return text


class Spec(tuple):
    """JAX's PartitionSpec: an entry for each dim."""

    def __new__(cls, *entries, unreduced=frozenset()):
        made = super().__new__(cls, entries)
        made.unreduced = unreduced
        return made


def load(text, module, **names):
    """Runs a Python file whose import is answered with `names`."""
    sys.modules[module] = types.SimpleNamespace(**names)
    scope = {}
    exec(text, scope)
    return scope


def parameters(plan):
    for index, stage in enumerate(plan["stages"]):
        for own in stage["shardings"]:
            if own["role"] == "parameter" and own["producer"] == own["value"]:
                yield index, own


def rule_for(scope, stage, name):
    mesh = scope["STAGES"][stage][1]
    return next(text for expression, text, own, only_stage in scope["PARAMETERS"]
                if own == mesh and only_stage in (None, stage) and re.fullmatch(expression, name))


def is_parted(own):
    return any(own["parts"])


def read_jax(name, plan, document):
    """Each parameter has the piece that its spec cuts from it."""
    scope = load(only(document), "jax.sharding", PartitionSpec=Spec)
    for stage, own in parameters(plan):
        sizes, names = scope["MESHES"][scope["STAGES"][stage][1]]
        size = dict(zip(names, sizes))
        spec = rule_for(scope, stage, own["value"])
        cut = [math.prod(size[axis] for axis in ((entry,) if isinstance(entry, str) else entry or ())) for entry in spec]
        if all(whole % ways == 0 for whole, ways in zip(own["shape"], cut)):
            expect(name, own["value"], [whole // ways for whole, ways in zip(own["shape"], cut)], own["local_shape"])
        else:
            assert any("does not divide" in text for text in document["unsaid"])


def read_dtensor(name, plan, document):
    """Shards of torch.chunk, axis by axis."""
    scope = load(only(document), "torch.distributed.tensor", Shard=lambda dim: dim, Replicate=lambda: None, Partial=lambda kind: None)
    for stage, own in parameters(plan):
        sizes, _ = scope["MESHES"][scope["STAGES"][stage][1]]
        shape = list(own["shape"])
        for size, dim in zip(sizes, rule_for(scope, stage, own["value"]), strict=True):
            if dim is not None:
                shape[dim] = -(-shape[dim] // size)
        if not is_parted(own):
            expect(name, own["value"], shape, own["local_shape"])


def read_autoparallel(name, plan, document):
    """A letter for each dim of the mesh; inputs that need no move have one placement."""
    file = json.loads(only(document))
    dims = len(file["mesh"]["shape"])
    for node in file["nodes"]:
        for placement in (node["placement"], *(text for own in node["inputs"] for text in (own["src_placement"], own["dst_placement"]))):
            expect(name, placement, len(re.findall(r"S\(\d+\)|P\(\w+\)|R", placement)), dims)
            assert re.fullmatch(r"(S\(\d+\)|P\(\w+\)|R)*", placement)
        for own in node["inputs"]:
            is_moved = own["src_placement"] != own["dst_placement"] or any("inside of its parts" in text for text in document["unsaid"])
            assert own["comm_cost"] == 0 or is_moved, node
    choices = {choice["op"]: choice["seconds"] for choice in plan["stages"][0]["choices"]}
    for node in file["nodes"]:
        expect(name, node["name"], node["compute_cost"], choices[node["name"]])


def read_mindspore(name, plan, document):
    """Cuts multiply to the devices of a stage at most; a parameter's piece follows from its tensor_map."""
    file = json.loads(only(document))
    devices = plan["stages"][0]["devices"]
    for op, item in file["parallel_strategy_item"].items():
        for ways in item["parallel_strategy"]:
            assert math.prod(ways) <= devices, op
    for stage, own in parameters(plan):
        layout = file["parallel_layout_item"][(f"{stage}-" if plan["pipeline"] else "") + own["value"]]
        expect(name, own["value"], layout["tensor_shape"], own["local_shape"])
        expect(name, "matrix", math.prod(layout["dev_matrix"]), devices)
        if all(len(axes) < 2 for axes in own["dims"]) and not is_parted(own):
            cut = [1 if index < 0 else layout["dev_matrix"][-1 - index] for index in layout["tensor_map"]]
            expect(name, own["value"], [-(-whole // ways) for whole, ways in zip(own["shape"], cut)], own["local_shape"])


def read_onnx(name, plan, document):
    """Each spec gives every device of its stage one piece; each tensor has the ways of its dims in the plan."""
    del document  # binary
    file = annotated(name)
    made = {(index, own["value"]): own for index, stage in enumerate(plan["stages"]) for own in stage["shardings"] if own["role"] == "activation"}
    sizes = [{axis["name"]: axis["size"] for axis in stage["mesh"]} for stage in plan["stages"]]
    count = 0
    for node in (value for number, value in fields(dict(fields(file.read_bytes()))[7]) if number == 1):
        outputs = [value.decode() for number, value in fields(node) if number == 2]
        for configuration in (list(fields(value)) for number, value in fields(node) if number == 10):
            index = dict(configuration).get(3, 0)
            stage = plan["stages"][index]
            for spec in (list(fields(value)) for number, value in configuration if number == 2):
                holders, ways = read_spec(spec)
                ranks = sorted(rank for own in holders for rank in own)
                expect(name, "ranks", ranks, list(range(stage["first_rank"], stage["first_rank"] + stage["devices"])))
                tensor = dict(spec)[1].decode()
                if tensor in outputs and (index, tensor) in made:
                    dims = made[index, tensor]["dims"]
                    expect(name, tensor, ways, {dim: cut for dim, axes in enumerate(dims) if (cut := math.prod(sizes[index][axis] for axis in axes)) > 1})
                    count += 1
    assert count > 20, f"{name}: {count} results"


def read_spec(spec):
    """A ShardingSpecProto: the devices that hold each piece, and the ways of its dims."""
    def numbers(number):
        for own, value in spec:
            if own == number and isinstance(value, bytes):
                yield from varints(value)
            elif own == number:
                yield value

    groups = {}
    for entry in (list(fields(value)) for number, value in spec if number == 3):
        groups[signed(dict(entry)[1])] = [rank for number, value in entry if number == 2 for rank in ([value] if isinstance(value, int) else varints(value))]
    holders = [groups[signed(device)] if signed(device) < 0 else [device] for device in numbers(2)]
    ways = {}
    for cut in (list(fields(value)) for number, value in spec if number == 4):
        ways[dict(cut).get(1, 0)] = math.prod(dict(fields(value))[3] for number, value in cut if number == 2)
    expect("spec", "pieces", len(holders), math.prod(ways.values()))
    return holders, ways


def annotated(name):
    """The model with the shardings of a plan."""
    file = OUT / f"{name}.onnx"
    done = run("export", OUT / name / "plan.json", "--to", "onnx", "-o", file)
    assert done.returncode == 0, done.stderr
    return file


def read_dot(name, plan, document):
    """Boxes for all ops of the forward pass; edges between boxes."""
    boxes, count = set(), 0
    for line in only(document).splitlines()[3:-1]:
        if edge := re.fullmatch(r"  (n\d+) -> (n\d+)( \[label=\"[^\"]*\", color=red\])?;", line):
            assert edge[1] in boxes and edge[2] in boxes, line
            continue
        box = re.fullmatch(r"  (n\d+) \[label=\"(.*)\"\];", line)
        boxes.add(box[1])
        times = re.search(r" x (\d+)\\n", box[2])
        count += int(times[1]) if times else 1
    gradient = re.compile(r"\.(grad|recomputed|updated?|sum)\b|#")
    forward = [own["op"] for stage in plan["stages"] for own in stage["choices"] if own["operator"] != "output" and not gradient.search(own["op"])]
    assert count >= len(forward), f"{name}: {count} ops, the plan has {len(forward)} and more"


def read_perfetto(name, plan, document):
    """Slices of one thread follow each other, and the last one ends with the step."""
    events = json.loads(only(document))["traceEvents"]
    threads = {}
    for event in events:
        if event["ph"] == "X":
            threads.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
    for slices in threads.values():
        for (_, end), (begin, _) in zip(sorted(slices), sorted(slices)[1:]):
            assert begin >= end - 1e-3, name
    end = max(end for slices in threads.values() for _, end in slices) / 1e6
    hidden = 0 if plan["pipeline"] else plan["communication_seconds"] - plan["exposed_communication_seconds"]
    assert abs(end - plan["step_seconds"] - hidden) < 0.02 * plan["step_seconds"], f"{name}: {end} of {plan['step_seconds']}"
    if plan["pipeline"]:
        forward = [event for event in events if event["ph"] == "X" and event["cat"] == "forward"]
        expect(name, "forward actions", len(forward), len(plan["stages"]) * plan["training"]["micro_batches"])
        expect(name, "arrows", sum(event["ph"] == "s" for event in events), sum(event["ph"] == "f" for event in events))


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, at, shift = value | (byte & 127) << shift, at + 1, shift + 7
        if byte < 128:
            return value, at


def varints(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def fields(data):
    """Protobuf's wire format: (number, value) for numbers and bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def read_trace(data):
    """The nodes of a trace, behind its metadata."""
    messages, at = [], 0
    while at < len(data):
        size, at = varint(data, at)
        messages.append(data[at:at + size])
        at += size
    nodes = []
    for message in messages[1:]:
        node = {"deps": [], "attr": {}}
        for number, value in fields(message):
            if number == 5:
                start = 0
                while start < len(value):
                    dep, start = varint(value, start)
                    node["deps"].append(dep)
            elif number == 10:
                own = dict(fields(value))
                (kind,) = set(own) - {1}
                node["attr"][own[1].decode()] = own[kind]
            else:
                node[{1: "id", 2: "name", 3: "type", 7: "micros"}[number]] = value
        nodes.append(node)
    return nodes


COMPUTE, SEND, RECEIVE, COLLECTIVE = 4, 5, 6, 7


def read_chakra(name, plan, document):
    """Traces are decoded; nodes follow each other, messages meet, and ranks of a group run the same collectives."""
    folder = OUT / (name + ".chakra")
    done = run("export", OUT / name / "plan.json", "--to", "chakra", "-o", folder)
    assert done.returncode == 0, done.stderr
    traces = {int(file.name.split(".")[1]): read_trace(file.read_bytes()) for file in folder.glob("*.et")}
    expect(name, "ranks", len(traces), max(stage["first_rank"] + stage["devices"] for stage in plan["stages"]))
    ends = {SEND: set(), RECEIVE: set()}
    for rank, nodes in traces.items():
        for index, node in enumerate(nodes):
            expect(name, "id", node["id"], index + 1)
            expect(name, "dependencies", node["deps"], [index] if index else [])
            if node["type"] in ends:
                own = node["attr"]
                ends[node["type"]].add((own["comm_src"], own["comm_dst"], own["comm_tag"], own["comm_size"]))
                expect(name, "rank", rank, own["comm_src" if node["type"] == SEND else "comm_dst"])
    expect(name, "messages", ends[SEND], ends[RECEIVE])
    if plan["pipeline"]:
        assert ends[SEND]
        return
    groups = json.loads((folder / "groups.json").read_text())
    runs = {}
    for rank, nodes in traces.items():
        for node in nodes:
            if node["type"] == COLLECTIVE:
                group = node["attr"]["pg_name"].decode()
                assert rank in groups[group], name
                runs.setdefault(group, {}).setdefault(rank, []).append((node["name"], node["attr"]["comm_type"], node["attr"]["comm_size"]))
    for group, ranks in runs.items():
        expect(name, "group", sorted(ranks), sorted(groups[group]))
        assert len({tuple(own) for own in ranks.values()}) == 1, name
    seconds = sum(node["micros"] for node in traces[0] if node["type"] == COMPUTE) / 1e6
    count = sum(node["type"] == COMPUTE for node in traces[0])
    assert 0 <= seconds - plan["compute_seconds"] <= 1e-6 * count, f"{name}: {seconds} of {plan['compute_seconds']}"


TARGETS = {
    "jax": (read_jax, {}, {"pipeline": "schedule 1f1b", "whole": "which does not divide it", "zero3": "cut inside of its parts"}),
    "dtensor": (read_dtensor, {}, {"pipeline": "schedule 1f1b", "whole": "cut inside of its parts"}),
    "mindspore": (read_mindspore, {}, {"pipeline": "schedule 1f1b", "zero3": "recompute full", "whole": "MindSpore cuts evenly"}),
    "autoparallel": (read_autoparallel, {"pipeline": "the plan has stages", "split": "the plan has stages", "sharded": "the plan has stages", "experts": "the plan has stages", "whole_experts": "the plan has stages",
                                         "copies": "a node runs once"}, {"zero3": "recompute full"}),
    "onnx": (read_onnx, {}, {"pipeline": "schedule 1f1b", "zero3": "recompute full", "infer": "in parts that have yet to be combined"}),
    "dot": (read_dot, {}, {"pipeline": "schedule 1f1b", "zero3": "recompute full"}),
    "perfetto": (read_perfetto, {}, {"overlap": "collectives run beside ops", "pairs": "stand one behind the other"}),
    "chakra": (read_chakra, {}, {"overlap": "follow each other", "pipeline": "collectives inside of stages"}),
}


def costed(name, target):
    """The step of a plan that comes back from another tool's file."""
    model, layout, extra = LAYOUTS.get(name, ("gpt", "", []))
    file = OUT / f"{name}.{target}"
    done = run("export", OUT / name / "plan.json", "--to", target, "-o", file)
    assert done.returncode == 0, done.stderr
    flags = ["--mode", "infer"] if name == "infer" else ["--loss", "sum"]
    done = run("evaluate", MODELS / model / "model.onnx", *flags, "--cluster", "cpu-local", "--layout-file", file, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["step_seconds"]


def check_round_trips():
    """Degrees come back as they went; cuts of all ops give the plan again, with storage free to be better."""
    for name, target, tolerance in (("sharded", "galvatron", 0), ("whole", "galvatron", 0), ("infer", "mindspore", 0), ("infer", "autoparallel", 0)):
        before, after = json.loads((OUT / name / "plan.json").read_text())["step_seconds"], costed(name, target)
        assert abs(after - before) <= (tolerance + 1e-9) * before, f"{name}: {after} as {target} says, {before} before"
        print(f"{target}: {name} comes back")


def ways_of(plan):
    """By op: the ways in which its factors are cut."""
    ways = {}
    for stage in plan["stages"]:
        sizes = {axis["name"]: axis["size"] for axis in stage["mesh"]}
        for own in stage["choices"]:
            cuts = re.findall(r"(\S+?):(\([^)]*\)|\S+)", own["strategy"])
            ways[own["op"]] = sorted((factor, math.prod(sizes[axis] for axis in axes.strip("()").split())) for factor, axes in cuts)
    return ways


def check_pins_of_model():
    """A model with the shardings of a plan is planned as that plan, by the pins that it carries."""
    for model in ("gpt", "llama", "resnet", "moe"):
        plans = []
        flags = ["--mode", "infer", "--devices", "8", "--cluster", "cpu-local", "--gap", "0", "--runtime", "none"]  # every op counts
        for path in (MODELS / model / "model.onnx", OUT / f"{model}.pinned.onnx"):
            folder = OUT / f"{path.stem}.{model}"
            done = run("plan", path, *flags, "-o", folder)
            assert done.returncode == 0, done.stderr
            plans.append(json.loads((folder / "plan.json").read_text()))
            if len(plans) == 1:
                done = run("export", folder / "plan.json", "--to", "onnx", "-o", OUT / f"{model}.pinned.onnx")
                assert done.returncode == 0, done.stderr
        before, after = plans
        assert abs(after["step_seconds"] - before["step_seconds"]) <= 1e-9 * before["step_seconds"], model
        pinned = {own["op"] for own in after["stages"][0]["choices"] if own["pinned"]}
        assert len(pinned) > 20, f"{model}: {len(pinned)} ops are pinned"
        known, found = ways_of(before), ways_of(after)
        for op in pinned:
            expect(model, op, found[op], known[op])
        print(f"onnx: {model} comes back as {len(pinned)} pins")


def check_stages_of_model():
    """Stages in a model are refused, and left out where they shall be: pins hold on all devices at once."""
    file = OUT / "pipeline.onnx"
    done = run("export", OUT / "pipeline" / "plan.json", "--to", "onnx", "-o", file)
    assert done.returncode == 0, done.stderr
    flags = ["--loss", "sum", "--devices", "8", "--cluster", "cpu-local", "--global-batch", "12", "-o", OUT / "staged"]
    done = run("plan", file, *flags)
    assert done.returncode == 2 and ("it is in stage 1 of a pipeline: --pipeline decides on stages anew" in done.stderr
                                     or "on 4 of 8 devices" in done.stderr), done.stderr
    done = run("plan", file, *flags, "--ignore-model-shardings")
    assert done.returncode == 0, done.stderr
    print("onnx: stages are refused")


if __name__ == "__main__":
    check_targets(TARGETS, {name: plan_of(name) for name in LAYOUTS}, other_plans())
    check_round_trips()
    check_pins_of_model()
    check_stages_of_model()

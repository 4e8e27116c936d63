"""Collectives of XLA's own partitioner beside those of plans: how many there are, and the bytes that a device sends.

xla_partitioner.py APC MODELS [NAME...]   MODELS: a folder with NAME.onnx

Both run the same steps: XLA gets the program of one device in StableHLO with the plan's shardings of inputs and
parameters, and decides the rest; ours is the program of the plan. Both are counted in what XLA compiles of them, by the
bytes of a ring. Ends with 77 where jaxlib is missing."""

import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Runtimes"))
from xla_devices import NUM_DEVICES as DEVICES, compile_text, numpy

# A model, and the flags of its plans.
CASES = {
    "bert_large": [("tensor parallel", ["--mode", "infer", "--dim", "batch=8", "--dim", "seq=512", "--layout", "tp=8"]), ("data parallel", ["--mode", "infer", "--dim", "batch=8", "--dim", "seq=512", "--layout", "dp=8"])],
    "vit_l16": [("tensor parallel", ["--mode", "infer", "--dim", "batch=8", "--layout", "tp=8"])],
}
KINDS = ["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute"]
BITS = {"pred": 8, "s8": 8, "u8": 8, "s32": 32, "u32": 32, "s64": 64, "u64": 64, "f16": 16, "bf16": 16, "f32": 32, "f64": 64}


def call(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(" ".join(map(str, command)) + "\n" + done.stderr)


def shardings(plan):
    """By name of an input or parameter, its axes by dim; those that are cut in equal runs."""
    (stage,) = plan["stages"]
    sizes = {axis["name"]: axis["size"] for axis in stage["mesh"]}
    found = {}
    for own in stage["shardings"]:
        ways = [math.prod(sizes[axis] for axis in axes) for axes in own["dims"]]
        if not any(own["parts"]) and all(size % way == 0 for size, way in zip(own["shape"], ways)):
            found.setdefault(own["value"], own["dims"])
    return sizes, found


def tiles(dims, sizes):
    """A sharding in the words of HLO: the devices of each tile."""
    used = [axis for axes in dims for axis in axes]
    rest = [axis for axis in sizes if axis not in used]
    names = list(sizes)
    devices = numpy.arange(DEVICES).reshape(list(sizes.values())).transpose([names.index(axis) for axis in used + rest])
    counts = [math.prod(sizes[axis] for axis in axes) for axes in dims]
    if not used:
        return "{replicated}"
    last = DEVICES // math.prod(counts)
    text = ",".join(map(str, counts + ([last] if last > 1 else [])))
    return f"{{devices=[{text}]{','.join(map(str, devices.flatten()))}{' last_tile_dim_replicate' if last > 1 else ''}}}"


def gspmd(dims, sizes):
    return f'mhlo.sharding = "{tiles(dims, sizes)}"'


def shardy(dims, sizes):
    del sizes  # in the mesh
    return f"sdy.sharding = #sdy.sharding<@mesh, [{', '.join('{' + ', '.join(map(json.dumps, axes)) + '}' for axes in dims)}]>"


def annotated(text, part, plan, attribute):
    """The module of one device with shardings at the arguments and results of main."""
    sizes, known = shardings(plan)
    begin = text.index("@main(")
    arrow = text.index(") -> ", begin)
    end = text.index(" {\n", arrow)
    results = text[arrow + len(") -> "):end].strip("()")

    def annotate(values, entries):
        names = iter(entry["name"] for entry in entries)

        def one(match):
            dims = known.get(next(names))
            return match[0] if dims is None else f"{match[0]} {{{attribute(dims, sizes)}}}"
        return re.sub(r"(?:%\w+: )?tensor<[^>]*>", one, values)

    text = (text[:begin] + annotate(text[begin:arrow], part["arguments"]) + ") -> (" + annotate(results, part["results"]) + ")" + text[end:])
    mesh = ", ".join(f"{json.dumps(axis)}={size}" for axis, size in sizes.items())
    return re.sub(r"(module[^\n]*\{\n)", lambda head: head[0] + f"  sdy.mesh @mesh = <[{mesh}]>\n", text, count=1) if attribute is shardy else text


def compiled(text, replicas, partitions, attribute=None):
    program = compile_text(text, replicas=replicas, partitions=partitions, use_spmd_partitioning=True,
                           use_shardy_partitioner=attribute is shardy)
    return program.hlo_modules()[0].to_string()


def bytes_of(shapes):
    total = 0
    for element, dims in re.findall(r"(\w+)\[([\d,]*)\]", shapes):
        total += math.prod(int(size) for size in dims.split(",") if size) * BITS[element] // 8
    return total


def count(hlo):
    """By kind: how many collectives, and the bytes that a device sends in them."""
    found = {kind: [0, 0] for kind in KINDS}
    for line in hlo.splitlines():
        match = re.match(rf"\s*(?:ROOT )?%?[\w.-]+ = (.*?) ({'|'.join(KINDS)})(?:-start)?\(", line)
        if not match:
            continue
        size = bytes_of(match[1])
        if groups := re.search(r"replica_groups=\[(\d+),(\d+)\]", line):
            group = int(groups[2])
        elif groups := re.search(r"replica_groups=\{\{([\d,]*)\}", line):
            group = len(groups[1].split(","))
        else:
            group = DEVICES
        share = (group - 1) / group
        sent = {"all-reduce": 2 * share * size, "all-gather": share * size, "reduce-scatter": (group - 1) * size,
                "all-to-all": share * size, "collective-permute": size}[match[2]]
        found[match[2]][0] += 1
        found[match[2]][1] += int(sent)
    return found


def programs(apc, folder, model, flags):
    """The HLO of XLA's partitioners, and of the plan's program, each with a name."""
    layout = flags.index("--layout")
    single = flags[:layout] + flags[layout + 2:]
    for name, own in (("whole", ["plan", model, "--devices", 1, *single]), ("cut", ["evaluate", model, "--devices", DEVICES, *flags])):
        call(apc, *own, "--cluster", "dgx-h100", "-o", folder / name)
        call(apc, "emit", folder / name / "plan.json", "--format", "stablehlo", "-o", folder / name / "program")
    plan = json.loads((folder / "cut" / "plan.json").read_text())
    texts = {}
    for name in ("whole", "cut"):
        program = folder / name / "program"
        (part,) = json.loads((program / "parts.json").read_text())["parts"]
        texts[name] = ((program / part["file"]).read_text(), part)
    text, part = texts["whole"]
    for attribute in (gspmd, shardy):
        yield f"XLA, {attribute.__name__}", compiled(annotated(text, part, plan, attribute), 1, DEVICES, attribute)
    yield "apc", compiled(texts["cut"][0], DEVICES, 1)


def cell(found, kind):
    number, sent = found[kind]
    return f"{number}, {sent / 2**20:.1f} MiB" if number else "-"


def main():
    apc, models = sys.argv[1], pathlib.Path(sys.argv[2])
    rows = [["model, plan", "by", *KINDS, "all"]]
    for name, plans in CASES.items():
        if sys.argv[3:] and name not in sys.argv[3:]:
            continue
        for title, flags in plans:
            with tempfile.TemporaryDirectory() as folder:
                for by, hlo in programs(apc, pathlib.Path(folder), models / f"{name}.onnx", flags):
                    found = count(hlo)
                    total = sum(sent for _, sent in found.values())
                    rows.append([f"{name}, {title}", by, *(cell(found, kind) for kind in KINDS), f"{total / 2**20:.1f} MiB"])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())


if __name__ == "__main__":
    main()

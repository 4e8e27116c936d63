"""The flags of plans that the tests of emitted programs share."""

import math

BATCH = 6  # of most models

# Training by name; a layout is carried out as it is. "{devices}" stands for their number, "{ways}" and "{others}" for
# two factors of it, of which the first divides the batch. Accumulation changes the statistics of ResNet's
# normalisation, so it is not among them.
KINDS = {
    "cut": [],
    "zero0": ["--parallel", "data"],
    "zero1": ["--layout", "dp={devices},zero=1"],
    "zero2": ["--layout", "dp={ways},tp={others},zero=2,mb=1"],
    "zero3": ["--layout", "dp={ways},tp={others},zero=3,mb=1"],
    "recompute": ["--recompute", "full"],
    "1f1b": ["--pipeline", "2", "--schedule", "1f1b", "--micro-batch", "2"],
    "gpipe-zero3": ["--pipeline", "2", "--schedule", "gpipe", "--micro-batch", "2", "--zero", "3"],
    "zb-v-recompute": ["--pipeline", "2", "--schedule", "zb-v", "--micro-batch", "2", "--recompute", "full"],
    "unequal": ["--pipeline", "3", "--micro-batch", "2"],  # workers, on 4 and 8 devices
    "copies": ["--parallel", "data", "--micro-batch", "2", "--copies", "2"],
}
# Of the planner, for a reason that the message says.
NO_PLAN = {
    "can be cut at": "a model with too few places to cut it",
    "fewer workers are accepted": "too few devices or places for cuts",
    "cannot be cut into micro-batches": "a batch that so many ranks do not divide",
    "ways; dp up to": "a batch that so many ranks do not divide",
}

SLOW_DEVICES = [
    f"--cluster-set={figure}"
    for figure in ["device.peak_vector_flops_per_second.f32=1e6", "device.peak_flops_per_second.tf32=1e6",
                   "device.memory_bytes_per_second=1e6", "device.launch_seconds=1e-9",
                   "device.collective_launch_seconds=1e-9", "level.device.latency_seconds=1e-9",
                   "level.device.bulk_latency_seconds=1e-9"]
]


def accumulates(kind):
    """Does it plan several micro-batches?"""
    return any(flag == "--micro-batch" or "mb=" in flag for flag in KINDS.get(kind, []))


def plan_command(apc, model, devices, flags):
    verb = "evaluate" if "--layout" in flags else "plan"
    ways = math.gcd(BATCH, int(devices))
    numbers = {"devices": devices, "ways": ways, "others": int(devices) // ways}
    flags = [str(flag).format(**numbers) if str(flag).startswith("dp=") else flag for flag in flags]
    return [apc, verb, model, "--devices", devices, *flags, *SLOW_DEVICES]


def training_flags(case):
    flags = ["--loss", case["loss"], "--optimizer", case["optimizer"], "--weight-decay", str(case["weight_decay"])]
    if case["optimizer"].startswith("adam"):
        flags += ["--beta1", str(case["betas"][0]), "--beta2", str(case["betas"][1]), "--epsilon", str(case["eps"])]
        flags += ["--amsgrad"] if case["amsgrad"] else []
    if case["optimizer"] == "momentum":
        flags += ["--momentum", str(case["momentum"]), "--dampening", str(case["dampening"])]
        flags += ["--nesterov"] if case["nesterov"] else []
    flags += ["--clip-norm", str(case["clip_norm"])] if case["clip_norm"] else []
    flags += ["--freeze", case["freeze"]] if case["freeze"] else []
    return flags + [flag for tie in case["tie"] for flag in ("--tie", tie)]

"""The flags of plans that the tests of emitted programs share."""

SLOW_DEVICES = [
    f"--cluster-set={figure}"
    for figure in ["device.peak_vector_flops_per_second.f32=1e6", "device.peak_flops_per_second.tf32=1e6",
                   "device.memory_bytes_per_second=1e6", "device.launch_seconds=1e-9",
                   "device.collective_launch_seconds=1e-9", "level.device.latency_seconds=1e-9",
                   "level.device.bulk_latency_seconds=1e-9"]
]


def training_flags(case):
    flags = ["--loss", case["loss"], "--optimizer", case["optimizer"], "--weight-decay", str(case["weight_decay"])]
    if case["optimizer"].startswith("adam"):
        flags += ["--beta1", str(case["betas"][0]), "--beta2", str(case["betas"][1]), "--epsilon", str(case["eps"])]
    if case["optimizer"] == "momentum":
        flags += ["--momentum", str(case["momentum"]), "--dampening", str(case["dampening"])]
        flags += ["--nesterov"] if case["nesterov"] else []
    flags += ["--clip-norm", str(case["clip_norm"])] if case["clip_norm"] else []
    flags += ["--freeze", case["freeze"]] if case["freeze"] else []
    return flags + [flag for tie in case["tie"] for flag in ("--tie", tie)]

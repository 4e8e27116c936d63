"""turning_points.py APC MODEL CLUSTER.json FLAG...: a runner-up wins just beyond the turning point that the plan names, and not just before
it. The model is cut along its batch over 8 devices, which leaves no op a choice, so that reasons can be compared."""

import json
import subprocess
import sys

apc, model, cluster, *flags = sys.argv[1:]


def choices(overrides):
    command = [apc, "evaluate", model, "--layout", "dp=8", "--cluster", cluster, "--mode", "infer", "--json", *flags]
    for setting in overrides:
        command += ["--cluster-set", setting]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["stages"][0]["choices"]


def overrides(point, share):
    """The figure at `share` of its turning point; peaks are scaled for every number format."""
    if point["value"] is not None:
        return [f"{point['figure']}={point['value'] * share}"]
    device = json.load(open(cluster, encoding="utf-8"))["device"]
    return [
        f"device.{key}.{name}={peak * point['factor'] * share}"
        for key in ("peak_flops_per_second", "peak_vector_flops_per_second") for name, peak in device[key]["value"].items()
    ]


def extra(point, share, index):
    return choices(overrides(point, share))[index]["runner_up"]["extra_seconds"]


checked = 0
for index, choice in enumerate(choices([])):
    runner_up = choice["runner_up"]
    if checked == 4 or not runner_up or not runner_up["wins_if"]:
        continue
    point = runner_up["wins_if"][0]
    beyond, before = (0.97, 1.03) if point["factor"] < 1 else (1.03, 0.97)
    assert extra(point, beyond, index) < 0 < extra(point, before, index), (choice["op"], point)
    checked += 1
print(f"{checked} turning points hold")

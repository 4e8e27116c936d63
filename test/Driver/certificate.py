"""certificate.py APC FOLDER: a pin only takes strategies away, so a plan with pins is never faster than the plan without them, and
never below its bound; a limit that the plan keeps without being asked to changes nothing. FOLDER holds the models."""

import json
import subprocess
import sys
import tempfile

apc, folder = sys.argv[1:]


def plan(model, *flags):
    with tempfile.TemporaryDirectory() as out:
        command = [apc, "plan", f"{folder}/{model}.onnx", "--mode", "infer", "-o", out + "/plan", "--json", *flags]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, (command, run.stderr)
        subprocess.run([apc, "verify", out + "/plan/plan.json"], capture_output=True, check=True)
        return json.loads(run.stdout)


# (model, limit, pins that once gave a faster plan than none)
FANS = [
    ("fan", "250MiB", ["chain/.*: b1=8", "mm/.*: n=4,m=2"]),
    ("fan2_4", "150MiB", ["first: n=8", "act: b2=8", "mm/.*: n=8"]),
    ("fan2_8", "180MiB", ["first: n=8", "act: b2=8", "mm/.*: n=8"]),
    ("fan2_8", "400MiB", ["first: n=8", "act: b2=8", "mm/.*: n=8"]),
]
for model, limit, pins in FANS:
    flags = ["--devices", "8", "--memory-limit", limit]
    free = plan(model, *flags)
    pinned = plan(model, *flags, *[word for pin in pins for word in ("--pin", pin)])
    assert free["step_seconds"] <= pinned["step_seconds"] * (1 + 1e-9), (model, limit)
    assert free["lower_bound_seconds"] <= pinned["step_seconds"] * (1 + 1e-9), (model, limit)
    # A gap that is left is explained.
    assert free["gap"] <= 1e-3 or any("a gap of" in note for note in free["notes"]), (model, limit, free["notes"])
    print(f"{model} within {limit}: no pin is faster")

# (model, devices, a limit that the plan without a limit keeps)
LIMITS = [("sq1", "2", "191MiB"), ("wres", "2", "32MiB"), ("wres2", "2", "90MiB")]
for model, devices, limit in LIMITS:
    free, limited = plan(model, "--devices", devices), plan(model, "--devices", devices, "--memory-limit", limit)
    assert limited["memory_bytes"]["total"] <= limited["memory_limit_bytes"], model
    if free["memory_bytes"]["total"] <= limited["memory_limit_bytes"]:
        assert limited["step_seconds"] <= free["step_seconds"] * (1 + 1e-9), model
    print(f"{model} within {limit}: as fast as without")

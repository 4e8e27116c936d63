"""random_pins.py APC MODEL DEVICES PINS [FLAG...]: a pin only takes strategies away, so no plan with a pin drawn by lot may be
faster than the plan without it by more than the gap that the search leaves; and the default search is never worse than another."""

import json
import random
import re
import subprocess
import sys
import tempfile

apc, model, devices, count, *flags = sys.argv[1:]
gap = 1e-3  # the default of --gap


def plan(*more):
    with tempfile.TemporaryDirectory() as out:
        command = [apc, "plan", model, "--devices", devices, "--mode", "infer", "-o", out, "--json", *flags, *more]
        run = subprocess.run(command, capture_output=True, text=True)
        return json.loads(run.stdout) if run.returncode == 0 else run.returncode


def draw(choices):
    """A pin of one op, or of all ops whose names differ from it in numbers alone."""
    choice = random.choice(choices)
    name = re.escape(choice["op"])
    if random.random() < 0.7:
        name = re.sub(r"\d+", r"\\d+", name)
    ways = random.choice([ways for ways in (2, 4, 8, int(devices)) if ways <= int(devices)])
    return f"^{name}$: {random.choice(choice['factors'])['factor']}={ways}, ..."


random.seed(1)
free = plan()
assert isinstance(free, dict), f"{model}: no plan (exit code {free})"
step = free["step_seconds"]
for search in ("dp", "recursive"):
    other = plan("--search", search)
    if isinstance(other, dict):
        assert step <= other["step_seconds"] * (1 + gap), (model, search, step, other["step_seconds"])
choices = [choice for choice in free["stages"][0]["choices"] if choice["factors"]]
planned, drawn = 0, 0
while planned < int(count) and drawn < 6 * int(count):
    drawn += 1
    pin = draw(choices)
    pinned = plan("--pin", pin)
    if not isinstance(pinned, dict):
        assert pinned in (1, 2), (pin, pinned)
        continue
    planned += 1
    assert step <= pinned["step_seconds"] * (1 + gap), (model, pin, step, pinned["step_seconds"])
    assert free["lower_bound_seconds"] <= pinned["step_seconds"] * (1 + 1e-9), (model, pin)
print(f"{planned} pins allow a plan, none is faster")

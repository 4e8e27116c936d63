"""A pin only takes strategies away, so no plan with pins drawn by lot may be faster than the plan without them; and no
other search may find a faster plan than the default one does. A faster plan is reported beyond rounding (1e-9).

random_pins.py APC MODEL DEVICES PINS [FLAG...]  one model, with flags of `apc plan`
random_pins.py APC --all MODELS [PINS [NAME]]    the long mode, by hand: every model of the folder MODELS on 8 devices,
    and on 64 where it has 3 billion parameters or more; 50 draws each; NAME: only models with this in their names

Prints a line for each model and for each plan that is faster than it may be, and ends with 1 where there is one."""

import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROUNDING = 1e-9
WORKERS = 2  # plans at a time
SHORT, LONG = 2, 20  # seconds for `ilp`, which need not end by itself

# Dims that the models of the folder leave open. Models that are not named have none.
GENAI = {"batch_size": 1, "sequence_length": 1, "past_sequence_length": 127, "total_sequence_length": 128}
DIMS = {
    "bert_large": {"batch": 8, "seq": 512},
    "gpt3_6_7b_dyn": {"batch": 8, "seq": 2048},
    "llama3_8b": {"batch": 8, "seq": 2048},
    "syn_genai_llama3_8b_fp16": GENAI,
    "vit_l16": {"batch": 32},
}
LARGE = ["gpt3_175b_loss", "gpt3_6_7b_dyn", "llama3_70b", "llama3_8b", "mixtral_8x7b", "syn_genai_llama3_8b_fp16"]


class Planner:
    """`apc plan` of one model on one number of devices."""

    def __init__(self, apc, model, devices, flags):
        self.model, self.devices = model, int(devices)
        self.command = [apc, "plan", model, "--devices", devices, "--mode", "infer", "--json", "--threads", "1", *flags]

    def plan(self, *more):
        """The plan, or why there is none: nothing fits, or no mesh meets the pins."""
        with tempfile.TemporaryDirectory() as out:
            run = subprocess.run([*self.command, "-o", out, *more], capture_output=True, text=True)
        if run.returncode == 0:
            return json.loads(run.stdout)
        is_answer = run.returncode in (1, 2) and "matches none" not in run.stderr
        assert is_answer, (self.model, more, run.returncode, run.stderr)
        return run.stderr


def draw_pin(dice, choices, devices):
    """A pin of one op, or of all ops whose names differ in numbers alone: one factor or two, others free or not."""
    choice = dice.choice(choices)
    name = re.escape(choice["op"])
    if dice.random() < 0.7:
        name = re.sub("[0-9]+", "[0-9]+", name)  # POSIX: no \\d
    free = [factor for factor in choice["factors"] if not factor["must_be_whole"]]
    factors, left = [], devices
    for factor in dice.sample(free, min(len(free), 2 if dice.random() < 0.3 else 1)):
        ways = dice.choice([ways for ways in (1, 2, 4, 8, devices) if ways <= min(left, factor["size"])])
        factors.append(f"{factor['factor']}={ways}")
        left //= ways
    return f"^{name}$: " + ", ".join(factors + (["..."] if dice.random() < 0.8 else []))


def draw_pins(dice, choices, devices):
    """Flags for one pin or two."""
    count = 2 if dice.random() < 0.3 else 1
    return [text for _ in range(count) for text in ("--pin", draw_pin(dice, choices, devices))]


class Comparison:
    """The plan without pins, held against others; `faults` are plans that are faster than it."""

    def __init__(self, planner):
        self.planner, self.faults = planner, []
        self.free = planner.plan()
        assert isinstance(self.free, dict), f"{planner.model}: {self.free}"

    def compare(self, other, words):
        step, bound, seconds = self.free["step_seconds"], self.free["lower_bound_seconds"], other["step_seconds"]
        if seconds < step * (1 - ROUNDING):
            gap = f"{step} s without it, gap {self.free['gap']:.1e}, {self.free['status']}, {self.free['search']}"
            self.faults.append(f"faster by {1 - seconds / step:.3e}: {words}: {seconds} s; {gap}")
        if seconds < bound * (1 - ROUNDING):
            self.faults.append(f"below the bound of {bound} s: {words}: {seconds} s")

    def compare_searches(self, pool, ilp_seconds):
        """The names of the searches that found a plan."""
        flags = {"dp": [], "recursive": [], "ilp": ["--time-limit", str(ilp_seconds)]}
        plans = pool.map(lambda name: self.planner.plan("--search", name, *flags[name]), flags)
        found = {name: plan for name, plan in zip(flags, plans) if isinstance(plan, dict)}
        for name, plan in found.items():
            self.compare(plan, f"--search {name}")
        return list(found)

    def compare_pins(self, pool, count):
        """The number of draws that allow a plan: `count` of them, unless too many do not."""
        def can_be_cut(choice):
            return any(not factor["must_be_whole"] for factor in choice["factors"])

        choices = [choice for choice in self.free["stages"][0]["choices"] if can_be_cut(choice)]
        dice, planned = random.Random(1), 0
        for _ in range(6 * count // WORKERS):
            draws = [draw_pins(dice, choices, self.planner.devices) for _ in range(min(WORKERS, count - planned))]
            for pins, plan in zip(draws, pool.map(lambda pins: self.planner.plan(*pins), draws)):
                if isinstance(plan, dict):
                    planned += 1
                    self.compare(plan, " ".join(f"'{word}'" for word in pins))
            if planned == count:
                break
        return planned


def check(apc, model, devices, count, flags, ilp_seconds):
    """True when nothing is faster than the plan of the model without pins."""
    with ThreadPoolExecutor(WORKERS) as pool:
        comparison = Comparison(Planner(apc, model, devices, flags))
        searches = comparison.compare_searches(pool, ilp_seconds)
        planned = comparison.compare_pins(pool, count)
    verdict = "one is faster" if comparison.faults else "none is faster"
    others = f"{planned} draws of pins and {', '.join(searches)}"
    print(f"{pathlib.Path(model).stem} on {devices}: {others} have a plan, {verdict}")
    for fault in comparison.faults:
        print("  " + fault)
    sys.stdout.flush()
    return not comparison.faults


def check_all(apc, folder, count=50, name=""):
    holds = True
    for model in sorted(pathlib.Path(folder).glob("*.onnx")):
        flags = [text for dim, size in DIMS.get(model.stem, {}).items() for text in ("--dim", f"{dim}={size}")]
        for devices in ("8", "64") if model.stem in LARGE else ("8",):
            if name in model.stem:
                holds &= check(apc, str(model), devices, int(count), flags, LONG)
    return holds


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    apc, model, *rest = sys.argv[1:]
    if model == "--all":
        sys.exit(not check_all(apc, *rest))
    sys.exit(not check(apc, model, rest[0], int(rest[1]), rest[2:], SHORT))

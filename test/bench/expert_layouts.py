"""expert_layouts.py APC MODEL: the plan of a training step of Llama 3 8B on 64 devices beside 40 layouts that an expert would try, each
costed by `apc evaluate`. Prints a table, the fastest first; exit code 1 where the plan is more than 3 % slower than the best that fits.

python3 test/bench/expert_layouts.py build/bin/apc models/llama3_8b.onnx"""

import itertools
import json
import subprocess
import sys

STEP = "--devices 64 --cluster dgx-h100 --dim seq=8192 --global-batch 128".split()
DEGREES = ["dp=64,tp=1", "dp=32,tp=2", "dp=16,tp=4", "dp=8,tp=8"]
ZERO = ["zero=1", "zero=3"]
WORK = ["mb=1", "mb=1,recompute=norms", "mb=1,recompute=full", "mb=2", "mb=2,recompute=full"]
MOST_BEHIND = 0.03


def run(apc, verb, model, *flags):
    """The plan; a layout that does not fit is printed all the same, with exit code 1."""
    command = [apc, verb, model, *STEP, "--loss", "cross-entropy:logits", *flags, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1) or not done.stdout.startswith("{"):
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    plan = json.loads(done.stdout)
    return plan if "step_seconds" in plan else None


def row(name, plan):
    if plan is None:
        return (float("inf"), False, f"{name:34} no plan")
    total, limit = plan["memory_bytes"]["total"], plan["memory_limit_bytes"]
    text = f"{name:34} {plan['step_seconds']:8.3f} s {total / 2**30:7.1f} GiB{'' if total <= limit else '  does not fit'}"
    return (plan["step_seconds"], total <= limit, text)


def main():
    apc, model = sys.argv[1:3]
    layouts = [",".join(parts) for parts in itertools.product(DEGREES, ZERO, WORK)]
    rows = [row(layout, run(apc, "evaluate", model, "--layout", layout)) for layout in layouts]
    plan = row("the plan", run(apc, "plan", model, "--recompute", "auto", "--time-limit", "300"))
    for _, _, text in sorted(rows + [plan], key=lambda each: each[0]):
        print(text)
    fitting = [seconds for seconds, fits, _ in rows if fits]
    best = min(fitting, default=float("inf"))
    print(f"{len(fitting)} of {len(rows)} layouts fit; the plan takes {plan[0] / best:.3f} of the best" if fitting else "no layout fits")
    sys.exit(0 if plan[1] and plan[0] <= best * (1 + MOST_BEHIND) else 1)


if __name__ == "__main__":
    main()

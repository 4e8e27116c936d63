"""expert_layouts.py APC MODELS [STEP ...]: plans of training steps beside layouts that an expert would try, each costed by `apc evaluate`.
Prints a table for each step, the fastest first; exit code 1 where a plan is more than 3 % slower than the best layout that fits.

python3 test/bench/expert_layouts.py build/bin/apc models gpt3_175b@1024"""

import itertools
import json
import subprocess
import sys

MOST_BEHIND = 0.03


def product(*columns):
    return [",".join(part for part in parts if part) for parts in itertools.product(*columns)]


# Name: file, flags of every command, flags of the plan, layouts.
STEPS = {
    "gpt3_175b@1024": (
        "gpt3_175b_loss.onnx",
        "--devices 1024 --cluster dgx-a100-80gb --global-batch 1536",
        "--pipeline 8",
        product(
            ["dp=32,tp=8,pp=4", "dp=16,tp=8,pp=8", "dp=32,tp=4,pp=8", "dp=8,tp=8,pp=16", "dp=16,tp=4,pp=16"],
            ["chunks=1", "chunks=2", "chunks=3"],
            ["zero=1"],
            ["mb=1", "mb=2"],
            ["recompute=none", "recompute=attention"],
        ),
    ),
    "gpt3_175b@64": (
        "gpt3_175b_loss.onnx",
        "--devices 64 --cluster dgx-a100-80gb --global-batch 64",
        "--pipeline 8",
        product(
            ["dp=1,tp=8,pp=8", "dp=2,tp=8,pp=4", "dp=2,tp=4,pp=8", "dp=1,tp=4,pp=16", "dp=4,tp=8,pp=2"],
            ["chunks=1", "chunks=2", "chunks=3"],
            ["zero=1"],
            ["mb=1", "mb=2"],
            ["recompute=attention", "recompute=full"],
        ),
    ),
}


def run(apc, verb, flags):
    """The plan; a layout that does not fit is printed all the same, with exit code 1."""
    command = [apc, verb, *flags, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        return done.stderr.strip()
    plan = json.loads(done.stdout) if done.stdout.startswith("{") else {}
    return plan if "step_seconds" in plan else done.stderr.strip()


def row(name, plan):
    if isinstance(plan, str):
        return (float("inf"), False, f"{name:56} {plan}")
    total, limit = plan["memory_bytes"]["total"], plan["memory_limit_bytes"]
    text = f"{name:56} {plan['step_seconds']:8.3f} s {total / 2**30:7.1f} GiB{'' if total <= limit else '  does not fit'}"
    return (plan["step_seconds"], total <= limit, text)


def compare(apc, models, step):
    """True where the plan is not far behind the best layout."""
    file, flags, of_plan, layouts = STEPS[step]
    common = [f"{models}/{file}", *flags.split()]
    rows = [row(layout, run(apc, "evaluate", [*common, "--layout", layout])) for layout in layouts]
    plan = row("the plan", run(apc, "plan", [*common, *of_plan.split()]))
    print(f"{step}: {flags}; the plan with {of_plan}")
    for _, _, text in sorted(rows + [plan], key=lambda each: each[0]):
        print(text)
    fitting = [seconds for seconds, fits, _ in rows if fits]
    best = min(fitting, default=float("inf"))
    print(f"{len(fitting)} of {len(rows)} layouts fit; the plan takes {plan[0] / best:.3f} of the best" if fitting else "no layout fits")
    return plan[1] and plan[0] <= best * (1 + MOST_BEHIND)


def main():
    apc, models = sys.argv[1:3]
    outcomes = [compare(apc, models, step) for step in sys.argv[3:] or STEPS]
    sys.exit(0 if all(outcomes) else 1)


if __name__ == "__main__":
    main()

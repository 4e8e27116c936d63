"""Plans that the tests of exports share, and the command."""

import json
import pathlib
import subprocess
import sys

APC, MODELS, OUT = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])

# A layout, its model, and what else is given. Each layout holds what one target or another cannot say.
LAYOUTS = {
    "whole": ("gpt", "dp=2,tp=2,mb=1,zero=0", []),
    "zero3": ("gpt", "dp=3,tp=2,mb=2,zero=3,recompute=full", []),
    "context": ("gpt", "dp=2,cp=5,mb=1,zero=2", []),
    "pipeline": ("gpt", "dp=2,tp=2,pp=2,mb=1,zero=1", ["--global-batch", "12"]),
    "sharded": ("gpt", "dp=2,tp=2,pp=2,mb=1,zero=3", ["--global-batch", "12"]),
    "split": ("gpt", "dp=2,pp=2,mb=1,zero=1,schedule=zb-h1", ["--global-batch", "12"]),
    "experts": ("moe", "dp=5,ep=5,pp=2,mb=1,zero=1", ["--global-batch", "20"]),
    "whole_experts": ("moe", "dp=1,tp=5,ep=5,etp=1,pp=2,mb=1,zero=0", ["--global-batch", "20"]),
    "seats": ("moe", "dp=1,tp=10,ep=5,etp=1,mb=1,zero=0", ["--global-batch", "20"]),
    "copied_experts": ("moe", "dp=2,tp=2,etp=1,mb=1,zero=1", ["--global-batch", "20"]),
    "copies": ("gpt", "dp=2,tp=2,mb=3,copies=3", []),
    "groups": ("gpt", "dp=6,mb=1,zero=3,shard=3", []),
}


def run(*command):
    return subprocess.run([APC, *map(str, command)], capture_output=True, text=True)


def plan_of(name):
    model, layout, extra = LAYOUTS[name]
    folder = OUT / name
    done = run("evaluate", MODELS / model / "model.onnx", "--loss", "sum", "--layout", layout, "--cluster", "cpu-local", "-o", folder, *extra)
    assert done.returncode == 0, done.stderr
    return folder / "plan.json"


def export(plan, target, *flags):
    """The document, or the reasons of a refusal."""
    done = run("export", plan, "--to", target, "--json", *flags)
    assert done.returncode in (0, 1), done.stderr
    return (json.loads(done.stdout), None) if done.returncode == 0 else (None, done.stderr)


def other_plans():
    """Plans for refusals alone."""
    plans = {}
    for name, model, *flags in (("infer", "gpt", "--mode", "infer", "--layout", "dp=2,tp=2"),
                                ("resnet", "resnet", "--loss", "sum", "--layout", "dp=2"),
                                ("uneven", "gpt", "--loss", "sum", "--layout", "dp=4,zero=1", "--global-batch", "6"),
                                ("cut_experts", "moe", "--loss", "sum", "--layout", "dp=5,tp=2,ep=5,mb=1,zero=3", "--global-batch", "20"),
                                ("overlap", "gpt", "--loss", "sum", "--layout", "dp=2,zero=1", "--overlap"),
                                ("pairs", "llama", "--loss", "sum", "--layout", "dp=1,pp=2,chunks=2,mb=1,schedule=dualpipev", "--global-batch", "4")):
        done = run("evaluate", MODELS / model / "model.onnx", "--cluster", "cpu-local", "-o", OUT / name, *flags)
        assert done.returncode == 0, done.stderr
        plans[name] = OUT / name / "plan.json"
    return plans


def expect(name, what, got, wanted):
    assert got == wanted, f"{name}: {what} is {got!r}, expected {wanted!r}"


def check_targets(targets, plans, others):
    """By target: its reader, given the name of a plan, the plan and the document; plans that it refuses, and plans that --strict refuses,
    with a part of the reason."""
    for target, (read, refusals, strict) in targets.items():
        count = 0
        for name, plan in {**plans, **others}.items():
            if name in refusals:
                document, reasons = export(plan, target)
                assert document is None and refusals[name] in reasons, f"{target}: {name}: {reasons}"
            elif name in plans:
                document, reasons = export(plan, target)
                assert document, f"{target}: {name}: {reasons}"
                read(name, json.loads(plan.read_text()), document)
                count += 1
        for name, reason in strict.items():
            document, reasons = export({**plans, **others}[name], target, "--strict")
            assert document is None and reason in reasons, f"{target}: {name}: {reasons}"
        print(f"{target}: {count} plans read back, {len(refusals)} refused, {len(strict)} with --strict")

"""same_bytes.py --plans APC MODELS: plans some models on one thread and on two; the documents must be equal byte for byte, but for
`timing_seconds`.
same_bytes.py --answers PROGRAM TOOLS: runs PROGRAM on one thread and on two, and its twins of the sanitized build and of g++'s build
on one; all four must print the same bytes."""

import re
import subprocess
import sys
from pathlib import Path

TIMING = re.compile(rb',\n "timing_seconds": \{[^}]*\}')
INFER = ["--mode", "infer"]
REQUESTS = [
    ("tiny/gpt/model.onnx", [*INFER, "--devices", "12", "--cluster", "cpu-local"]),
    ("tiny/moe/model.onnx", [*INFER, "--devices", "16", "--cluster", "dgx-h100", "--search", "dp"]),
    ("tiny/t5/model.onnx", [*INFER, "--devices", "8", "--cluster", "dgx-h100", "--search", "recursive"]),
    ("vit_l16.onnx", [*INFER, "--devices", "16", "--dim", "batch=64"]),
    ("gpt3_175b_loss.onnx", [*INFER, "--devices", "64", "--mesh-axes", "2"]),
    ("tiny/gpt/model.onnx", ["--mode", "train", "--loss", "sum", "--devices", "4", "--cluster", "cpu-local", "--global-batch", "24"]),
    ("tiny/llama/model.onnx", ["--mode", "train", "--loss", "sum", "--devices", "4", "--cluster", "cpu-local", "--pipeline", "2",
                               "--global-batch", "16"]),
]


def output(command):
    run = subprocess.run(command, stdout=subprocess.PIPE, timeout=900, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(command)}: exit code {run.returncode}")
    return run.stdout


def first_difference(name, one, other):
    """Nothing where they are equal."""
    if one == other:
        return None
    pairs = zip(one.splitlines(), other.splitlines())
    number, pair = next(((n, p) for n, p in enumerate(pairs, 1) if p[0] != p[1]), (0, (b"", b"one is longer")))
    return f"{name}: line {number}: {pair[0][:300]!r} and {pair[1][:300]!r}"


def plans(apc, models):
    for model, flags in REQUESTS:
        command = [apc, "plan", f"{models}/{model}", *flags, "--json", "--time-limit", "600", "--threads"]
        texts = [output(command + [threads]) for threads in ("1", "2")]
        without = [TIMING.sub(b"", text) for text in texts]
        if without == texts or len(texts[0]) < 1000:
            sys.exit(f"{model}: no plan with a timing: {texts[0][-300:]!r}")
        yield f"{model} {' '.join(flags)}, 1 and 2 threads", *without


def answers(program, tools):
    fuzz, build = f"{tools}/fuzz.sh", f"{tools}/build.sh"
    one = output([program, "1"])
    if one.count(b"\n") < 1000:
        sys.exit(f"{program}: only {len(one)} bytes of answers")
    yield "release build, 1 and 2 threads", one, output([program, "2"])
    yield "release build and sanitized build", one, output([fuzz, "--answers"])
    output([build, "gcc", "APCAnswers"])
    yield "release build and build of g++", one, output([str(Path(tools).parent / "build-gcc/bin/APCAnswers"), "1"])


def main():
    cases = (plans if sys.argv[1] == "--plans" else answers)(*sys.argv[2:])
    failures = 0
    for case in cases:
        difference = first_difference(*case)
        failures += difference is not None
        print(difference or f"{case[0]}: {len(case[1])} equal bytes")
    sys.exit(1 if failures else 0)


main()

"""Programs in Shardy's dialect, read by jaxlib's parser: its verifiers work out the sharding behind each collective anew.

sdy_programs.py APC MODELS [SHARED] [NAME...]   MODELS: the models of this repository; SHARED: a folder of more models,
    left out where it is not there; NAME: only cases with this in their names

A program must pass as it is, and must fail once a collective claims another sharding. Plans that Shardy has no words for
are refused by name; those listed as refused must be. Ends with 77 where jaxlib is missing."""

import pathlib
import re
import subprocess
import sys
import tempfile

try:
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
except ImportError as missing:
    print(f"skipped: {sys.executable} has no {missing.name}; tools/setup.sh --runtimes installs it")
    sys.exit(77)

QUICK = ["--cluster", "dgx-a100-80gb", "--cluster-set", "device.memory_bytes=1e13"]
TEXT = ["--mode", "infer", "--dim", "batch=8", "--dim", "seq=1024"]
SHORT = ["--mode", "infer", "--dim", "batch=8", "--dim", "seq=512"]  # BERT has 512 positions
IMAGES = ["--mode", "infer", "--dim", "batch=64"]
LENGTHS = ["batch_size=8", "sequence_length=1024", "total_sequence_length=1024", "past_sequence_length=0"]
WORK = "device.peak_flops_per_second"
CUT = ["--cluster-set", f"{WORK}.f16=1e9", "--cluster-set", f"{WORK}.tf32=1e9", "--cluster-set", f"{WORK}.bf16=1e9"]
LOGITS = ["--loss", "cross-entropy:logits"]
CASES = {  # name: model, devices, flags; the number of devices of a layout is its own
    "bert": ("tiny/training/bert/model.onnx", 0, [*LOGITS, "--layout", "dp=2,zero=0"]),
    "gpt": ("tiny/training/gpt/model.onnx", 0, [*LOGITS, "--layout", "dp=2,zero=3"]),
    "gpt stages": ("tiny/training/gpt/model.onnx", 4, [*LOGITS, "--pipeline", "2"]),
    "bert_large stages": ("bert_large.onnx", 4, [*SHORT[2:], *LOGITS, "--pipeline", "2"]),
    "bert_large": ("bert_large.onnx", 8, SHORT + CUT),
    "bert stages": ("tiny/training/bert/model.onnx", 2, [*LOGITS, "--pipeline", "2"]),
    "bert_large by data": ("bert_large.onnx", 0, [*SHORT[2:], *LOGITS, "--layout", "dp=8,zero=0"]),
    "bert_large trained": ("bert_large.onnx", 0, [*SHORT[2:], *LOGITS, "--layout", "dp=4,tp=2,zero=0"]),
    "llama3_8b": ("llama3_8b.onnx", 8, TEXT + CUT),
    "llama3_8b trained": ("llama3_8b.onnx", 0, [*TEXT[2:], *LOGITS, "--layout", "dp=2,tp=4,zero=1"]),
    "llama3_70b": ("llama3_70b.onnx", 16, TEXT),
    "llama3_70b trained": ("llama3_70b.onnx", 0, [*LOGITS, "--layout", "tp=8"]),
    "mixtral_8x7b": ("mixtral_8x7b.onnx", 8, ["--mode", "infer"]),
    "mixtral_8x7b trained": ("mixtral_8x7b.onnx", 0, [*LOGITS, "--layout", "dp=8,ep=8"]),
    "resnet50": ("resnet50.onnx", 8, IMAGES),
    "resnet50 trained": ("resnet50.onnx", 0, [*IMAGES[2:], "--loss", "cross-entropy", "--layout", "dp=8,zero=1"]),
    "vit_l16": ("vit_l16.onnx", 8, IMAGES + CUT),
    "vit_l16 trained": ("vit_l16.onnx", 0, [*IMAGES[2:], "--loss", "cross-entropy", "--layout", "dp=8,zero=1"]),
    "gpt3_6_7b": ("gpt3_6_7b_dyn.onnx", 8, TEXT),
    "gpt3_6_7b parts": ("gpt3_6_7b_dyn.onnx", 8, [*TEXT, "--pin", "c_attn/MatMul$: n=8"]),
    "gpt3_6_7b trained": ("gpt3_6_7b_dyn.onnx", 0, [*TEXT[2:], "--layout", "dp=2,tp=4,zero=1"]),
    "gpt3_1_3b_train_step": ("gpt3_1_3b_train_step.onnx", 0, ["--layout", "dp=2,tp=2,zero=0"]),
    "gpt2_xl": ("shared/gpt2_xl.onnx", 8, TEXT + CUT),
    "syn_functions_gpt2_xl": ("syn_functions_gpt2_xl_opset18.onnx", 8, ["--mode", "infer"]),
    "syn_functions_gpt2_xl trained": ("syn_functions_gpt2_xl_opset18.onnx", 0, ["--loss", "cross-entropy", "--layout", "dp=8,zero=0"]),
    "syn_genai_llama3_8b": ("syn_genai_llama3_8b_fp16.onnx", 8,
                            ["--mode", "infer", *(f"--dim={size}" for size in LENGTHS)]),
    "syn_genai_llama3_8b trained": ("syn_genai_llama3_8b_fp16.onnx", 0,
                                    [*LOGITS, *(f"--dim={size}" for size in LENGTHS), "--layout", "dp=2,tp=4,zero=1"]),
    "gpt3_175b": ("gpt3_175b_loss.onnx", 0, ["--mode", "infer", "--layout", "dp=4"]),
    "gpt3_175b trained": ("gpt3_175b_loss.onnx", 0, ["--layout", "dp=4,zero=1"]),
    "gpt3_175b cut": ("gpt3_175b_loss.onnx", 0, ["--mode", "infer", "--layout", "dp=2,tp=8"]),
}
REFUSED = {  # for a reason that the message says
    "gpt stages": "dim 0 of 101 over 2 devices",
    "gpt3_175b cut": "dim 0 of 50257 over 8 devices",
}


class Refused(Exception):
    pass


def call(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        message = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1]
        raise Refused(message) if "format 'sdy' cannot say" in message else RuntimeError(message)


def verify(text):
    """The reason why a program is wrong; none where it is right."""
    with mlir.make_ir_context():
        try:
            ir.Module.parse(text).operation.verify()
        except ir.MLIRError as error:
            return error.error_diagnostics[0].message if error.error_diagnostics else str(error)
    return None


def broken(text):
    """The program with one collective that claims a result whose dims are whole; none where no claim would be wrong."""
    for line in text.splitlines():
        found = re.search(r"sdy\.(all_gather|all_slice|all_to_all|reduce_scatter) .*out_sharding=(<@mesh, \[.*?\][,>])", line)
        whole = found and re.sub(r'\{("[^}]*")\}', "{}", found.group(2))
        if found and whole != found.group(2):
            return text.replace(line, line.replace(found.group(2), whole), 1)
    return None


def check(apc, model, devices, flags, folder):
    verb = ["plan", model, "--devices", devices, "--time-limit", "2"] if devices else ["evaluate", model]
    call([apc, *verb, *QUICK, *flags, "-o", folder])
    call([apc, "emit", folder / "plan.json", "--format", "sdy", "-o", folder / "program"])
    collectives, falsified = 0, 0
    for path in sorted((folder / "program").rglob("program.mlir")):
        text = path.read_text()
        if reason := verify(text):
            raise RuntimeError(f"{path.parent.name}: {reason}")
        collectives += len(re.findall(r"= sdy\.", text))
        if wrong := broken(text):
            falsified += 1
            if not verify(wrong):
                raise RuntimeError(f"{path.parent.name}: a wrong sharding passes")
    return f"{collectives} collectives" + (", a wrong one is found" if falsified else "")


def main():
    apc, models = sys.argv[1], pathlib.Path(sys.argv[2])
    shared = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else pathlib.Path()
    counts = {"passed": 0, "refused": 0, "failed": 0}
    for title, (model, devices, flags) in CASES.items():
        if sys.argv[4:] and not any(name in title for name in sys.argv[4:]):
            continue
        path = shared / model.removeprefix("shared/") if model.startswith("shared/") else models / model
        if not path.exists():
            print(f"left out: {title}: no {path}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcome, message = "passed", check(apc, path, devices, flags, pathlib.Path(folder))
            except Refused as reason:
                outcome, message = "refused" if REFUSED.get(title, "-") in str(reason) else "failed", reason
            except RuntimeError as error:
                outcome, message = "failed", error
        if outcome == "passed" and title in REFUSED:
            outcome, message = "failed", "is listed as refused"
        print(f"{outcome}: {title}: {message}", flush=True)
        counts[outcome] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    sys.exit(1 if counts["failed"] or not counts["passed"] else 0)


if __name__ == "__main__":
    main()

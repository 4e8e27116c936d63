"""ONNX programs, run by ONNX Runtime, against ONNX Runtime on the whole models and PyTorch's training.

onnx_programs.py APC MODELS PACKAGES FOLDER [--all] [NAME...]   MODELS: the folder of tiny models; PACKAGES: a list for
    pip; FOLDER: of the virtual environment that is made of it; --all: every case; NAME: only cases with this in them

Links are fast and devices slow here, so that plans cut what they can. Each model that a program holds passes ONNX's
checker. Ends with 77 where the packages cannot be had."""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "Tools"))
from environment import python_of

if pathlib.Path(sys.prefix).resolve() != pathlib.Path(sys.argv[4]).resolve():
    packages = [line for line in pathlib.Path(sys.argv[3]).read_text().splitlines() if line and not line.startswith("#")]
    python = python_of(pathlib.Path(sys.argv[4]), packages)
    os.execv(python, [str(python), "-B", *sys.argv])

import numpy
import onnx
import onnx.numpy_helper

from onnx_made_models import make_features, make_keys, make_older, make_probit
from training_cases import KINDS as TRAINING, NO_PLAN, accumulates, plan_command, training_flags

TOLERANCE = 1e-4
MODELS = ["bert", "dlrm", "gpt", "llama", "mixer", "moe", "resnet", "t5", "tts", "unet", "vit"]
KINDS = {"infer": ["--mode", "infer"], **{kind: TRAINING[kind] for kind in ("cut", "zero1", "zero3", "1f1b")}}
FEW = {"gpt": [("1f1b", 2), ("zero3", 4)], "resnet": [("cut", 2)], "llama": [("infer", 2), ("cut", 4)],
       "unet": [("cut", 2)]}  # and all models on 4


def cases(everything):
    """Model, kind and devices; a few of all, in which each model stands."""
    listed = []
    for place, model in enumerate(MODELS):
        for kind in KINDS:
            if model == "resnet" and accumulates(kind):
                continue  # accumulation changes the statistics of its normalisation
            for devices in (2, 4):
                is_chosen = (kind, devices) in [("infer", 4), *FEW.get(model, [])]
                if everything or is_chosen:
                    listed.append((model, kind, devices))
    return listed


def read_tensor(path):
    tensor = onnx.TensorProto()
    tensor.ParseFromString(path.read_bytes())
    return tensor.name, onnx.numpy_helper.to_array(tensor)


class Refused(Exception):
    pass


def call(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        message = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1]
        raise Refused(message) if any(reason in message for reason in NO_PLAN) else RuntimeError(message)
    return done.stdout


def emit(apc, model, devices, flags, folder):
    call([*plan_command(apc, model, devices, flags), "-o", folder])
    call([apc, "emit", folder / "plan.json", "--format", "onnx", "--weights", "-o", folder / "program"])
    for segment in (folder / "program").rglob("*.onnx"):
        onnx.checker.check_model(segment, full_check=True)
    return json.loads((folder / "program" / "manifest.json").read_text())


def run(folder, arguments):
    return call([sys.executable, "-B", folder / "program" / "run.py", *arguments])


def difference(found, wanted):
    """The largest difference relative to the largest element; infinite where something is not a number."""
    if found.shape != wanted.shape or not numpy.isfinite(found).all():
        return float("inf")
    return float(abs(found - wanted).max() / max(abs(wanted).max(), 1e-12)) if wanted.size else 0.0


def check_inference(apc, folder, models, model, kind, devices):
    import onnxruntime
    source = models / model
    manifest = emit(apc, source / "model.onnx", devices, KINDS[kind], folder)
    inputs = [read_tensor(path)[1] for path in sorted((source / "test_data_set_0").glob("input_*.pb"))]
    session = onnxruntime.InferenceSession(source / "model.onnx")
    given = {value.name: tensor for value, tensor in zip(session.get_inputs(), inputs)}
    numpy.savez(folder / "inputs.npz", **given)
    run(folder, ["--inputs", folder / "inputs.npz", "--check", "--save", folder / "result.npz"])
    results = numpy.load(folder / "result.npz")
    names = [value.name for value in session.get_outputs()]
    wanted = dict(zip(names, session.run(names, given)))
    return max(difference(results[entry["name"]], wanted[entry["name"]]) for entry in manifest["outputs"])


def check_training(apc, folder, models, model, kind, devices):
    source = models / "training" / model
    case = json.loads((source / "train.json").read_text())
    emit(apc, source / "model.onnx", devices, training_flags(case) + KINDS[kind], folder)
    graph = onnx.load(source / "model.onnx", load_external_data=False).graph
    known = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in known]
    target = "target" if "target" not in names else names[-1]
    files = []
    for step in range(case["steps"]):
        given = {}
        for path in sorted((source / f"step_{step}").glob("input_*.pb")):
            place = int(path.stem.split("_")[1])
            given[names[place] if place < len(names) else target] = read_tensor(path)[1]
        files.append(folder / f"step-{step}.npz")
        numpy.savez(files[-1], **given)
    printed = run(folder, ["--inputs", *files, "--steps", case["steps"], "--learning-rate", case["learning_rate"],
                           "--save", folder / "result.npz"])
    losses = [float(line.split()[-1]) for line in printed.splitlines() if line.startswith("step ")]
    worst = difference(numpy.array(losses), numpy.array(json.loads((source / "expected" / "loss.json").read_text())))
    results = numpy.load(folder / "result.npz")
    for path in (source / "expected" / "parameters").iterdir():
        name, values = read_tensor(path)
        worst = max(worst, difference(results[name], values))
    return worst


def check_faults(apc, folder, models):
    """--check fails where results are not numbers, and where one is missing; the outcome is no difference then."""
    manifest = emit(apc, models / "mixer" / "model.onnx", 2, ["--mode", "infer"], folder)
    program, arguments = folder / "program", ["--inputs", folder / "inputs.npz", "--check"]
    numpy.savez(folder / "inputs.npz", **{entry["name"]: numpy.ones(entry["shape"], numpy.float32) for entry in manifest["inputs"]})
    run(folder, arguments)
    kept = (program / "manifest.json").read_text()
    for path in program.rglob("*.safetensors"):
        data = path.read_bytes()
        begin = 8 + int.from_bytes(data[:8], "little")
        path.write_bytes(data[:begin] + b"\xff" * (len(data) - begin))
    worst = 0.0
    for change in (lambda text: text, lambda text: text.replace(f'"name":"{manifest["outputs"][0]["name"]}"', '"name":"another"')):
        (program / "manifest.json").write_text(change(kept))
        try:
            run(folder, arguments)
            worst = float("inf")
        except RuntimeError as error:
            worst = worst if str(error).startswith("check: ") else float("inf")
    return worst


def check_split_keys(apc, folder, models):
    """The gradients of an attention whose keys are split are those of one device: weights after a step are equal."""
    make_keys(folder)
    inputs = {name: read_tensor(folder / "keys" / "test_data_set_0" / f"input_{index}.pb")[1] for index, name in enumerate("xc")}
    numpy.savez(folder / "inputs.npz", **inputs)
    found = []
    for devices, flags in ((1, []), (4, ["--pin", "^attention$: t=4"])):
        own = folder / str(devices)
        emit(apc, folder / "keys" / "model.onnx", devices, ["--loss", "sum", "--optimizer", "sgd", *flags], own)
        assert flags == [] or "softmax_attention_by_key_grad" in (own / "plan.json").read_text()
        run(own, ["--inputs", folder / "inputs.npz", "--learning-rate", "1", "--save", own / "result.npz"])
        found.append(numpy.load(own / "result.npz"))
    return max(difference(found[1][name], found[0][name]) for name in ("wq", "wk", "wv"))


def check_recurrent(apc, folder, models):
    """Recurrent operators and their gradients, and that of Col2Im, on one device and on two that share the directions, against
    PyTorch. ONNX Runtime's own LSTM is 4e-4 off with activations other than the usual ones."""
    worst, maker = 0.0, pathlib.Path(__file__).with_name("torch_kernels.py")
    call(["/usr/bin/python3", "-B", maker, apc, "--into", folder / "cases", "rnn", "gru", "lstm", "gradient-col2im"])
    for source in sorted(path.parent for path in (folder / "cases").glob("*/model.onnx")):
        model, data = onnx.load(source / "model.onnx"), source / "test_data_set_0"
        names, wanted = ([value.name for value in values] for values in (model.graph.input, model.graph.output))
        given = {name: read_tensor(data / f"input_{index}.pb")[1] for index, name in enumerate(names)}
        model.graph.initializer.extend(onnx.numpy_helper.from_array(given[name], name) for name in names[1:])
        del model.graph.input[1:]
        onnx.save(model, folder / f"{source.name}.onnx")
        numpy.savez(folder / "inputs.npz", **{names[0]: given[names[0]]})
        layouts = [] if "lstm-activations" in source.name else [(1, [])]
        if "both" in source.name or not layouts:
            layouts.append((2, ["--pin", "^(RNN|GRU|LSTM)$: d=2, ..."]))
        for devices, flags in layouts:
            own = folder / f"{source.name}-{devices}"
            emit(apc, folder / f"{source.name}.onnx", devices, ["--mode", "infer", *flags], own)
            run(own, ["--inputs", folder / "inputs.npz", "--save", own / "result.npz"])
            results = numpy.load(own / "result.npz")
            for index, name in enumerate(wanted):
                worst = max(worst, difference(results[name], read_tensor(data / f"output_{index}.pb")[1]))
    return worst


def check_features(apc, folder, models, devices):
    """Trees, tables and linear models of ai.onnx.ml, in the newest version of its operators."""
    make_features(folder)
    return check_inference(apc, folder / "program", folder, "features", "infer", devices)


def check_older(apc, folder, models, devices):
    """Operators of older versions, which the programs' models have in the newest one's way."""
    make_older(folder)
    return max(check_inference(apc, folder / f"{model}-program", folder, model, "infer", devices) for model in ("split", "upsample"))


def check_probit(apc, folder, models):
    """Of probabilities, against Python's inverse of the normal distribution."""
    make_probit(folder)
    own, (_, given) = folder / "own", read_tensor(folder / "probit" / "test_data_set_0" / "input_0.pb")
    emit(apc, folder / "probit" / "model.onnx", 1, ["--mode", "infer"], own)
    numpy.savez(folder / "inputs.npz", x=given)
    run(own, ["--inputs", folder / "inputs.npz", "--save", own / "result.npz"])
    wanted = [statistics.NormalDist().inv_cdf(float(probability)) for probability in given.flat]
    return difference(numpy.load(own / "result.npz")["y"][:, 1], numpy.array(wanted))


def main():
    apc, models = sys.argv[1], pathlib.Path(sys.argv[2])
    names = [name for name in sys.argv[5:] if name != "--all"]
    counts = {"ran": 0, "refused": 0, "failed": 0}
    listed = [(f"{model} {kind} on {devices}", check_inference if kind == "infer" else check_training, (model, kind, devices))
              for model, kind, devices in cases("--all" in sys.argv)]
    listed += [("faults that --check tells", check_faults, ()), ("keys that are split", check_split_keys, ()),
               ("recurrent operators", check_recurrent, ()),
               ("features on 1", check_features, (1,)), ("features on 4", check_features, (4,)), ("probit", check_probit, ()),
               ("older operators on 1", check_older, (1,)), ("older operators on 2", check_older, (2,))]
    for title, run_case, case in listed:
        if names and not any(name in title for name in names):
            continue
        with tempfile.TemporaryDirectory() as folder:
            try:
                worst = run_case(apc, pathlib.Path(folder), models, *case)
                outcome = "ran" if worst <= TOLERANCE else "failed"
                print(f"{outcome}: {title}: differs by {worst:.1e}", flush=True)
            except Refused as reason:
                outcome = "refused"
                print(f"refused: {title}: {reason}", flush=True)
            except (RuntimeError, onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
                outcome = "failed"
                print(f"failed: {title}: {error}", flush=True)
            counts[outcome] += 1
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    sys.exit(1 if counts["failed"] or not counts["ran"] else 0)


if __name__ == "__main__":
    main()

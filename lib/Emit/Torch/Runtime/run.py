"""Runs the program of a plan, one process a rank: python3 run.py --inputs batch.npz --steps 3

All processes are started on this machine, or, on several, by torchrun. Each input file has the arrays of one step by the
names of the inputs (numpy.savez); steps take the files in turn.
"""
import argparse
import importlib.util
import math
import os
import queue
import socket
import sys
import threading
from pathlib import Path

import numpy
import torch
import torch.distributed as dist
import torch.multiprocessing

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from collectives import Rank, Sums, Weights, make_groups
from loading import assemble, batch_of, load_weights, load_whole_weights, split_inputs
from manifest import add_numbers, mesh_of, read_manifest
from saving import save_checkpoint
from transfers import Mail, Post


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", nargs="+", required=True, metavar="FILE.npz", help="the inputs of each step")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--first-step", type=int, help="the number of the first step, which Adam counts; 1, or that behind "
                        "the checkpoint's")
    parser.add_argument("--load", metavar="DIR", help="weights and states: a checkpoint, or a folder of 'apc reshard'")
    parser.add_argument("--save-checkpoint", metavar="DIR", help="weights and states after the last step, each rank its "
                        "own; a new folder")
    parser.add_argument("--check", action="store_true", help="also run everything on one device, by rank 0, and compare")
    parser.add_argument("--save", metavar="FILE.npz", help="results of the last step and weights, whole, by rank 0")
    return parser.parse_args()


class Stage:
    """A stage of the program on this process: what it runs, holds and keeps from part to part."""

    def __init__(self, number, folder, manifest, first, device, groups, mail, saved):
        self.manifest = manifest
        self.program = load_program(folder, number)
        self.rank = Rank(mesh_of(manifest), dist.get_rank() - first, first, device, groups)
        self.rank.constants = self.program.make_constants(device)
        self.rank.mail = mail
        self.weights = Weights(load_weights(folder, manifest, self.rank.number, device, saved))

    def begin_step(self, given):
        self.rank.sums, self.kept, self.done = Sums(), {}, {}
        self.inputs = split_inputs(given, self.manifest, self.rank.number, self.rank.device)

    def act(self, kind, micro_batch):
        """F: the forward part; B: all behind it; I and W: the parts of B."""
        parts = self.program.PARTS
        first, last = {"F": (0, 1), "B": (1, len(parts)), "I": (1, 2), "W": (2, 3), "all": (0, len(parts))}[kind]
        self.rank.mail.micro_batch = micro_batch
        for index in range(first, last):
            values = self.inputs[micro_batch] if index == 0 else self.kept.pop(micro_batch)
            values = parts[index](self.rank, self.weights, *values)
            if index + 1 == len(parts):
                self.done = values
            else:
                self.kept[micro_batch] = values

    def update(self):
        self.results = self.done
        if self.program.UPDATE:
            self.results = self.program.UPDATE(self.rank, self.weights, *self.done)


class OneDevice:
    """The model on one device, which starts with the same weights."""

    def __init__(self, manifest, device, loaded):
        self.program = load_program(HERE / "one_device", "one_device")
        self.rank = Rank({}, 0, device=device)
        self.rank.constants = self.program.make_constants(device)
        self.manifest = manifest
        self.entries, self.weights, self.states = {}, Weights(), set()
        for index, (folder, part, _) in enumerate(read_stages(manifest)):
            self.entries.update({entry["name"]: entry for entry in part["inputs"]})
            self.states |= {entry["name"] for entry in part["parameters"] if entry.get("begins")}
            self.weights.update(load_whole_weights(folder, part, device, saved_stage(loaded, index)))

    def run_step(self, given):
        values, self.rank.sums = (), Sums()
        for index in range(self.manifest.get("micro_batches", 1)):
            values = [batch_of(given, self.entries[name], self.manifest, index).to(self.rank.device)
                      for name in self.program.INPUTS]
            for part in self.program.PARTS:
                values = part(self.rank, self.weights, *values)
        self.results = self.program.UPDATE(self.rank, self.weights, *values) if self.program.UPDATE else values

    def compare(self, whole):
        """Prints how far results and weights are from those of this device; ends the process where they are too far.
        States of the optimizer are not compared, and weights may differ more: where a gradient is zero but for rounding,
        rounding is what states hold and what Adam steps by."""
        results = distance(self.results, whole)
        weights = distance({name: self.weights[name] for name in self.weights if name not in self.states}, whole)
        print(f"check: results differ from those of one device by {results:.1e} at most, weights by {weights:.1e}")
        is_short = any(tensor.is_floating_point() and tensor.element_size() < 4 for tensor in self.weights.values())
        if not (results <= (5e-2 if is_short else 1e-3) and weights <= (1e-1 if is_short else 1e-2)):
            sys.exit(1)


def distance(tensors, others):
    """The largest difference of tensors of one name, relative to the largest element. A missing tensor ends the process."""
    missing = sorted(set(tensors) - set(others))
    if missing:
        sys.exit(f"check: one device has {', '.join(missing)}, which the program's ranks have not")
    return max((difference(others[name].double(), tensor.cpu()) for name, tensor in tensors.items()), default=0.0)


def difference(found, wanted):
    """The largest difference of elements, infinite where something is not a number, or infinite in one tensor alone."""
    if found.shape != wanted.shape:
        return math.inf
    if not wanted.numel():
        return 0.0
    wanted, is_float = wanted.double(), wanted.is_floating_point()
    scale = torch.where(wanted.isfinite(), wanted.abs(), torch.zeros_like(wanted)).max().clamp(min=1e-12).item()
    away = torch.where(found == wanted, torch.zeros_like(wanted), (found - wanted).abs())
    return torch.nan_to_num(away, nan=math.inf, posinf=math.inf).max().item() / (scale if is_float else 1)


def load_program(folder, number):
    """The module of a stage, beside which its own `ops` may stand."""
    sys.path.insert(0, str(folder))
    sys.modules.pop("ops", None)
    spec = importlib.util.spec_from_file_location(f"program_{number}", folder / "program.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    sys.path.pop(0)
    return program


def read_stages(manifest):
    """Folder, manifest and first rank of each stage."""
    if "stages" not in manifest:
        return [(HERE, manifest, 0)]
    return [(HERE / stage["folder"], read_manifest(HERE / stage["folder"]), stage["first_rank"])
            for stage in manifest["stages"]]


def read_checkpoint(folder, manifest):
    """The folder and manifest of each stage of a checkpoint, and the steps behind it."""
    if folder is None:
        return None, 0
    above = read_manifest(folder)
    names = [stage["folder"] for stage in above["stages"]] if "stages" in above else ["."]
    if above["model"]["sha256"] != manifest["model"]["sha256"]:
        sys.exit(f"--load {folder}: it is of another model, {above['model']['path']}")
    if len(names) != len(manifest.get("stages", ["."])):
        sys.exit(f"--load {folder}: it has {len(names)} stages, the program {len(manifest.get('stages', ['.']))}; 'apc reshard "
                 f"{folder} {HERE} -o DIR' moves them")
    return [(Path(folder) / name, read_manifest(Path(folder) / name)) for name in names], above.get("steps", 0)


def saved_stage(loaded, index):
    return loaded[index] if loaded else None


def make_stages(manifest, post, loaded):
    """The stages of this process, by number, and its list of actions."""
    stages, own = read_stages(manifest), {}
    number = dist.get_rank()
    for index, (folder, part, first) in enumerate(stages):
        groups = make_groups(mesh_of(part), first, load_program(folder, index).GROUPS)
        if first <= number < first + part["devices"]:
            own[index] = Stage(index, folder, part, first, post.device, groups, Mail(index, stages, manifest, post),
                               saved_stage(loaded, index))
    for worker in manifest.get("workers", []):
        if worker["first_rank"] <= number < worker["first_rank"] + worker["devices"]:
            return own, [(kind, int(stage), copy) for kind, stage, micro_batch in map(str.split, worker["actions"])
                         for copy in copies_of(manifest, int(micro_batch))]
    return own, [("all", 0, index) for index in range(manifest.get("micro_batches", 1))]


def copies_of(manifest, micro_batch):
    """The numbers of the copies of a micro-batch among all runs of a step."""
    copies = manifest.get("copies", 1)
    return range(micro_batch * copies, (micro_batch + 1) * copies)


def run_step(stages, actions, given, post):
    """All actions of this process, then the updates of its stages, side by side where one may wait for another."""
    for stage in stages.values():
        stage.begin_step(given)
    for kind, number, micro_batch in actions:
        stages[number].act(kind, micro_batch)
    run_together([stage.update for stage in stages.values()], post.device)
    for stage in stages.values():
        stage.rank.mail.end_step()
    post.end_step()


def run_together(tasks, device):
    """Runs tasks side by side. The fault of one of them is raised at once: others may wait for it in vain."""
    if len(tasks) == 1:
        tasks[0]()
        return
    ended = queue.SimpleQueue()

    def run_task(task):
        try:
            torch.set_grad_enabled(False)
            use_device(device)
            task()
            ended.put(None)
        except BaseException as failure:
            ended.put(failure)

    for task in tasks:
        threading.Thread(target=run_task, args=(task,), daemon=True).start()
    for _ in tasks:
        if failure := ended.get():
            raise failure


def use_device(device):
    """Makes a GPU that of this thread."""
    if device.type == "cuda":
        torch.cuda.set_device(device)


def collect(stages, manifest):
    """The results and parameters of all stages, whole, on rank 0; nothing elsewhere."""
    held = {number: {name: tensor.cpu() for name, tensor in {**stage.weights, **stage.results}.items()}
            for number, stage in stages.items()}
    everyone = [None] * dist.get_world_size() if dist.get_rank() == 0 else None
    dist.gather_object(held, everyone)
    whole = {}
    for number, (_, part, first) in enumerate(read_stages(manifest) if everyone else []):
        for entry in part["parameters"] + part["outputs"]:
            pieces = [everyone[first + rank][number].get(entry["name"]) for rank in range(part["devices"])]
            if pieces[0] is not None:
                whole[entry["name"]] = assemble(pieces, entry["shape"], entry["sharding"], mesh_of(part))
    return whole


def run_rank(number, count, port, arguments):
    """One process of those that this machine starts."""
    os.environ.update(RANK=str(number), LOCAL_RANK=str(number), WORLD_SIZE=str(count), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(port))
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // count))
    run(arguments)


def main():
    arguments = read_arguments()
    if "RANK" in os.environ:
        run(arguments)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    count = read_manifest(HERE)["devices"]
    torch.multiprocessing.start_processes(run_rank, (count, port, arguments), count, start_method="fork")


def run(arguments):
    on_gpu = torch.cuda.is_available()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if on_gpu else torch.device("cpu")
    use_device(device)
    dist.init_process_group("nccl" if on_gpu else "gloo")
    dist.barrier()  # NCCL makes the channels of a group with its first collective, which all of its ranks must join
    torch.set_grad_enabled(False)
    manifest = read_manifest(HERE)
    if dist.get_world_size() != manifest["devices"]:
        sys.exit(f"the program is for {manifest['devices']} processes, {dist.get_world_size()} have been started")
    if arguments.save_checkpoint and Path(arguments.save_checkpoint).exists():
        sys.exit(f"--save-checkpoint {arguments.save_checkpoint}: it is there already; a new folder is accepted")
    loaded, steps = read_checkpoint(arguments.load, manifest)
    first_step = steps + 1 if arguments.first_step is None else arguments.first_step
    post = Post(manifest, device)
    stages, actions = make_stages(manifest, post, loaded)
    post.connect(set().union(*(stage.rank.mail.pairs() for stage in stages.values())))
    if arguments.check and not (HERE / "one_device").exists():
        sys.exit("--check: the model is too large for one device, and the program has no form for one")
    one_device = OneDevice(manifest, device, loaded) if arguments.check and dist.get_rank() == 0 else None
    for step in range(arguments.steps):
        with numpy.load(arguments.inputs[step % len(arguments.inputs)]) as given:
            given = dict(given)
        for _, part, _ in read_stages(manifest):
            add_numbers(given, part, first_step + step, arguments.learning_rate)
        run_step(stages, actions, given, post)
        if one_device:
            one_device.run_step(given)
        for stage in stages.values():
            for name, tensor in stage.results.items():
                if tensor.numel() == 1 and stage.rank.number == 0:
                    print(f"step {step} {name} {tensor.item():.7g}", flush=True)
    if arguments.save_checkpoint:
        save_checkpoint(arguments.save_checkpoint, manifest, read_stages(manifest),
                        {number: stage.weights for number, stage in stages.items()}, first_step + arguments.steps - 1)
    whole = collect(stages, manifest) if arguments.check or arguments.save else {}
    if one_device:
        one_device.compare(whole)
    if arguments.save and dist.get_rank() == 0:
        numpy.savez(arguments.save, **{name: tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()
                                       for name, tensor in whole.items()})


if __name__ == "__main__":
    main()

"""Plans a training step with `--recompute auto` in too little memory to keep everything, and holds the number of layers
that recompute against the closed form: k = ceil((bytes of none recomputed - limit) / bytes that a layer saves). The limit must be above what half of the layers
leave, for gradients need as much in the end.

usage: recomputed_layers.py APC LIMIT_BYTES LAYERS MODEL [SETTING ...]
"""
import json
import math
import subprocess
import sys

apc, limit, layers, *rest = sys.argv[1:]
limit, layers = int(limit), int(layers)


def plan(recompute, *more):
    command = [apc, "plan", *rest, *more, "--mode", "train", "--recompute", recompute, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


chosen = plan("auto", "--memory-limit", str(limit))
policy, _, count = chosen["training"]["recompute"].partition(":")
none, half, every = plan("none"), plan(f"{policy}:{layers // 2}"), plan(policy)
needed = none["memory_bytes"]["total"]
saved = (needed - half["memory_bytes"]["total"]) / (layers // 2)
fewest = max(0, math.ceil((needed - limit) / saved))
print(f"{policy}: {count} layers, {'as' if int(count) == fewest else 'not as'} the formula has it ({fewest})")
faster = chosen["step_seconds"] < every["step_seconds"]
print(f"{'faster' if faster else 'not faster'} than with all layers recomputed")
fits = chosen["memory_bytes"]["total"] <= limit
print(f"{'fits' if fits else 'does not fit'}, and one layer less {'fits' if needed - (int(count) - 1) * saved <= limit else 'does not'}")

"""Plans a training step with every policy of recomputation and compares bytes, seconds and FLOPs.

usage: recompute.py APC MODEL [SETTING ...]

Of the products of a transformer layer (12 h^2 weights), `full` repeats all but the last one (4 h^2), which only makes
what the layer hands on: 1 + 8/36 = 1.22 times the FLOPs of forward and backward pass. `mlp` repeats the first of its two
(4 h^2), 1 + 4/36 of the FLOPs of the layers' products, which are 95 % of all beside the head and the scores: 1.10 times.
`branches` also leaves out the product in front of the sum behind the attention (h^2): 1 + 7/36 of these 95 %, and the
2 % of attentions, 1.20 times. With 16 of 32 layers `full` repeats half of its part.
"""
import json
import subprocess
import sys


def plan(policy):
    command = [sys.argv[1], "plan", sys.argv[2], *sys.argv[3:], "--mode", "train", "--recompute", policy, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def compare(before, after):
    fewer = after["memory_bytes"]["activations"] < before["memory_bytes"]["activations"]
    slower = after["step_seconds"] > before["step_seconds"]
    ratio = after["flops_per_device"] / before["flops_per_device"]
    return f"{'fewer' if fewer else 'more'} bytes of activations, {'more' if slower else 'fewer'} seconds, {ratio:.2f} x the FLOPs"


none = plan("none")
for policy in ("norms", "attention", "mlp", "branches", "full", "full:16"):
    print(f"{policy}: {compare(none, plan(policy))}")

"""Plans a training step in 32 and in 16 bits, and prints bytes of parameters and states for each parameter trained.

usage: precision.py APC MODEL PARAMETERS [SETTING ...]

PARAMETERS is the number of parameters that the model's authors publish. With Adam: 4 + 8 bytes in fp32 (parameter, two
states), 2 + 12 in bf16 and fp16 (parameter, master, two states), as the ZeRO paper counts.
"""
import json
import subprocess
import sys


def plan(precision):
    command = [sys.argv[1], "plan", sys.argv[2], *sys.argv[4:], "--mode", "train", "--precision", precision, "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


parameters = int(sys.argv[3])
plans = {precision: plan(precision) for precision in ("fp32", "bf16", "fp16")}
for precision, found in plans.items():
    memory = found["memory_bytes"]
    print(f"{precision}: {memory['parameters'] / parameters:.2f} + {memory['optimizer'] / parameters:.2f} bytes")
halved = plans["bf16"]["memory_bytes"]["activations"] / plans["fp32"]["memory_bytes"]["activations"]
print(f"activations in bf16: {halved:.2f} x those in fp32")
print("bf16 is", "faster" if plans["bf16"]["step_seconds"] < plans["fp32"]["step_seconds"] else "slower")

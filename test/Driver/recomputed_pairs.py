"""Plans a training step with `--recompute auto` in so little memory that the policies that keep most do not fit, and holds
the pair that it chooses against its neighbours and against the first policy alone.

usage: recomputed_pairs.py APC LIMIT_BYTES MODEL [SETTING ...]
"""
import json
import re
import subprocess
import sys

apc, limit, *rest = sys.argv[1:]


def plan(recompute):
    command = [apc, "plan", *rest, "--memory-limit", limit, "--mode", "train", "--recompute", recompute, "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


chosen = plan("auto")
pair = chosen["training"]["recompute"]
first, other = pair.split(",")
policy, count = first.split(":")
print(f"{policy} and {other}")
print(f"{other} alone {'fits' if plan(other) else 'does not fit'}")
print(f"one layer less {'fits' if plan(f'{policy}:{int(count) - 1},{other}') else 'does not fit'}")
tried = [point for point in chosen["tried"] if point["feasible"] and re.fullmatch(rf"{policy}:\d+", point["recompute"])]
alone = min(point["step_seconds"] for point in tried)
faster = chosen["step_seconds"] < 0.97 * alone
print(f"{'faster' if faster else 'not faster'} than {policy} alone by more than 3 %")

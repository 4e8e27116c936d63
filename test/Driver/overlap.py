"""Plans a step and tells how much of its communication is hidden, and whether its seconds agree with each other.

usage: overlap.py APC MODEL [SETTING ...]
"""
import json
import subprocess
import sys

plan = json.loads(subprocess.run([sys.argv[1], "plan", *sys.argv[2:], "--json"], check=True, capture_output=True, text=True).stdout)
step, compute, sent, exposed = (
    plan[key + "_seconds"] for key in ("step", "compute", "communication", "exposed_communication"))
agree = abs(step - compute - exposed) <= 1e-9 * step and plan["lower_bound_seconds"] <= step and step <= (compute + sent) * (1 + 1e-9)
hidden = 1 - exposed / sent if sent else 0
words = "none" if hidden == 0 else "most" if hidden > 0.5 else "some"
print(f"{words} of the communication is hidden, seconds {'agree' if agree else 'differ'}")

"""Runs apc-conformance on a folder of ONNX's operator tests: no case may fail, and at least FLOOR must pass.

conformance.py TOOL FOLDER FLOOR [FLAGS...]; exits with 77, "skipped" to CTest, when the folder is not there. Says how
many cases passed, and with --filter, of which there are few, which.
"""

import os
import re
import subprocess
import sys

SKIPPED = 77


def main():
    tool, folder, floor, *flags = sys.argv[1:]
    if not os.path.isdir(folder):
        print(f"skipped: {folder} is not there")
        return SKIPPED
    run = subprocess.run([tool, folder, *flags], capture_output=True, text=True)
    lines = run.stdout.splitlines()
    print("\n".join(line for line in lines if "--filter" in flags or not line.startswith("passed")))
    print(run.stderr, end="")
    closing = re.fullmatch(r"(\d+) passed, (\d+) failed, (\d+) skipped", lines[-1] if lines else "")
    if run.returncode != 0 or not closing:
        return 1
    if int(closing.group(1)) < int(floor):
        print(f"{closing.group(1)} cases pass; {floor} did before")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

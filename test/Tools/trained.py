"""trained.py APC FOLDER: for each case of training below FOLDER, `apc inspect --mode train` lists as trained the parameters that have an
expected gradient, and no other."""

import json
import re
import subprocess
import sys
from pathlib import Path


def listed(apc, folder):
    train = json.loads((folder / "train.json").read_text())
    command = [apc, "inspect", str(folder / "model.onnx"), "--mode", "train", "--loss", train["loss"], "--json"]
    if train["freeze"]:
        command += ["--freeze", train["freeze"]]
    for first, second in train["tie"]:
        command += ["--tie", f"{first}={second}"]
    document = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    return sorted(re.sub(r"[^A-Za-z0-9._-]", "_", use["name"]) + ".pb"
                  for use in document["parameter_uses"] if use["trained"])


def main():
    apc, root = sys.argv[1:]
    folders = sorted(path.parent for path in Path(root).glob("*/train.json"))
    faults = 0
    for folder in folders:
        found, expected = listed(apc, folder), sorted(path.name for path in (folder / "expected" / "gradients").iterdir())
        if found != expected:
            faults += 1
            print(f"{folder.name}: trained {found}, PyTorch has gradients of {expected}")
    return 1 if faults or len(folders) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())

"""Copies a case of training with another precision.

in_precision.py CASE PRECISION FOLDER
"""

import json
import shutil
import sys
from pathlib import Path

case, precision, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
copy = folder / f"{case.name}-{precision}"
shutil.copytree(case, copy, copy_function=shutil.copyfile)
for path in [copy, *copy.rglob("*")]:
    path.chmod(0o755)
settings = json.loads((case / "train.json").read_text()) | {"precision": precision}
if precision == "fp16":
    settings["loss_scale"] = 256
(copy / "train.json").write_text(json.dumps(settings))

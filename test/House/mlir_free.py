"""MlirFree: the rooms above the rule need no MLIR: mlir_free.py PROGRAM LIBRARY...

PROGRAM is linked with the libraries alone; neither it nor one of them may define a symbol of MLIR or leave one undefined.
"""

import re
import subprocess
import sys
from pathlib import Path


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check(files):
    """Returns what is wrong, one line a fault."""
    violations = []
    for file in files:
        symbols = output("nm", "--demangle", "--no-sort", file)
        found = sorted({match[0].strip() for match in re.finditer(r"\bmlir::[\w:~]+", symbols)})
        violations += [f"{file.name}: {symbol}" for symbol in found[:5]]
        if len(found) > 5:
            violations.append(f"{file.name}: and {len(found) - 5} symbols more")
    return violations


if __name__ == "__main__":
    faults = check([Path(name) for name in sys.argv[1:]])
    print("\n".join(faults))
    print(f"no MLIR: {len(sys.argv) - 2} libraries looked at, {len(faults)} violations")
    sys.exit(1 if faults or len(sys.argv) < 3 else 0)

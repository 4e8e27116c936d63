"""MlirFree: the rooms above the rule need no MLIR: mlir_free.py PROGRAM LIBRARY...

PROGRAM is linked with the libraries alone and must need no libMLIR; no library may leave a symbol of MLIR undefined, or define
one.
"""

import re
import subprocess
import sys
from pathlib import Path


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def check(program, libraries):
    """Returns what is wrong, one line a fault."""
    violations = [f"{program.name}: needs {name}"
                  for name in re.findall(r"\(NEEDED\)[^\[]*\[(libMLIR[^\]]*)\]", output("readelf", "--dynamic", program))]
    for library in libraries:
        symbols = output("nm", "--demangle", "--no-sort", library)
        found = sorted({match[0].strip() for match in re.finditer(r"\bmlir::[\w:~]+", symbols)})
        violations += [f"{library.name}: {symbol}" for symbol in found[:5]]
        if len(found) > 5:
            violations.append(f"{library.name}: and {len(found) - 5} symbols more")
    return violations


if __name__ == "__main__":
    faults = check(Path(sys.argv[1]), [Path(name) for name in sys.argv[2:]])
    print("\n".join(faults))
    print(f"no MLIR: {len(sys.argv) - 2} libraries looked at, {len(faults)} violations")
    sys.exit(1 if faults or len(sys.argv) < 3 else 0)

"""OperatorNames: no ONNX operator name stands as a string literal outside IR.

The names are read from the lists of ONNX names in include/apc/IR/**/*.td, so a new operator is guarded at once. Tests may
name operators; whatever else has to is a line of operator_names.txt with its reason.
"""

import re
from pathlib import Path

import house

ONNX_NAMES = re.compile(r'<\s*"[\w.]+"\s*,\s*\[((?:\s*"[\w.]+"\s*,?)+)\]')
AT_HOME = (("include", "apc", "IR"), ("lib", "IR"))


def operator_names(root):
    """MatMul of ["MatMul"]; FusedMatMul and the whole name of ["com.microsoft.FusedMatMul"]."""
    names = set()
    for path in house.own_files(root, ["include/apc/IR"], (".td",)):
        for names_of_op in ONNX_NAMES.findall(house.without_comments(house.read(path))):
            for name in re.findall(r'"([\w.]+)"', names_of_op):
                names |= {name, name.split(".")[-1]}
    return names


def check(root):
    names = operator_names(root)
    allowed = {(path, name) for path, name, _ in house.table(Path(__file__).with_name("operator_names.txt"), 3)}
    violations = []
    for path in house.own_files(root, ["include", "lib", "tools"], house.CPP):
        relative = path.relative_to(root)
        if any(relative.parts[:len(home)] == home for home in AT_HOME):
            continue
        for line, literal in house.string_literals(house.read(path)):
            if literal in names and (str(relative), literal) not in allowed:
                violations.append(f'{relative}:{line}: operator name "{literal}" outside IR (test/House/operator_names.txt)')
    return violations, len(names)


if __name__ == "__main__":
    house.main(check, "operator names")

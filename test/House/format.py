"""Format: clang-format finds nothing to change in any C++ file of ours (TableGen files are left alone)."""

import subprocess

import house


def check(root):
    files = house.own_files(root, ["include", "lib", "tools", "test"], house.CPP)
    violations = []
    for start in range(0, len(files), 50):
        batch = [str(path) for path in files[start:start + 50]]
        run = subprocess.run(["clang-format-22", "--dry-run", "-Werror", "--style=file", *batch], cwd=root,
                             capture_output=True, text=True, check=False)
        violations += [line.replace(str(root) + "/", "") for line in run.stderr.splitlines() if "error:" in line]
        if run.returncode != 0 and not run.stderr:
            violations.append(f"clang-format-22 ended with {run.returncode}")
    if violations:
        violations.append("run: clang-format-22 -i FILE")
    return violations, len(files)


if __name__ == "__main__":
    house.main(check, "format")

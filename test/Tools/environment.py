"""Virtual environments that tests make for themselves."""

import subprocess
import sys


def python_of(folder, packages):
    """The interpreter of an environment with these packages, which is made where it is not there or has others. Ends with 77, for a
    skipped test, where they cannot be had."""
    python, stamp, text = folder / "bin" / "python", folder / "packages.txt", "\n".join(packages)
    if stamp.exists() and stamp.read_text() == text:
        return python
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]):
        try:
            subprocess.run(command, check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as failure:
            reason = (getattr(failure, "stderr", "") or str(failure)).strip().splitlines()[-1]
            print(f"skipped: {', '.join(packages)} cannot be installed: {reason}")
            sys.exit(77)
    stamp.write_text(text)
    return python

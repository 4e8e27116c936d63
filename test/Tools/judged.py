"""judged.py CODE COMMAND...: the command must exit with CODE within two seconds of processor time. With code 0 it says nothing on
stderr, and what it prints is printed. Otherwise it prints nothing on stdout and one paragraph on stderr that begins with
'apc: error: ', and the paragraph is printed, for FileCheck. Processor time, because other tests run beside this one; a minute of the
clock ends what hangs."""

import resource
import subprocess
import sys

MOST_SECONDS = 2


def faults(code, run):
    seconds = sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])
    if run.returncode != code:
        yield f"exit code {run.returncode}, expected {code}"
    if seconds > MOST_SECONDS:
        yield f"{seconds:.1f} s of processor time, at most {MOST_SECONDS}"
    if code == 0:
        if run.stderr:
            yield f"on stderr: {run.stderr[:200]!r}"
        return
    if run.stdout:
        yield f"on stdout: {run.stdout[:200]!r}"
    if not run.stderr.startswith("apc: error: ") or run.stderr.count("apc: error: ") != 1:
        yield "stderr is not one message that begins with 'apc: error: '"
    if not run.stderr.endswith("\n") or "\n\n" in run.stderr:
        yield "stderr is not one paragraph"


def main():
    code, command = int(sys.argv[1]), sys.argv[2:]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    print(run.stderr if code else run.stdout, end="")
    found = list(faults(code, run))
    for fault in found:
        print(f"{' '.join(command)}: {fault}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

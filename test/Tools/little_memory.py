"""little_memory.py COMMAND...: runs the command with ever more address space, until it succeeds, and prints what it says when it has too
little. A program that cannot even be loaded says nothing of its own; every other run must end with exit code 2."""

import resource
import subprocess
import sys

MIB = 1 << 20


def run(command, limit):
    def bound():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return subprocess.run(command, preexec_fn=bound, capture_output=True, text=True, errors="replace", timeout=60)


def main():
    for limit in range(256 * MIB, 4096 * MIB, 8 * MIB):
        done = run(sys.argv[1:], limit)
        if done.returncode == 0:
            return 0
        if done.returncode == 127:  # the loader's
            continue
        print(done.stderr, end="")
        if done.returncode != 2 or done.stdout:
            print(f"exit code {done.returncode} with {limit // MIB} MiB", file=sys.stderr)
            return 1
    print("no run succeeded", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

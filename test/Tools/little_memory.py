"""little_memory.py COMMAND...: runs the command with ever more address space, until it succeeds, and prints what it says when it has too
little. A program that cannot even be loaded says nothing of its own: the loader ends it, or a library that crashes where it
starts without memory, as libgfortran does. From the first run on that speaks, every one must end with exit code 2."""

import resource
import signal
import subprocess
import sys

MIB = 1 << 20


def run(command, limit):
    def bound():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    return subprocess.run(command, preexec_fn=bound, capture_output=True, text=True, errors="replace", timeout=60)


def main():
    is_loaded = False
    for limit in range(64 * MIB, 4096 * MIB, 8 * MIB):
        done = run(sys.argv[1:], limit)
        if done.returncode == 0:
            return 0
        is_loaded = is_loaded or done.returncode == 2
        if not is_loaded and done.returncode in (127, -signal.SIGSEGV):
            continue
        print(done.stderr, end="")
        if done.returncode != 2 or done.stdout:
            print(f"exit code {done.returncode} with {limit // MIB} MiB", file=sys.stderr)
            return 1
    print("no run succeeded", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

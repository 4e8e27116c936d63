"""threads_of.py COMMAND...: runs the command and prints the most threads that it had at once, as far as looking every few milliseconds
tells. Threads that are ending, or that one look alone finds, do not count: others may have begun since. The output of the command is left
out."""

import os
import subprocess
import sys
import time

IS_ENDING = 0x4  # PF_EXITING of the kernel


def threads_of(process):
    """The threads that are not ending."""
    found = set()
    for thread in os.listdir(f"/proc/{process}/task"):
        try:
            with open(f"/proc/{process}/task/{thread}/stat") as stat:
                fields = stat.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if not int(fields[6]) & IS_ENDING:
            found.add(thread)
    return found


def main():
    run = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
    most, before = 1, set()
    while run.poll() is None:
        try:
            now = threads_of(run.pid)
            most, before = max(most, len(before & now)), now
        except FileNotFoundError:
            pass
        time.sleep(0.002)
    print(most)
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())

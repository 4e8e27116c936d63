"""Tidy: clang-tidy with the rules of .clang-tidy over the rooms named in tidy.txt, in parallel.

A file that passed leaves a stamp in the build folder; the stamp's name is a hash of the file, of all headers of ours that it
includes, of its compile command and of the rules, so a second run looks only at what changed. Files that are compiled alike
are read together, headers once for all; where anything is found among them, each is read alone.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import house

BATCH = 32
UNITY = re.compile(r"/Unity/unity_\w+\.cxx$")
PRECOMPILED = re.compile(r"-include (\S+/cmake_pch\.hxx)")
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def closure(root, path, seen):
    """The file and every header of ours that it includes, directly or not."""
    if path in seen or not path.is_file():
        return seen
    seen.add(path)
    for target in INCLUDE.findall(house.read(path)):
        for base in (root / "include", path.parent):
            closure(root, (base / target).resolve(), seen)
    return seen


def stamp_name(root, path, command):
    digest = hashlib.sha256(command.encode())
    for part in [root / ".clang-tidy", *sorted(closure(root, path, set()))]:
        digest.update(part.read_bytes())
    return digest.hexdigest()


def tidy(root, path, database):
    """Findings of clang-tidy in a file."""
    options = [f"--config-file={root / '.clang-tidy'}", "--quiet",
               "--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Wno-deprecated-declarations"]
    run = subprocess.run(["clang-tidy-22", "-p", str(database), *options, str(path)], capture_output=True, text=True, check=False)
    findings = sorted(set(re.findall(r"^.*(?:error|warning): .*$", run.stdout, re.MULTILINE)))
    if run.returncode != 0 and not findings:
        findings = [f"{path}: clang-tidy-22 ended with {run.returncode}: {run.stderr.strip()[-500:]}"]
    return findings


def tidy_together(root, batch, database):
    """[(file, findings)] of files that are compiled alike: their names may clash where nothing else is found."""
    if len(batch) > 1 and not tidy(root, together(batch, database), database):
        return [(path, []) for path in batch]
    return [(path, tidy(root, path, database)) for path in batch]


def each_file(entry):
    """The entry, or where it compiles files together, one of each of them."""
    if not UNITY.search(entry["file"]):
        return [entry]
    files = re.findall(r'^#include "([^"]+)"', Path(entry["file"]).read_text(), re.MULTILINE)
    return [{**entry, "file": path, "command": entry["command"].replace(f"-c {entry['file']}", f"-c {path}")} for path in files]


def commands(root, build, rooms):
    """{file: its entry in the compile database} of the files in the rooms."""
    folders = tuple(f"{root / 'lib' / room}{os.sep}" for room in rooms)
    entries = json.loads((build / "compile_commands.json").read_text())
    return {Path(e["file"]): e for e in itertools.chain.from_iterable(map(each_file, entries)) if e["file"].startswith(folders)}


def precompile(entry, database):
    """Clang's own form of the precompiled header that the command of g++ names, for all files of that header."""
    header = PRECOMPILED.search(entry["command"])[1]
    flags = re.sub(r"^\S+|-o \S+|-c \S+|-Werror\b|-fpch-preprocess", "", PRECOMPILED.sub("", entry["command"]))
    result = database / f"{hashlib.sha256(header.encode()).hexdigest()[:16]}.pch"
    subprocess.run(["clang++-22", *flags.split(), "-w", "-x", "c++-header", header, "-o", str(result)], cwd=entry["directory"],
                   check=True)
    return header, result


def together(batch, database):
    """The file of the database that includes the files of a batch."""
    digest = hashlib.sha256("\n".join(map(str, batch)).encode())
    return database / f"{digest.hexdigest()[:16]}.cpp"


def batches(root, entries):
    """Files of a room, whose own names do not clash, in lists of at most BATCH that are compiled alike."""
    alike = {}
    for entry in entries:
        path = Path(entry["file"])
        flags = re.sub(r"-o \S+|-c \S+", "", entry["command"])
        alike.setdefault((path.relative_to(root / "lib").parts[0], flags), []).append(path)
    return [files[i:i + BATCH] for files in alike.values() for i in range(0, len(files), BATCH)]


def write_database(entries, lists, database):
    """A compile database for clang, which refuses to read the precompiled headers of g++."""
    headers = {}
    for entry in entries:
        match = PRECOMPILED.search(entry["command"])
        if match and match[1] not in headers:
            headers.update([precompile(entry, database)])

    def command(entry):
        with_header = PRECOMPILED.sub(lambda match: f"-include-pch {headers[match[1]]}", entry["command"])
        return with_header.replace(" -fpch-preprocess", "").replace(" -Winvalid-pch", "")

    rows = [{**entry, "command": command(entry)} for entry in entries]
    by_file = {row["file"]: row for row in rows}
    for batch in lists:
        source = together(batch, database)
        source.write_text("".join(f'#include "{path}"\n' for path in batch))
        first = by_file[str(batch[0])]
        rows.append({**first, "file": str(source), "command": first["command"].replace(f"-c {batch[0]}", f"-c {source}")})
    (database / "compile_commands.json").write_text(json.dumps(rows))


def check(root, build, rooms, jobs):
    """Returns (violations, files that stand, files looked at now)."""
    stamps = build / "house" / "tidy"
    stamps.mkdir(parents=True, exist_ok=True)
    files = commands(root, build, rooms)
    names = {path: stamp_name(root, path, entry["command"]) for path, entry in files.items()}
    todo = sorted(path for path in files if not (stamps / names[path]).exists())
    violations = []
    lists = batches(root, [files[path] for path in todo])
    if todo:
        write_database([files[path] for path in todo], lists, stamps)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        results = pool.map(lambda batch: tidy_together(root, batch, stamps), lists)
        for path, findings in itertools.chain.from_iterable(results):
            violations += [finding.replace(f"{root}{os.sep}", "") for finding in findings]
            if not findings:
                (stamps / names[path]).touch()
    return sorted(set(violations)), len(files), len(todo)


def main():
    here = Path(__file__).resolve()
    parser = argparse.ArgumentParser(description="tidy")
    parser.add_argument("--root", type=Path, default=here.parents[2])
    parser.add_argument("--build", type=Path, required=True, help="build folder with compile_commands.json")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    rooms = house.table(here.with_name("tidy.txt"), 2)
    for room, state in rooms:
        if state != "checked":
            print(f"left out: lib/{room}: {state}")
    checked = [room for room, state in rooms if state == "checked"]
    violations, total, fresh = check(arguments.root.resolve(), arguments.build.resolve(), checked, arguments.jobs)
    print("\n".join(violations))
    print(f"tidy: {total} files, {fresh} of them looked at now, {len(violations)} violations")
    sys.exit(1 if violations or total == 0 else 0)


if __name__ == "__main__":
    main()

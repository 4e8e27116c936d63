"""Layering: reads the #include lines of include/apc, lib and tools against the table in layering.txt."""

import re
from pathlib import Path

import house

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
EVERYWHERE = ("llvm/ADT/", "llvm/Support/")


class Row:
    """One line of the table."""

    def __init__(self, cells):
        split = [[] if cell == "-" else cell.split() for cell in cells]
        self.rooms = set(split[1])
        self.prefixes = tuple(split[2]) + EVERYWHERE
        self.single = [entry.split("@") for entry in split[3]]


def room_of(relative):
    """include/apc/Cost/X.h and lib/Cost/X.cpp are of room Cost, tools/apc/X.cpp of tools/apc; anything else of none."""
    parts = relative.parts
    if parts[:2] == ("include", "apc") and len(parts) > 3:
        return parts[2]
    if parts[0] == "lib" and len(parts) > 2:
        return parts[1]
    if parts[0] == "tools" and len(parts) > 2:
        return "/".join(parts[:2])
    return None


def judge(room, row, path, bracket, target, singles):
    """Why `target` may not be included by this file of the room, or nothing."""
    if target.startswith("apc/"):
        other = target.split("/")[1]
        if other in (room, "Support") or other in row.rooms or "*" in row.rooms:
            return None
        return f"{room} may not include {other}"
    if target.startswith(row.prefixes):
        return None
    for prefix, name in row.single:
        if target.startswith(prefix):
            singles.setdefault((room, prefix), set()).add(path.name)
            return None if name in ("*", path.name) else f"{prefix} belongs into {name} alone"
    if bracket == "<" and "/" not in target or target.startswith("sys/"):
        return None
    if bracket == '"' and ((path.parent / target).is_file() or target.endswith((".inc", ".pb.h"))):
        return None
    return f"{room} may not include <{target}>"


def check(root):
    rows = {cells[0]: Row(cells) for cells in house.table(Path(__file__).with_name("layering.txt"), 4)}
    violations, singles = [], {}
    files = house.own_files(root, ["include", "lib", "tools"], house.CPP)
    for path in files:
        relative = path.relative_to(root)
        room = room_of(relative)
        if room not in rows:
            violations.append(f"{relative}: no room of test/House/layering.txt")
            continue
        text = house.without_comments(house.read(path))
        for match in INCLUDE.finditer(text):
            reason = judge(room, rows[room], path, match[1], match[2], singles)
            if reason:
                line = text.count("\n", 0, match.start(1)) + 1
                violations.append(f"{relative}:{line}: {reason} (test/House/layering.txt)")
    for (room, prefix), names in sorted(singles.items()):
        if len(names) > 1:
            violations.append(f"lib/{room}: {prefix} is for one file, included by {', '.join(sorted(names))}")
    return violations, len(files)


if __name__ == "__main__":
    house.main(check, "layering")

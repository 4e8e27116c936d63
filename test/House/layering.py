"""Layering: reads the #include lines of include/apc, lib and tools against the table in layering.txt: each line by itself, and
where chains of our own headers lead."""

import re
from pathlib import Path

import house

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)
EVERYWHERE = ("llvm/ADT/", "llvm/Support/")


def words(cell):
    return [] if cell == "-" else cell.split()


class Row:
    """One line of the table."""

    def __init__(self, cells):
        self.rooms = set(words(cells[1]))
        self.prefixes = tuple(words(cells[2])) + EVERYWHERE
        self.single = [entry.split("@") for entry in words(cells[3])]
        self.never = words(cells[4])


def table(here):
    """The rows by room, each with the rooms that its rooms bring."""
    rows = {cells[0]: Row(cells) for cells in house.table(here / "layering.txt", 5)}
    brought = {room: set(row.rooms) for room, row in rows.items()}
    for _ in rows:
        for reached in brought.values():
            for other in list(reached):
                reached |= brought.get(other, set()) - {"*"}
    for room, row in rows.items():
        row.rooms = brought[room]
    today = here / "layering_today.txt"
    for room, left in house.table(today, 2) if today.is_file() else []:
        row, names = rows[room], words(left)
        row.rooms = row.rooms | set(names)
        row.prefixes += tuple(name for name in names if name.endswith("/"))
        row.never = [goal for goal in row.never if goal not in names]
    return rows


def room_of(relative):
    """include/apc/Cost/X.h and lib/Cost/Sub/X.cpp are of room Cost, tools/apc/X.cpp of tools/apc; anything else of none."""
    parts = relative.parts
    if parts[:2] == ("include", "apc") and len(parts) > 3:
        return parts[2]
    if parts[0] == "lib" and len(parts) > 2:
        return parts[1]
    if parts[0] == "tools" and len(parts) > 2:
        return "/".join(parts[:2])
    return None


def in_place(root, path, room, place):
    """Whether the file is the one file, or in the one folder, where a prefix may stand."""
    return place in ("*", path.name) or (place.endswith("/") and path.is_relative_to(root / "lib" / room / place))


def judge(root, room, row, path, bracket, target, singles):
    """Why `target` may not be included by this file of the room, or nothing."""
    if target.startswith("apc/"):
        other = target.split("/")[1]
        if other in (room, "Support") or other in row.rooms or "*" in row.rooms:
            return None
        return f"{room} may not include {other}"
    if target.startswith(row.prefixes):
        return None
    for prefix, place in row.single:
        if target.startswith(prefix):
            if place == "*":
                singles.setdefault((room, prefix), set()).add(path.name)
            return None if in_place(root, path, room, place) else f"{prefix} belongs into {place} alone"
    if bracket == "<" and "/" not in target or target.startswith("sys/"):
        return None
    if bracket == '"' and (own_header(root, path, target) or target.endswith((".inc", ".pb.h"))):
        return None
    return f"{room} may not include <{target}>"


def own_header(root, path, target):
    """The file of ours that a line includes: of a room, or beside the file, or below the room's folder in lib."""
    room = root / "lib" / str(room_of(path.relative_to(root)))
    for candidate in (root / "include" / target, path.parent / target, room / target):
        if candidate.is_file():
            return candidate.resolve()
    return None


def chains(root, path, includes):
    """Yields (chain of headers, target) for every include that the file reaches; the chain is empty for its own."""
    seen, waiting = {path}, [(path, ())]
    while waiting:
        current, chain = waiting.pop(0)
        for _, target in includes(current):
            yield chain, target
            header = own_header(root, current, target)
            if header and header not in seen:
                seen.add(header)
                waiting.append((header, (*chain, target)))


def far(root, row, path, includes):
    """Where a chain of our own headers leads that the room may never reach: one line for each goal, with its chain."""
    found = {}
    for chain, target in chains(root, path, includes):
        for goal in row.never:
            if target.startswith(goal if goal.endswith("/") else f"apc/{goal}/"):
                found.setdefault(goal, " -> ".join([*chain, target]))
    return [f"may never reach {goal.rstrip('/')}: {chain}" for goal, chain in found.items()]


def check(root, here=Path(__file__).parent):
    rows, violations, singles, known = table(here), [], {}, {}

    def includes(path):
        if path not in known:
            known[path] = INCLUDE.findall(house.without_comments(house.read(path)))
        return known[path]

    files = house.own_files(root, ["include", "lib", "tools"], house.CPP)
    for path in files:
        relative = path.relative_to(root)
        room = room_of(relative)
        if room not in rows:
            violations.append(f"{relative}: no room of test/House/layering.txt")
            continue
        for bracket, target in includes(path):
            reason = judge(root, room, rows[room], path, bracket, target, singles)
            if reason:
                line = next(n for n, l in enumerate(house.read(path).splitlines(), 1) if f"{bracket}{target}" in l)
                violations.append(f"{relative}:{line}: {reason} (test/House/layering.txt)")
        violations += [f"{relative}: {room} {reason}" for reason in far(root, rows[room], path, includes)]
    for (room, prefix), names in sorted(singles.items()):
        if len(names) > 1:
            violations.append(f"lib/{room}: {prefix} is for one file, included by {', '.join(sorted(names))}")
    return violations, len(files)


if __name__ == "__main__":
    house.main(check, "layering")

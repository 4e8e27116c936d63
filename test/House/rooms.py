"""Rooms: every folder of include/apc has a twin in lib and in test, and a README that is short; no folder of a room is crowded;
nothing stands where it does not belong."""

from pathlib import Path

import house

README_WORDS = 250  # of a room; tables and code aside
PAGE_WORDS = 450  # of an idea in a folder of a room: a search, a kind of sharding
COLUMNS = 120  # likewise
CROWD = 30  # a room aims at 25 files in a folder
LEFT_BY_APC = "plan.json"  # `apc plan` without -o writes it where it is run, as the first command of README.md does


def visible(folder):
    return [p for p in sorted(folder.iterdir()) if not p.name.startswith((".", "build")) and p.name != "__pycache__"]


def running_text(readme):
    """Yields (line number, line) of a page without its tables and its blocks of code."""
    code = False
    for number, line in enumerate(house.read(readme).splitlines(), 1):
        fence = line.lstrip().startswith("```")
        if not fence and not code and not line.startswith("|"):
            yield number, line
        code ^= fence


def check_columns(root, readme):
    return [f"{readme.relative_to(root)}:{number}: {len(line)} columns, {COLUMNS} are the most"
            for number, line in running_text(readme) if len(line) > COLUMNS]


def check_readmes(root):
    """The pages of the rooms, and of folders in them, are short; the lines of all pages too."""
    violations = check_columns(root, root / "README.md") if (root / "README.md").is_file() else []
    for readme in house.own_files(root, ["lib"], ("README.md",)):
        count = sum(len(line.split()) for _, line in running_text(readme))
        most = README_WORDS if readme.parent.parent.name == "lib" else PAGE_WORDS
        if count > most:
            violations.append(f"{readme.relative_to(root)}: {count} words, {most} are the most")
        violations += check_columns(root, readme)
    return violations


def check_crowds(root):
    folders = {}
    for path in house.own_files(root, ["lib", "include/apc"], (".cpp", ".h", ".td")):
        folders[path.parent] = folders.get(path.parent, 0) + 1
    return [f"{folder.relative_to(root)}: {count} files, {CROWD} are the most: make sub-folders"
            for folder, count in sorted(folders.items()) if count > CROWD]


def check_room(root, room):
    violations = []
    if not (root / "lib" / room / "CMakeLists.txt").is_file():
        violations.append(f"lib/{room}: include/apc/{room} has no twin with a CMakeLists.txt here")
    if not house.own_files(root, [f"test/{room}"], (".cpp", ".mlir", ".test")):
        violations.append(f"test/{room}: include/apc/{room} has no tests (.cpp, .mlir, .test) here")
    readme = root / "lib" / room / "README.md"
    if not readme.is_file():
        violations.append(f"lib/{room}/README.md: a room says its purpose, its types and what it may include")
    return violations


def check(root):
    allowed = {}
    for folder, name, kind in house.table(Path(__file__).with_name("rooms.txt"), 3):
        allowed.setdefault(folder, {})[name] = kind
    rooms = [p.name for p in visible(root / "include" / "apc") if p.is_dir()]
    violations = [f"include/apc/{p.name}: headers live in rooms" for p in visible(root / "include" / "apc") if p.is_file()]
    for room in rooms:
        violations += check_room(root, room)
    violations += check_readmes(root) + check_crowds(root)
    for folder, names in allowed.items():
        for path in visible(root / folder):
            if path == root / LEFT_BY_APC:
                continue
            kind = "dir" if path.is_dir() else "file"
            known = names.get(path.name) == kind or (folder in ("lib", "test") and path.name in rooms)
            if not known:
                violations.append(f"{path.relative_to(root)}: does not belong here (test/House/rooms.txt)")
    for missing in ("README.md", "LICENSE"):
        if not (root / missing).is_file():
            violations.append(f"{missing}: missing")
    return violations, len(rooms)


if __name__ == "__main__":
    house.main(check, "rooms")

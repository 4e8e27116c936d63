"""Rooms: every folder of include/apc has a twin in lib and in test, and a README; nothing stands where it does not belong."""

from pathlib import Path

import house

README_LINES = 30
LEFT_BY_APC = "plan.json"  # `apc plan` without -o writes it where it is run, as the first command of README.md does


def visible(folder):
    return [p for p in sorted(folder.iterdir()) if not p.name.startswith((".", "build")) and p.name != "__pycache__"]


def check_room(root, room):
    violations = []
    if not (root / "lib" / room / "CMakeLists.txt").is_file():
        violations.append(f"lib/{room}: include/apc/{room} has no twin with a CMakeLists.txt here")
    if not house.own_files(root, [f"test/{room}"], (".cpp", ".mlir", ".test")):
        violations.append(f"test/{room}: include/apc/{room} has no tests (.cpp, .mlir, .test) here")
    readme = root / "lib" / room / "README.md"
    if not readme.is_file():
        violations.append(f"lib/{room}/README.md: a room says its purpose, its types and what it may include")
    elif len(house.read(readme).splitlines()) > README_LINES:
        violations.append(f"lib/{room}/README.md: {README_LINES} lines are the most")
    return violations


def check(root):
    allowed = {}
    for folder, name, kind in house.table(Path(__file__).with_name("rooms.txt"), 3):
        allowed.setdefault(folder, {})[name] = kind
    rooms = [p.name for p in visible(root / "include" / "apc") if p.is_dir()]
    violations = [f"include/apc/{p.name}: headers live in rooms" for p in visible(root / "include" / "apc") if p.is_file()]
    for room in rooms:
        violations += check_room(root, room)
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

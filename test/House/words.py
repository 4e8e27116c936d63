"""Words: searches our files for words that must not stand in them; words.txt holds the patterns and the reasons."""

import re
from pathlib import Path

import house

TEXT = (".cpp", ".h", ".td", ".py", ".sh", ".cmake", ".txt", ".md", ".json", ".mlir", ".test", ".in", ".proto", ".csv",
        "run", "CMakeLists.txt", ".clang-tidy", ".clang-format")
PROSE = (".cpp", ".h", ".td", ".py", ".sh", ".cmake", ".txt", ".test", ".mlir", "run", "CMakeLists.txt")

# The files of a scope, and the part of their text that is searched.
SCOPES = {"text": (TEXT, lambda path, text: text), "code": (house.CPP, lambda path, text: house.code_only(text)),
          "prose": (PROSE, house.prose), "source": (house.CPP + (".td",), lambda path, text: text)}


def files_of(root, folders, suffixes):
    """The files below the folders, without those whose path begins with a name after '!'."""
    left_out = tuple(folder[1:] for folder in folders.split() if folder.startswith("!"))
    found = house.own_files(root, [folder for folder in folders.split() if not folder.startswith("!")], suffixes)
    return [path for path in found if not left_out or not str(path.relative_to(root)).startswith(left_out)]


def check(root, rows=None):
    violations, looked_at, here = [], set(), Path(__file__).resolve().parent
    for folders, scope, most, pattern, why in rows or house.table(here / "words.txt", 5):
        suffixes, view = SCOPES[scope]
        regex, found = re.compile(pattern, re.MULTILINE), []
        for path in files_of(root, folders, suffixes):
            relative = path.relative_to(root)
            if relative.parts[:2] == ("test", "House"):
                continue
            looked_at.add(path)
            text = view(path, house.read(path))
            for match in regex.finditer(text):
                line = text.count("\n", 0, match.end()) + 1
                found.append(f"{relative}:{line}: '{match[0].strip()[:60]}': {why}")
        if len(found) > int(most):
            violations += found
            if most != "0":
                violations.append(f"{len(found)} of {pattern}, {most} are the most and the number only falls: {why}")
        elif len(found) < int(most):
            print(f"words.txt: {pattern}: {most} may now be {len(found)}")
    return violations, len(looked_at)


if __name__ == "__main__":
    house.main(check, "words")

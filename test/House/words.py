"""Words: searches our files for what must not stand in them; words.txt holds the patterns and the reasons."""

import re
from pathlib import Path

import house

TEXT = (".cpp", ".h", ".td", ".py", ".sh", ".cmake", ".txt", ".md", ".json", ".mlir", ".test", ".in", ".proto", ".csv",
        "run", "CMakeLists.txt", ".clang-tidy", ".clang-format")


SCOPES = {"text": (TEXT, lambda text: text), "code": (house.CPP, house.code_only)}


def check(root):
    violations, looked_at, here = [], set(), Path(__file__).resolve().parent
    for folders, scope, pattern, why in house.table(here / "words.txt", 4):
        suffixes, view = SCOPES[scope]
        regex = re.compile(pattern, re.MULTILINE)
        for path in house.own_files(root, folders.split(), suffixes):
            relative = path.relative_to(root)
            if relative.parts[:2] == ("test", "House"):
                continue
            looked_at.add(path)
            text = view(house.read(path))
            for match in regex.finditer(text):
                line = text.count("\n", 0, match.end()) + 1
                violations.append(f"{relative}:{line}: '{match[0].strip()[:60]}': {why}")
    return violations, len(looked_at)


if __name__ == "__main__":
    house.main(check, "words")

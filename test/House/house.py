"""Shared by the checks of the house: the files that are ours, C++ without its comments, the report at the end."""

import argparse
import re
import sys
from pathlib import Path

CPP = (".cpp", ".h")

# A comment, a raw string, a string or a character literal (a digit separator, 1'000, is none).
_TOKENS = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\((?:.*?)\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])\'(?:\\.|[^\'\\\n])+\'',
    re.DOTALL)


def blank(text):
    """The same number of lines, nothing on them."""
    return re.sub(r"[^\n]", " ", text)


def without_comments(text):
    return _TOKENS.sub(lambda m: blank(m[0]) if m[0].startswith(("//", "/*")) else m[0], text)


def code_only(text):
    """C++ without comments and without what stands inside string literals; lines stay where they are."""

    def replace(match):
        token = match[0]
        if token.startswith(("//", "/*")):
            return blank(token)
        return token[0] + blank(token[1:-1]) + token[-1]

    return _TOKENS.sub(replace, text)


def string_literals(text):
    """Yields (line, value) of every string literal that is no include."""
    for match in _TOKENS.finditer(text):
        if match[0].startswith('"'):
            start = text.rfind("\n", 0, match.start()) + 1
            if not text[start:match.start()].lstrip().startswith("#include"):
                yield text.count("\n", 0, match.start()) + 1, match[0][1:-1]


def prose(path, text):
    """Comments and string literals of C++ and TableGen, docstrings and comments of Python, '#' comments of the rest."""
    if path.suffix in (".cpp", ".h", ".td"):
        return "".join(blank(part) if code else part for code, part in _cut(_TOKENS, text))
    pattern = r'"""(?:.*?)"""|(?<!\S)#[^\n]*' if path.suffix == ".py" else r"(?<!\S)#[^\n]*|(?<!\S)//[^\n]*"
    return "".join(blank(part) if code else part for code, part in _cut(re.compile(pattern, re.DOTALL), text))


def _cut(tokens, text):
    """Yields (whether it lies between tokens, part) in order."""
    end = 0
    for match in tokens.finditer(text):
        yield True, text[end:match.start()]
        yield False, match[0]
        end = match.end()
    yield True, text[end:]


def read(path):
    return path.read_text(encoding="utf-8", errors="replace")


def own_files(root, folders, suffixes):
    """Files of ours below the folders, sorted; `folders` are relative to the root, "." is the root alone."""
    found = []
    for folder in folders:
        paths = root.glob("*") if folder == "." else (root / folder).rglob("*")
        found += [p for p in paths if p.is_file() and (p.suffix in suffixes or p.name in suffixes)]
    return sorted(p for p in set(found) if "__pycache__" not in p.parts)


def table(path, columns):
    """Rows of a table kept as data: cells divided by '|', '#' starts a comment line."""
    rows = []
    for number, line in enumerate(read(path).splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            cells = [cell.strip() for cell in line.split(" | ")]
            if len(cells) != columns:
                raise SystemExit(f"{path}:{number}: {len(cells)} cells where {columns} belong, divided by ' | '")
            rows.append(cells)
    return rows


def main(check, what):
    """Runs `check(root)`, which returns (violations, how many things were looked at), and ends the program."""
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    violations, looked_at = check(parser.parse_args().root.resolve())
    for violation in violations:
        print(violation)
    print(f"{what}: {looked_at} looked at, {len(violations)} violations")
    sys.exit(1 if violations or looked_at == 0 else 0)

"""FileLength: no file over 500 lines, none of lib/Driver over 120, no function over 80; functions over 40 are listed as a warning.

C++ functions are found by their shape, which clang-format (a check of its own) keeps: a body opens with a line that ends
in '{' and closes with the next '}' at the same indentation. Namespaces, types and tables are no functions.
"""

import ast
import re

import house

FILE_LIMIT = 500
VERB_LIMIT = 120  # a verb reads, calls and writes; anything else belongs into the room that it calls
FUNCTION_AIM = 40
FUNCTION_LIMIT = 80
NO_FUNCTION = re.compile(r"^\s*(namespace|class|struct|union|enum|extern|export|template\s*<[^>]*>\s*(class|struct)|#)\b|=\s*\{?$|\[\]\s*\{$")


def statement_start(lines, index):
    """The first line of the statement whose body opens at `index`."""
    while index > 0 and lines[index - 1].strip() and not lines[index - 1].rstrip().endswith((";", "{", "}", ":")):
        index -= 1
    return index


def cpp_functions(text):
    """Yields (first line, lines, name) of the function bodies."""
    lines = house.code_only(text).splitlines()
    index = 0
    while index < len(lines):
        line = lines[index].rstrip()
        start = statement_start(lines, index) if line.endswith("{") else index
        indent = len(lines[start]) - len(lines[start].lstrip())
        head = " ".join(l.strip() for l in lines[start:index + 1])
        if not line.endswith("{") or "(" not in head or NO_FUNCTION.search(head[:-1].rstrip()) or NO_FUNCTION.match(head):
            index += 1
            continue
        end = index + 1
        while end < len(lines) and not re.match(r" {%d}\}" % indent, lines[end]):
            end += 1
        yield start + 1, end - start + 1, re.sub(r"\(.*", "", head)
        index = end + 1


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno - node.lineno + 1, node.name


def check(root):
    violations, warnings = [], []
    files = house.own_files(root, ["include", "lib", "tools", "test", ".ci"], (".cpp", ".h", ".td", ".py", ".sh", "run"))
    for path in files:
        relative, text = path.relative_to(root), house.read(path)
        count = len(text.splitlines())
        limit = VERB_LIMIT if relative.parts[:2] == ("lib", "Driver") and path.suffix == ".cpp" else FILE_LIMIT
        if count > limit:
            violations.append(f"{relative}: {count} lines, {limit} is the most")
        if relative.parts[0] not in ("include", "lib", "tools") and path.suffix != ".py":
            continue
        functions = {".cpp": cpp_functions, ".h": cpp_functions, ".py": python_functions}.get(path.suffix, lambda text: ())
        for line, length, name in functions(text):
            message = f"{relative}:{line}: {name}: {length} lines"
            if length > FUNCTION_LIMIT:
                violations.append(f"{message}, {FUNCTION_LIMIT} is the most")
            elif length > FUNCTION_AIM:
                warnings.append(f"warning: {message}, aim at {FUNCTION_AIM}")
    if warnings:
        print("\n".join(warnings))
    return violations, len(files)


if __name__ == "__main__":
    house.main(check, "file length")

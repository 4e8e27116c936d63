"""Holds JSON documents against a schema: the part of JSON Schema (draft 2020-12) that `apc docs` prints.

    validate_plan.py SCHEMA PLAN...      '-' reads standard input; exit code 1 lists what is wrong
A keyword that is not known here is an error: a schema that is not checked would check nothing.
"""

import json
import re
import sys

TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
}
KEYWORDS = {
    "$schema", "title", "description", "type", "properties", "required", "additionalProperties", "propertyNames", "items",
    "minItems", "minLength", "minimum", "maximum", "pattern", "enum", "const"
}


def check_scalar(value, schema, where):
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r} is not {schema['const']!r}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if TYPES["number"](value) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{where}: {value} is out of range"
    if isinstance(value, str):
        if len(value) < schema.get("minLength", 0):
            yield f"{where}: is too short"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{where}: {value!r} does not match {schema['pattern']}"


def check_object(value, schema, where):
    properties = schema.get("properties", {})
    for key in schema.get("required", []):
        if key not in value:
            yield f"{where}: '{key}' is missing"
    for key, item in value.items():
        yield from check(key, schema.get("propertyNames", {}), f"{where}: name '{key}'")
        other = schema.get("additionalProperties", True)
        if key not in properties and other is False:
            yield f"{where}: '{key}' is not in the schema"
        yield from check(item, properties.get(key, other if isinstance(other, dict) else {}), f"{where}.{key}")


def check(value, schema, where="plan"):
    """Yields what is wrong with `value`."""
    if unknown := schema.keys() - KEYWORDS:
        yield f"{where}: the schema uses {sorted(unknown)}, which is not checked here"
    types = schema.get("type", list(TYPES))
    if not any(TYPES[name](value) for name in ([types] if isinstance(types, str) else types)):
        yield f"{where}: {value!r:.60} is no {types}"
        return
    yield from check_scalar(value, schema, where)
    if isinstance(value, dict):
        yield from check_object(value, schema, where)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"{where}: has {len(value)} entries"
        for index, item in enumerate(value):
            yield from check(item, schema.get("items", {}), f"{where}[{index}]")


def read(path):
    with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    schema, failures = read(sys.argv[1]), 0
    for path in sys.argv[2:]:
        for failure in check(read(path), schema):
            failures += 1
            print(f"{path}: {failure}")
    print(f"{len(sys.argv) - 2} documents, {failures} failures")
    sys.exit(1 if failures or len(sys.argv) < 3 else 0)


main()

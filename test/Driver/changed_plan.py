"""changed_plan.py PLAN PATH VALUE...: the plan with other values (JSON) where the paths lead: stages.0.shardings.3.role '"input"'.

A value @PATH is the one that the plan has there."""

import functools
import json
import operator
import sys


def keys(path):
    return [int(key) if key.isdigit() else key for key in path.split(".")]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        text = file.read()
    plan, before = json.loads(text), json.loads(text)
    for path, value in zip(sys.argv[2::2], sys.argv[3::2]):
        *way, last = keys(path)
        node = functools.reduce(operator.getitem, way, plan)
        from_plan = value.startswith("@")
        node[last] = functools.reduce(operator.getitem, keys(value[1:]), before) if from_plan else json.loads(value)
    json.dump(plan, sys.stdout)


if __name__ == "__main__":
    main()

"""changed_plan.py PLAN PATH VALUE...: the plan with other values (JSON) where the paths lead: stages.0.shardings.3.role '"input"'."""

import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    for path, value in zip(sys.argv[2::2], sys.argv[3::2]):
        *way, last = [int(key) if key.isdigit() else key for key in path.split(".")]
        node = plan
        for key in way:
            node = node[key]
        node[last] = json.loads(value)
    json.dump(plan, sys.stdout)


if __name__ == "__main__":
    main()

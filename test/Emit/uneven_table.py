"""uneven_table.py PLAN: the plan of tiny gpt on 8 devices with its table of 101 rows cut over axes of 2 and 4, everything else whole.
Of 51 rows the last of four pieces has 12, so padding stands between pieces, and a piece's end must be told beside its begin."""

import json
import sys


def main():
    with open(sys.argv[1]) as file:
        plan = json.load(file)
    plan["mesh"] = [dict(plan["mesh"][0], name=name, size=size) for name, size in (("a", 2), ("b", 4))]
    for choice in plan["choices"]:
        choice["strategy"] = "v:(a b)" if choice["op"] == "/wte/Gather" else "replicated"
    for value in plan["shardings"]:
        value["dims"] = [[] for _ in value["dims"]]
        value["partial"] = []
        value["local_shape"] = value["shape"]
        if value["value"] == "wte.weight":
            value["dims"][0], value["local_shape"] = ["a", "b"], [13, 24]
        if value["producer"] == "/wte/Gather":
            value["partial"] = ["a", "b"]
            looked_up = value["value"]
    plan["moves"] = [
        {"value": "wte.weight", "target": "[-, -]", "users": ["/Transpose"], "steps": ["AllGather{a b} 0"], "seconds": 0.0},
        {"value": looked_up, "target": "[-, -, -]", "users": ["/Add"], "steps": ["AllReduce{a b}"], "seconds": 0.0},
    ]
    plan["memory_bytes"] = {name: 1 << 30 for name in plan["memory_bytes"]}
    json.dump(plan, sys.stdout)


if __name__ == "__main__":
    main()

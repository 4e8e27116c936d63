# Holds the memory tables of a plan whose runtime fills half of what it takes to their own sums.
import json
import sys

plan = json.load(open(sys.argv[1]))
tables = [plan["memory_bytes"]] + [stage["memory_bytes"] for stage in plan["stages"]]
tables += [stage["memory_bytes_together"] for stage in plan["stages"] if stage["memory_bytes_together"]]
for table in tables:
    lines = {key: value for key, value in table.items() if key not in ("total", "host")}
    assert abs(lines["runtime"] - lines["activations"]) <= 2 * len(plan["stages"]), table
    assert sum(lines.values()) == table["total"] <= plan["memory_limit_bytes"], table
    assert table["host"] == 0, table
print("runtime = activations, sum = total, host 0")

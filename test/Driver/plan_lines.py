"""Lines of a plan on standard input, for FileCheck: `OP: STRATEGY` of each op, then `VALUE -> TARGET: COLLECTIVES` of each move, then
`KIND: COUNT` of each kind of collective."""
import json
import sys

for stage in json.load(sys.stdin)["stages"]:
    for choice in stage["choices"]:
        print(f"{choice['op']}: {choice['strategy']}")
    for move in stage["moves"]:
        print(f"{' '.join(move['values'])} -> {move['target']}: {' '.join(move['collectives'])}")
    for kind in stage["collectives"]:
        print(f"{kind['collective']}: {kind['count']}")

"""Bytes of all-reduces and of activations, from a plan's JSON on stdin."""
import json
import sys

plan = json.load(sys.stdin)
print(f"AllReduce {plan['communication_bytes']['AllReduce']}, activations {plan['memory_bytes']['activations']}")

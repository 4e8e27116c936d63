"""Checks that rank 0 finds 0.5, 1, 1.5, 2, or its part of them, as parameter 'b' of an emission.

folded_bias.py FOLDER
"""

import json
import struct
import sys


def main():
    folder = sys.argv[1]
    with open(f"{folder}/manifest.json") as file:
        manifest = json.load(file)
    bias = next(each for each in manifest["parameters"] if each["name"] == "b")
    name = manifest["weights"]["files"][manifest["weights"]["file_of_rank"][0]]
    with open(f"{folder}/{name}", "rb") as file:
        file.seek(bias["weights_offset"])
        found = struct.unpack(f"<{bias['weights_length'] // 4}f", file.read(bias["weights_length"]))
    expected = (0.5, 1.0, 1.5, 2.0)[: len(found)]
    assert found == expected, (found, expected)


if __name__ == "__main__":
    main()

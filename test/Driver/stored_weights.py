"""Checks that an emission of a step in bf16 keeps the weights as the file has them, in f32.

stored_weights.py FOLDER NAME VALUE...
"""

import json
import struct
import sys


def main():
    folder, name, expected = sys.argv[1], sys.argv[2], [float(text) for text in sys.argv[3:]]
    with open(f"{folder}/manifest.json") as file:
        manifest = json.load(file)
    by_name = {each["name"]: each for each in manifest["parameters"]}
    weight, master = by_name[name], by_name[name + ".master"]
    assert weight["element_type"] == "bf16" and weight["stored_type"] == "f32", weight
    assert master["element_type"] == "f32" and master["begins"] == f"copy of {name}", master
    assert weight["length"] == 4 * len(expected), weight
    ranges = manifest["layouts"][weight["layout"]]["shards"]
    assert sum(shard[1] for shard in ranges) == weight["length"], ranges
    found = []
    for place in weight["file_of_shard"]:
        with open(f"{folder}/{manifest['weights']['files'][place]}", "rb") as file:
            data = file.read()
        (length,) = struct.unpack("<Q", data[:8])
        entry = json.loads(data[8 : 8 + length])[name]
        assert entry["dtype"] == "F32", entry
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        found += struct.unpack(f"<{(end - begin) // 4}f", data[begin:end])
    assert [round(value, 4) for value in found[: len(expected)]] == expected, found


if __name__ == "__main__":
    main()

"""Checks that rank 0 finds 0.5, 1, 1.5, 2, or its part of them, as parameter 'b' of an emission.

folded_bias.py FOLDER
"""

import json
import pathlib
import struct
import sys


def main():
    folder = pathlib.Path(sys.argv[1])
    manifest = json.loads((folder / "manifest.json").read_text())
    bias = next(each for each in manifest["parameters"] if each["name"] == "b")
    shard = manifest["layouts"][bias["layout"]]["shard_of_rank"][0]
    data = (folder / manifest["weights"]["files"][bias["file_of_shard"][shard]]).read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    begin, end = json.loads(data[8 : 8 + length])["b"]["data_offsets"]
    found = struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin : 8 + length + end])
    expected = (0.5, 1.0, 1.5, 2.0)[: len(found)]
    assert found and found == expected, (found, expected)


if __name__ == "__main__":
    main()

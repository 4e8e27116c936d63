"""Writes the seeds of the fuzzers: python3 test/Fuzz/make_seeds.py. The files are kept in the repository; this says how each
was made. Models are written field by field of ONNX's protobuf, without a library, so that broken ones can be written too. The seed `plan` is the one
that is not made here: it is `printPlan(samplePlan())` of test/Plan, on one line."""

from pathlib import Path

CORPUS = Path(__file__).resolve().parent / "corpus"
FLOAT, INT64 = 1, 7


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def field(number, value):
    """One protobuf field: an int as varint, text or bytes with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def dims(sizes):
    return b"".join(field(1, field(2 if isinstance(size, str) else 1, size)) for size in sizes)


def value(name, sizes, element=FLOAT):
    return field(1, name) + field(2, field(1, field(1, element) + field(2, dims(sizes))))


def tensor(name, sizes, element=FLOAT, data=None, external=None):
    out = b"".join(field(1, size) for size in sizes) + field(2, element) + field(8, name)
    if data is not None:
        out += field(9, data)
    if external:
        out += field(13, field(1, "location") + field(2, external)) + field(14, 1)
    return out


def ints(numbers):
    return b"".join((number & (1 << 64) - 1).to_bytes(8, "little") for number in numbers)


def attribute(name, number):
    if isinstance(number, list):
        return field(1, name) + b"".join(field(8, n) for n in number) + field(20, 7)
    if isinstance(number, bytes):
        return field(1, name) + field(6, number) + field(20, 5)
    return field(1, name) + field(3, number) + field(20, 2)


def node(operator, inputs, outputs, domain="", name="", **attributes):
    out = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
    out += field(3, name) + field(4, operator) + b"".join(field(5, attribute(k, v)) for k, v in attributes.items())
    return out + field(7, domain)


def graph(nodes, inputs, outputs, initializers=()):
    return (b"".join(field(1, n) for n in nodes) + field(2, "g") + b"".join(field(5, t) for t in initializers) +
            b"".join(field(11, i) for i in inputs) + b"".join(field(12, o) for o in outputs))


def model(body, functions=(), opset=17, domains=()):
    out = field(1, 9) + field(7, body) + field(8, field(1, "") + field(2, opset))
    out += b"".join(field(8, field(1, domain) + field(2, 1)) for domain in domains)
    return out + b"".join(field(25, f) for f in functions)


def models():
    x, y = value("x", [2, 3]), value("y", [2, 4])
    weight = tensor("w", [3, 4], external="weights.data")
    matmul = node("MatMul", ["x", "w"], ["y"], name="first")
    yield "matmul", model(graph([matmul], [x], [y], [weight]))
    yield "dynamic", model(graph([node("Add", ["x", "x"], ["y"])], [value("x", ["N", 3])], [value("y", ["N", 3])]))
    yield "empty_data", model(graph([matmul], [x], [y], [tensor("w", [3, 4])]))
    yield "gemm", model(graph([node("Gemm", ["x", "w", ""], ["y"], transB=1)], [x], [y], [tensor("w", [4, 3])]))
    shape = tensor("s", [2], INT64, ints([3, -1]))
    yield "reshape", model(graph([node("Reshape", ["x", "s"], ["y"])], [x], [value("y", [3, 2])], [shape]))
    chain = [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["c"]), node("Add", ["x", "c"], ["y"])]
    yield "shape_chain", model(graph(chain, [x], [value("y", [2, 3])]))
    yield "unsorted", model(graph([node("Relu", ["h"], ["y"]), matmul.replace(b"\x12\x01y", b"\x12\x01h")], [x], [y], [weight]))
    yield "cycle", model(graph([node("Add", ["x", "b"], ["a"]), node("Add", ["x", "a"], ["b"])], [x], [value("a", [2, 3])]))
    yield "huge", model(graph([node("Relu", ["x"], ["y"])], [value("x", [1 << 40, 1 << 40])], [value("y", [1, 1])]))
    yield "transpose", model(graph([node("Transpose", ["x"], ["y"], perm=[1, 0])], [x], [value("y", [3, 2])]))
    inner = graph([node("Identity", ["x"], ["z"])], [], [value("z", [2, 3])])
    branch = node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    yield "if", model(graph([branch], [x, value("c", [], 9)], [value("y", [2, 3])]))
    silu = field(1, "Silu") + field(4, "a") + field(5, "b") + field(7, node("Sigmoid", ["a"], ["s"])) + \
        field(7, node("Mul", ["a", "s"], ["b"])) + field(9, field(2, 17)) + field(10, "own")
    call = node("Silu", ["x"], ["y"], domain="own")
    yield "function", model(graph([call], [x], [value("y", [2, 3])]), [silu], domains=["own"])
    loop = field(1, "F") + field(4, "a") + field(5, "b") + field(7, node("F", ["a"], ["b"], domain="own")) + field(10, "own")
    yield "recursion", model(graph([node("F", ["x"], ["y"], domain="own")], [x], [x]), [loop], domains=["own"])


def texts():
    """The first byte chooses the reader: 0 a problem, 1 a cluster, 2 a plan, 3 any document."""
    node_a = '{"name": "a", "strategies": [{"name": "r", "seconds": 1.0, "persistent_bytes": 4, "transient_bytes": 2}, ' \
             '{"name": "c", "seconds": 2}]}'
    yield "problem", f'0{{"memory_limit_bytes": 15, "nodes": [{node_a}, {node_a.replace(chr(34) + "a", chr(34) + "b")}], ' \
                     '"edges": [{"from": "a", "to": "b", "seconds": [[0, 1], [null, 0]]}]}'
    yield "empty_problem", '0{"nodes": [], "edges": []}'
    yield "wrong_type", '0{"nodes": [{"name": 3, "strategies": "many"}]}'
    yield "empty_cluster", "1{}"
    yield "document", '3{"key": [1, -1, 1.5e300, 18446744073709551615, "\\u00e4", null, true], "b": {"c": [[]]}}'
    yield "cluster", "1" + (CORPUS.parents[2] / "lib/Cluster/Presets/cpu-local.json").read_text()


if __name__ == "__main__":
    for name, data in models():
        (CORPUS / "ImportFuzzer" / name).write_bytes(data)
    for name, text in texts():
        (CORPUS / "JsonFuzzer" / name).write_text(text)

"""The text of an ONNX model of residual blocks of two matrices: residual_blocks.py BLOCKS WIDTH HIDDEN BATCH."""

import sys

blocks, width, hidden, batch = map(int, sys.argv[1:])


def value(kind, name, *shape):
    dims = " ".join(f"dim {{ dim_value: {size} }}" for size in shape)
    print(f'{kind} {{ name: "{name}" type {{ tensor_type {{ elem_type: 1 shape {{ {dims} }} }} }} }}')


def node(operator, name, *operands):
    inputs = " ".join(f'input: "{operand}"' for operand in operands)
    print(f'node {{ name: "{name}" op_type: "{operator}" {inputs} output: "{name}.y" }}')


print('ir_version: 8 opset_import { version: 17 } graph { name: "g"')
value("input", "x", batch, width)
last = "x"
for block in range(blocks):
    value("input", f"up{block}.w", width, hidden)
    value("input", f"down{block}.w", hidden, width)
    node("MatMul", f"up{block}", last, f"up{block}.w")
    node("Relu", f"relu{block}", f"up{block}.y")
    node("MatMul", f"down{block}", f"relu{block}.y", f"down{block}.w")
    node("Add", f"add{block}", last, f"down{block}.y")
    last = f"add{block}.y"
value("output", last, batch, width)
print("}")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the ONNX files and the XLA program of bad/files, byte by byte: tests/cli/make_onnx.py. No library is needed."""
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "onnx"))
from onnx_bytes import integer, message  # noqa: E402


def value(name, extents=(2, 3)):  # a float tensor
    shape = b"".join(message(1, integer(1, extent)) for extent in extents)
    return message(1, name) + message(2, message(1, integer(1, 1) + message(2, shape)))


def node(op, inputs, outputs, name):
    operands = b"".join(message(1, x) for x in inputs) + b"".join(message(2, x) for x in outputs)
    return operands + message(3, name) + message(4, op)


def model(nodes, initializers=b""):
    graph = b"".join(message(1, n) for n in nodes) + message(2, "g") + initializers
    graph += message(11, value("x")) + message(12, value("y"))
    opset = message(1, "") + integer(2, 17)
    return integer(1, 8) + message(2, "by hand") + message(7, graph) + message(8, opset)


def external_weight(location):
    entry = message(1, "location") + message(2, location)
    return message(5, integer(1, 2) + integer(1, 3) + integer(2, 1) + message(8, "w") + message(13, entry) + integer(14, 1))


add = model([node("Add", ["x", "x"], ["y"], "double")])
determinant = [node("Transpose", ["x"], ["t"], "turned"), node("MatMul", ["x", "t"], ["square"], "product"),
               node("Det", ["square"], ["d"], "determinant"), node("Add", ["x", "d"], ["y"], "sum")]
cycle = [node("Add", ["x", "b"], ["a"], "first"), node("Relu", ["a"], ["b"], "second"), node("Relu", ["a"], ["y"], "last")]
files = {
    "add": add,
    "truncated": add[: len(add) * 2 // 3],
    "empty": b"",
    "cycle": model(cycle),
    "no_producer": model([node("Add", ["x", "missing"], ["y"], "sum")]),
    "branch": model([node("Relu", ["x"], ["c"], "first"), node("If", ["c"], ["y"], "either")]),
    "determinant": model(determinant),
    "outside": model([node("Add", ["x", "w"], ["y"], "sum")], external_weight("../../outside.bin")),
}
hlo = message(1, message(1, "cut off") + message(3, message(1, "main") + integer(5, 1)))
(Path(__file__).parent / "bad" / "files" / "truncated.hlo.pb").write_bytes(hlo[:-3])
for name, content in files.items():
    (Path(__file__).parent / "bad" / "files" / f"{name}.onnx").write_bytes(content)

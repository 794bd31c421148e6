# SPDX-License-Identifier: Apache-2.0
"""ONNX messages byte by byte, in protobuf's wire format: no library is needed."""


def varint(number):
    number &= 2**64 - 1
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def integer(field, number):
    return varint(field << 3) + varint(number)


def message(field, content):
    content = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(extents, type_number, values, name=""):
    """A TensorProto; `values`: its bytes."""
    dims = b"".join(integer(1, extent) for extent in extents)
    return dims + integer(2, type_number) + (message(8, name) if name else b"") + message(9, values)

# SPDX-License-Identifier: Apache-2.0
"""Writes models and tensors as ONNX files, by classes that protoc makes of model/onnx/onnx_subset.proto."""
import importlib
import subprocess
import sys

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7, "bool": 9,
         "float16": 10, "float64": 11, "uint32": 12, "uint64": 13}
FLOAT, INT, STRING, TENSOR, GRAPH, FLOATS, INTS, STRINGS = 1, 2, 3, 4, 5, 6, 7, 8

messages = None


def make_classes(proto, folder):
    """Compiles the .proto file into `folder` and loads the classes."""
    global messages
    subprocess.run(["protoc", f"--proto_path={proto.parent}", f"--python_out={folder}", proto.name], check=True)
    sys.path.insert(0, str(folder))
    messages = importlib.import_module(proto.stem + "_pb2")


def tensor(array, name=""):
    made = messages.TensorProto(name=name, data_type=TYPES[array.dtype.name], raw_data=array.tobytes())
    made.dims.extend(array.shape)
    return made


def set_value(to, value):
    if isinstance(value, Graph):
        to.type = GRAPH
        to.g.CopyFrom(value.proto())
    elif isinstance(value, np.ndarray):
        to.type = TENSOR
        to.t.CopyFrom(tensor(value))
    elif isinstance(value, str):
        to.type, to.s = STRING, value.encode()
    elif isinstance(value, float):
        to.type, to.f = FLOAT, value
    elif isinstance(value, (int, np.integer)):
        to.type, to.i = INT, int(value)
    elif value and isinstance(value[0], str):
        to.type = STRINGS
        to.strings.extend(v.encode() for v in value)
    elif value and isinstance(value[0], float):
        to.type = FLOATS
        to.floats.extend(value)
    else:
        to.type = INTS
        to.ints.extend(int(v) for v in value)


class Graph:
    """Nodes, inputs (name, array), initializers (name, array) and names of outputs."""

    def __init__(self):
        self.nodes, self.inputs, self.initializers, self.outputs = [], [], [], []

    def add(self, op, operands, results, domain="", **attributes):
        self.nodes.append((op, list(operands), list(results), domain, attributes))

    def proto(self):
        graph = messages.GraphProto(name="g")
        for op, operands, results, domain, attributes in self.nodes:
            node = graph.node.add(op_type=op, input=operands, output=results, domain=domain)
            for name, value in attributes.items():
                if value is not None:
                    set_value(node.attribute.add(name=name), value)
        for name, array in self.inputs:
            of_tensor = graph.input.add(name=name).type.tensor_type
            of_tensor.elem_type = TYPES[array.dtype.name]
            of_tensor.shape.SetInParent()
            for extent in array.shape:
                of_tensor.shape.dim.add(dim_value=extent)
        for name, array in self.initializers:
            graph.initializer.append(tensor(array, name))
        for name in self.outputs:
            graph.output.add(name=name)
        return graph


def model(graph, versions):
    made = messages.ModelProto(ir_version=10, graph=graph.proto())
    for domain, version in versions.items():
        made.opset_import.add(domain=domain, version=version)
    return made.SerializeToString()

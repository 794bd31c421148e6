# SPDX-License-Identifier: Apache-2.0
"""The files of a network that superstep reads: exported models, with what PyTorch finds beside them."""
import copy
import json
import pathlib
import sys
import warnings

import torch

from catalogue import INSIDE
from pytorch_side import WithLoss, doubled, flops_of, made, reference, stored_buffers, stored_numbers

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "onnx"))
import onnx_bytes  # noqa: E402

TYPES = {torch.float32: 1, torch.uint8: 2, torch.int64: 7}
LARGEST = 30_000_000  # parameters of networks that are also exported by default
PRESERVE, TRAINING = torch.onnx.TrainingMode.PRESERVE, torch.onnx.TrainingMode.TRAINING


def save(tensor, path):
    values = tensor.detach().contiguous().numpy().tobytes()
    path.write_bytes(onnx_bytes.tensor(tensor.shape, TYPES[tensor.dtype], values))


def save_all(folder, names, tensors):
    folder.mkdir(parents=True)
    for name, tensor in zip(names, tensors):
        save(tensor, folder / f"{name}.pb")


def tensors_of(found):
    return [found] if isinstance(found, torch.Tensor) else [t for part in found for t in tensors_of(part)]


def export(net, inputs, path, network, names, outputs, mode=None, open_dimensions=None):
    """In a training mode with nothing folded; as torch.onnx.export does it by itself without one."""
    settings = {"training": mode, "do_constant_folding": False} if mode else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, tuple(inputs), str(path), opset_version=network.opset, input_names=names,
                          output_names=outputs, dynamic_axes=open_dimensions, **settings)


def lengths(network, inputs):
    """Values of open dimensions."""
    return {name: inputs[int(given.split("_")[1])].shape[i] for given, dims in (network.open_dimensions or {}).items()
            for i, name in dims.items()}


def outputs_of(network, net, inputs):
    """In fp64 where the network allows it: deep ones magnify rounding, and PyTorch's has no claim to be right."""
    with torch.no_grad():
        try:
            found = tensors_of(made(network, net.state_dict()).eval().double()(*doubled(inputs)))
        except RuntimeError:  # makes tensors of fp32 inside
            found = tensors_of(net(*inputs))
    return [value.float() if value.is_floating_point() else value for value in found]


def write_forward(folder, net, network, facts):
    """model.onnx beside inputs and outputs, as the tests of ONNX have them, in two exports."""
    inputs = network.inputs()
    net.eval()
    facts["parameters"], facts["flops"] = stored_numbers(net), flops_of(net, inputs)
    found = outputs_of(network, net, inputs)
    names, outputs = [f"input_{i}" for i in range(len(inputs))], [f"output_{i}" for i in range(len(found))]
    forms = {"forward": PRESERVE}
    if facts["parameters"] <= LARGEST:
        forms["exported_by_default"] = None
    scripted = torch.jit.script(net) if network.script else net
    for form, mode in forms.items():
        save_all(folder / form / "test_data_set_0", names + outputs, [*inputs, *found])
        export(scripted, inputs, folder / form / "model.onnx", network, names, outputs, mode, network.open_dimensions)
    facts["dimensions"], facts["batch"] = lengths(network, inputs), network.batch or inputs[0].shape[0]


def write_training(folder, state, network, facts):
    """train.onnx beside reference.json, as tests/onnx/make_references.py has them."""
    state = copy.deepcopy(state)
    inputs = (network.train_inputs or network.inputs)()

    def fresh(script=False):  # statistics move on with each pass
        net = made(network, state).train()
        net = torch.jit.script(net) if script else net
        return net if network.loss == INSIDE else WithLoss(net, network.loss)

    if network.loss != INSIDE:
        inputs = (*inputs, network.target(fresh().net(*inputs)).detach())
    folder, names = folder / "training", [f"input_{i}" for i in range(len(inputs) - 1)] + ["target"]
    save_all(folder / "test_data_set_0", names, inputs)
    export(fresh(network.script), inputs, folder / "train.onnx", network, names, ["loss"], TRAINING)
    found = reference(fresh, inputs)
    (folder / "reference.json").write_text(json.dumps(found) + "\n")
    facts.update(train_batch=network.batch or inputs[0].shape[0], loss=found["loss0_fp32"],
                 buffers=stored_buffers(fresh()))

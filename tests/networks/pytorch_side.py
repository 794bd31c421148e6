# SPDX-License-Identifier: Apache-2.0
"""What PyTorch finds: weights that are drawn, counts, loss and gradients."""
import math

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

SAMPLES = 256  # at most, per gradient
NEARBY = 3  # a ReLU or maximum that rounding decides moves gradients of deep networks by a hundredth


class Products(TorchDispatchMode):
    """Counts the floating-point operations of products: two a multiply-add."""

    def __init__(self):
        super().__init__()
        self.flops = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.__name__.split(".")[0]
        if name in ("mm", "bmm"):
            self.flops += 2 * args[0].numel() * args[1].shape[-1]
        elif name in ("addmm", "baddbmm"):
            self.flops += 2 * args[1].numel() * args[2].shape[-1]
        elif name in ("mv", "dot"):
            self.flops += 2 * args[0].numel()
        elif name == "convolution":
            transposed = args[6]
            self.flops += 2 * (args[0] if transposed else result).numel() * args[1][0].numel()
        return result


def flops_of(net, inputs):
    with Products() as products:  # with gradients: without them encoder layers run as one fused op
        net(*inputs)
    return products.flops


def stored_buffers(net):
    """Names of those that ONNX does not tell from parameters."""
    stored = net.state_dict()
    return [name for name, buffer in net.named_buffers() if name in stored and buffer.is_floating_point()
            and buffer.numel() > 1 and not name.endswith(("running_mean", "running_var"))]


def stored_numbers(net):
    buffers = dict(net.named_buffers())
    return sum(p.numel() for p in net.parameters()) + sum(buffers[name].numel() for name in stored_buffers(net))


def made(network, state=None):
    """Without random numbers in training: the generators differ."""
    net = network.make()
    for module in net.modules():
        if isinstance(module, nn.modules.dropout._DropoutNd) or type(module).__name__ == "StochasticDepth":
            module.p = 0.0
        elif isinstance(module, nn.MultiheadAttention):
            module.dropout = 0.0
    if state:
        net.load_state_dict(state)
    return net


def drawn(network):
    """Values that all differ: the exporter stores equal tensors once, and 1 and 0 hide errors."""
    net = made(network)
    norms = [m for m in net.modules() if isinstance(m, nn.modules.batchnorm._BatchNorm)]
    with torch.no_grad():
        for p in net.parameters():
            p.add_(0.02 * torch.randn_like(p))
        for norm in norms:  # small residuals and statistics as after training: else deep networks magnify rounding
            norm.weight.mul_(0.3)
            norm.momentum = 1.0
        if norms:
            net.train()
            net(*(torch.cat(pair) for pair in zip(network.inputs(), network.inputs())))
        for norm in norms:
            norm.running_var.add_(norm.running_var.mean() * (1 + 0.1 * torch.rand_like(norm.running_var))).mul_(0.6)
            norm.momentum = 0.1
    return net


class WithLoss(nn.Module):
    """The target is the last input."""

    def __init__(self, net, loss):
        super().__init__()
        self.net, self.loss = net, loss

    def forward(self, *inputs):
        return self.loss(self.net(*inputs[:-1]), inputs[-1])


def doubled(tensors):
    return [t.double() if t.is_floating_point() else t for t in tensors]


def gradients(net, data):
    with torch.backends.mkldnn.flags(enabled=False):  # 1.13: its derivative of GELU reads what nobody wrote
        loss = net(*data)
        loss.backward()
    return loss.item(), {name: p.grad for name, p in net.named_parameters() if p.grad is not None}


def nearby(net):
    """Weights as far away as rounding is."""
    with torch.no_grad():
        for p in net.parameters():
            p.mul_(1 + 2e-7 * torch.randn_like(p))
    return net


def sampled(gradients, exact, largest):
    """The first of some gradients that rounding alone tells apart, and how far from the exact one they come."""
    gradient, distance = gradients[0], max((g.double() - exact).norm().item() for g in gradients)
    norm = gradient.double().norm().item()
    flat = gradient.flatten()
    step = math.ceil(flat.numel() / SAMPLES)
    entry = {"norm": norm, "sample_step": step, "samples": flat[::step].tolist()}
    if exact.norm().item() < 1e-10 * largest:
        return {**entry, "mathematically_zero": True}
    return {**entry, "rel_err_vs_fp64": distance / exact.norm().item()}


def reference(make, data):
    """As tests/onnx/make_references.py has it, without curves. `make` makes the same network each time."""
    exact_loss, exact = gradients(make().double(), doubled(data))
    loss, found = gradients(make(), data)
    others = [gradients(nearby(make()), data)[1] for _ in range(NEARBY)]
    largest = max(g.norm().item() for g in exact.values())
    return {"loss0_fp32": loss, "loss0_fp64": exact_loss,
            "grads": {name: sampled([g[name] for g in (found, *others)], exact[name], largest) for name in found},
            "curves": {}}

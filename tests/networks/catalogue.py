# SPDX-License-Identifier: Apache-2.0
"""Which networks check_networks.py exports: torchvision's without their weights, and our_networks.py."""
import dataclasses
import zlib
from typing import Any, Callable

import torch
from torch import nn
from torch.nn import functional as F
from torchvision import models as tv

import our_networks as own


@dataclasses.dataclass
class Network:
    name: str
    family: str
    make: Callable[[], nn.Module]
    inputs: Callable[[], tuple]
    loss: Any = None  # a function of output and target, INSIDE, or None: not trained
    target: Any = None  # a function of the output
    train_inputs: Any = None  # where they are not `inputs`
    open_dimensions: Any = None  # names of dimensions that the export leaves open: {input: {dimension: name}}
    least_opset: int = 13
    script: bool = False  # torch.jit.script instead of a trace
    batch: int = 0  # samples; 0: as many as the first input's first dimension

    @property
    def opset(self):  # each from 13 to 17 for a fifth of the networks
        # scatter_add and grid_sample need 16
        return max(self.least_opset, 13 + zlib.crc32(self.name.encode()) % 5)


INSIDE = "inside"


def classes(found, target):
    return F.cross_entropy(found, target)


def class_of_each(found):
    return torch.randint(0, found.shape[1], found.shape[:1] + found.shape[2:])


def tokens(found, target):
    return F.cross_entropy(found.flatten(0, -2), target.flatten())


def token_of_each(found):
    return torch.randint(0, found.shape[-1], found.shape[:-1])


def squares(found, target):
    return (found - target).pow(2).mean()  # torch 1.13 does not export mse_loss


def numbers(found):
    return torch.randn_like(found)


def zeros_and_ones(found):
    return torch.randint(0, 2, found.shape).float()


CLASSES, TOKENS = (classes, class_of_each), (tokens, token_of_each)
SQUARES, BINARY = (squares, numbers), (F.binary_cross_entropy_with_logits, zeros_and_ones)

ALL: list[Network] = []


def add(name, family, make, inputs, loss=(None, None), **more):
    ALL.append(Network(name, family, make, inputs, *loss, **more))


def pictures(batch, size, channels=3):
    return lambda: (torch.randn(batch, channels, size, size),)


def floats(*shape):
    return lambda: (torch.randn(shape),)


def ids(most, *shape):
    return lambda: (torch.randint(1, most, shape),)


# torchvision: images at the size they were made for, training on small ones


def images(name, family="convolutional", size=224, train=64, loss=CLASSES, **settings):
    make = lambda: getattr(tv, name)(weights=None, **settings)
    add(name, family, make, pictures(1, size), loss if train else (None, None),
        train_inputs=pictures(4, train) if train else None)


images("resnet18")
images("resnet50")
images("resnext50_32x4d", train=0)
images("resnet152", train=0)
images("wide_resnet50_2", train=0)
images("alexnet", train=0)
images("vgg11_bn", train=0)
images("squeezenet1_1")
images("densenet121")
images("mobilenet_v2")
images("mobilenet_v3_small")
images("mobilenet_v3_large", train=0)
images("mnasnet0_5")
images("efficientnet_b0")
images("efficientnet_b4", train=0)
images("efficientnet_v2_s", train=0)
images("regnet_y_400mf")
images("regnet_x_400mf")
images("shufflenet_v2_x1_0")
images("googlenet", init_weights=False, aux_logits=False, transform_input=True)
images("inception_v3", size=299, train=0, init_weights=False, aux_logits=False)
images("convnext_tiny")
images("swin_t", "vision transformer")
images("vit_b_32", "vision transformer", train=0)
images("maxvit_t", "vision transformer", train=0)


def first_output(found):
    return found["out"]


def segmentation(name, size, train=0):
    make = lambda: own.Stacked(getattr(tv.segmentation, name)(weights=None, weights_backbone=None), first_output)
    add(name, "segmentation", make, pictures(1, size), CLASSES if train else (None, None),
        train_inputs=pictures(2, train) if train else None)


segmentation("fcn_resnet50", 128)
segmentation("deeplabv3_mobilenet_v3_large", 224, 64)
segmentation("lraspp_mobilenet_v3_large", 224, 64)


def backbone(name):
    make = lambda: own.Stacked(tv.detection.backbone_utils.resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, norm_layer=nn.BatchNorm2d, trainable_layers=5),
        lambda found: tuple(found.values()))
    add(name, "detection", make, pictures(1, 224))


backbone("resnet18_fpn")


class Heads(nn.Module):
    """A detector up to its boxes and classes of all anchors: what follows depends on the data."""

    def __init__(self, detector):
        super().__init__()
        self.backbone, self.head = detector.backbone, detector.head

    def forward(self, x):
        found = self.head(list(self.backbone(x).values()))
        return found["bbox_regression"], found["cls_logits"]


def detector(name):
    return lambda: Heads(getattr(tv.detection, name)(weights=None, weights_backbone=None))


add("ssdlite320_heads", "detection", detector("ssdlite320_mobilenet_v3_large"), pictures(1, 320))
add("retinanet_heads", "detection", detector("retinanet_resnet50_fpn"), pictures(1, 128))


def video(name, frames, size, train=True):
    make = lambda: getattr(tv.video, name)(weights=None)
    add(name, "video", make, floats(1, 3, frames, size, size), CLASSES if train else (None, None),
        train_inputs=floats(2, 3, 8, 32, 32) if train else None)


video("r3d_18", 8, 56)
video("mc3_18", 8, 56, False)
video("r2plus1d_18", 8, 56, False)
video("s3d", 16, 224, False)


def mvit(second):
    """Three blocks of torchvision's MViT, which has none in small; as of version 2 with relative places."""
    block = tv.video.mvit.MSBlockConfig
    blocks = [block(1, 16, 32, [], [3, 3, 3], [], [1, 4, 4]),
              block(2, 32, 32, [3, 3, 3], [3, 3, 3], [1, 2, 2], [1, 2, 2]),
              block(2, 32, 32, [3, 3, 3], [3, 3, 3], [1, 1, 1], [1, 2, 2])]
    return tv.video.MViT(spatial_size=(64, 64), temporal_size=8, block_setting=blocks, residual_pool=second,
                         residual_with_cls_embed=not second, rel_pos_embed=second, proj_after_attn=second)


for version in (1, 2):
    add(f"mvit_v{version}", "video", lambda second=version == 2: mvit(second), floats(2, 3, 8, 64, 64))
add("raft_small", "optical flow", lambda: own.Stacked(
    own.Fixed(tv.optical_flow.raft_small(weights=None), num_flow_updates=2), lambda found: found[-1]),
    lambda: (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128)), least_opset=16)

# Transformers

add("classifier_post_norm", "encoder", own.Classifier, ids(50, 4, 12), CLASSES)
add("classifier_pre_norm", "encoder", lambda: own.Classifier(True, "gelu"), ids(50, 4, 12), CLASSES,
    open_dimensions={"input_0": {0: "batch"}})
add("bert", "encoder", own.Bert, lambda: (
    torch.randint(1, 60, (3, 10)), torch.randint(0, 2, (3, 10)), (torch.rand(3, 10) > 0.2).long()), CLASSES,
    open_dimensions={f"input_{i}": {0: "batch", 1: "length"} for i in range(3)})
add("translator", "encoder and decoder", own.Translator,
    lambda: (torch.randint(0, 40, (9, 3)), torch.randint(0, 40, (7, 3))), TOKENS, batch=3)
add("gpt2", "decoder", own.Gpt2, ids(64, 3, 10), TOKENS)
add("gpt2_open", "decoder", own.Gpt2, ids(64, 3, 10), TOKENS, open_dimensions={"input_0": {0: "batch", 1: "length"}})
add("llama", "decoder", own.Llama, ids(64, 2, 12), TOKENS)
add("llama_open", "decoder", own.Llama, ids(64, 2, 12), open_dimensions={"input_0": {0: "batch", 1: "length"}})
add("alibi", "decoder", own.Alibi, ids(48, 2, 9), TOKENS)
add("cached_step", "decoder", own.Cached,
    lambda: (torch.randn(2, 1, 32), torch.randn(2, 4, 6, 8), torch.randn(2, 4, 6, 8)),
    open_dimensions={"input_1": {2: "past"}, "input_2": {2: "past"}})
add("t5", "encoder", own.T5, ids(48, 2, 9), TOKENS)
add("albert", "encoder", own.Albert, ids(50, 3, 8), CLASSES)
add("shared_bias", "MLP", own.SharedBias, floats(2, 4), SQUARES)
add("perceiver", "encoder", own.Perceiver, floats(3, 20, 10), CLASSES)
add("mixture_best_two", "mixture of experts", own.Mixture, floats(3, 5, 16), CLASSES)
add("mixture_soft", "mixture of experts", own.SoftMixture, floats(3, 5, 16), SQUARES)
add("linear_attention", "encoder", own.LinearAttention, floats(2, 8, 24), SQUARES)
add("linear_attention_causal", "decoder", lambda: own.LinearAttention(causal=True), floats(2, 8, 24), SQUARES)
add("image_transformer", "vision transformer", own.ImageTransformer, pictures(2, 32), CLASSES)
add("mixer", "MLP", own.Mixer, pictures(2, 32), CLASSES)
add("fourier_mixing", "encoder", own.Fourier, floats(2, 12, 16), SQUARES)

# Recurrent


def tagger(name, kind, **settings):
    first = {} if settings.get("batch_first") else {"batch": 3}
    shape = (3, 7) if settings.get("batch_first") else (7, 3)
    add(name, "recurrent", lambda: own.Tagger(kind, **settings), ids(30, *shape), TOKENS, **first)


tagger("lstm", nn.LSTM)
tagger("lstm_two_ways", nn.LSTM, num_layers=2, bidirectional=True, batch_first=True)
tagger("lstm_no_bias", nn.LSTM, bias=False, batch_first=True)
tagger("gru", nn.GRU, num_layers=2, batch_first=True)
tagger("gru_two_ways", nn.GRU, bidirectional=True)
tagger("rnn_tanh", nn.RNN, batch_first=True)
tagger("rnn_relu_two_ways", nn.RNN, nonlinearity="relu", num_layers=2, bidirectional=True, batch_first=True)
add("lstm_last_state", "recurrent", own.LastState,
    lambda: (torch.randn(6, 2, 8), torch.randn(4, 2, 10), torch.randn(4, 2, 10)), CLASSES, batch=2)
add("cells", "recurrent", own.Cells, floats(3, 5, 6), SQUARES)
add("sequence_to_sequence", "recurrent", own.SequenceToSequence,
    lambda: (torch.randint(0, 30, (3, 8)), torch.randint(0, 30, (3, 5))), TOKENS)
add("conv_lstm", "recurrent", own.ConvLstm, floats(2, 4, 2, 10, 10), SQUARES)

# Sound and text

add("wave", "audio", own.Wave, floats(2, 400),
    (lambda found, target: F.nll_loss(found.flatten(0, 1), target.flatten()), token_of_each))
add("keywords", "audio", own.Spectrogram, floats(4, 1, 49, 10), CLASSES)
add("conformer", "audio", own.Conformer, floats(2, 12, 24), SQUARES)
add("tcn", "audio", own.Temporal, floats(2, 2, 20), SQUARES)
add("wavenet", "audio", own.WaveNet, floats(2, 1, 24), CLASSES)
add("characters", "text", own.Characters, ids(40, 3, 15), CLASSES)
add("state_space", "audio", own.StateSpace, floats(2, 8, 16), SQUARES)

# Generative

add("unet", "U-Net", own.UNet, pictures(2, 32), BINARY)
add("diffusion", "U-Net", own.Diffusion, lambda: (torch.randn(2, 3, 16, 16), torch.randint(0, 1000, (2,))),
    SQUARES)
add("dcgan_generator", "GAN", own.dcgan_generator, floats(2, 16, 1, 1), SQUARES)
add("dcgan_discriminator", "GAN", lambda: own.dcgan_discriminator(lambda layer: layer), pictures(2, 32), BINARY)
add("dcgan_discriminator_spectral", "GAN", lambda: own.dcgan_discriminator(nn.utils.spectral_norm),
    pictures(2, 32))
add("vae", "autoencoder", own.Vae, lambda: (torch.rand(4, 64), torch.randn(4, 4)), (INSIDE, None))
add("autoencoder", "autoencoder", own.autoencoder, pictures(2, 28, 1), SQUARES)
add("super_resolution", "image to image", own.SuperResolution, pictures(2, 12),
    (lambda found, target: (found - target).abs().mean(), numbers))
add("style_transfer", "image to image", own.StyleTransfer, pictures(1, 32), SQUARES)
add("siren", "coordinates", own.Siren, floats(16, 2), SQUARES)
add("radiance", "coordinates", own.Radiance, floats(4, 6, 3), SQUARES)
add("coupling", "flow", own.Coupling, floats(6, 8), (INSIDE, None))

# Tables, graphs, the rest

add("recommender", "recommendation", own.Recommender,
    lambda: (torch.randn(4, 5), torch.randint(0, 20, (4, 3, 1))), BINARY)
add("recommender_bags", "recommendation", lambda: own.Recommender(bags=True),
    lambda: (torch.randn(4, 5), torch.randint(0, 20, (4, 3, 2))), BINARY)
add("wide_and_deep", "recommendation", own.WideAndDeep,
    lambda: (torch.randint(0, 20, (4,)), torch.randn(4, 10)), BINARY)
add("graph_convolution", "graph", own.GraphConvolution,
    lambda: (torch.randn(2, 7, 8), torch.randint(0, 2, (2, 7, 7)).float()), TOKENS)
add("graph_attention", "graph", own.GraphAttention,
    lambda: (torch.randn(2, 7, 8), torch.randint(0, 2, (2, 7, 7)).float() + torch.eye(7)), TOKENS)
add("messages", "graph", own.Messages,
    lambda: (torch.randn(6, 8), torch.randint(0, 6, (10,)), torch.randint(0, 6, (10,))), TOKENS, least_opset=16)
add("pointnet", "graph", own.PointNet, floats(3, 3, 20), CLASSES)
add("spatial_transformer", "convolutional", own.Spatial, pictures(2, 16, 1), CLASSES, least_opset=16)
add("actor_critic", "reinforcement", own.Actor, floats(4, 8))
add("dueling_atari", "reinforcement", own.DuelingAtari,
    lambda: (torch.randint(0, 256, (2, 4, 52, 52), dtype=torch.uint8),))
add("clip", "contrastive", own.Contrastive,
    lambda: (torch.randn(4, 3, 16, 16), torch.randint(0, 30, (4, 5))), (INSIDE, None))
add("siamese", "contrastive", own.Siamese,
    lambda: (torch.randn(4, 10), torch.randn(4, 10), torch.randint(0, 2, (4,)).float()), (INSIDE, None))
add("radial_functions", "MLP", own.Kan, floats(6, 4), SQUARES)
add("pyramid", "detection", own.Pyramid, pictures(1, 64))
add("yolo", "detection", own.Yolo, pictures(2, 32))

# As torch.jit.script exports them

add("scripted_mlp", "script", lambda: mlp(), floats(8, 6), script=True)
add("scripted_resnet18", "script", lambda: tv.resnet18(weights=None), pictures(1, 64), script=True)
add("scripted_mobilenet_v2", "script", lambda: tv.mobilenet_v2(weights=None), pictures(1, 64), script=True)
add("scripted_unet", "script", own.UNet, pictures(1, 32), script=True)
add("scripted_steps", "script", own.StepsWithLoss, lambda: (torch.randn(3, 5, 6), torch.randn(3, 6)), (INSIDE, None),
    script=True)
add("scripted_list", "script", own.StepsInList, floats(3, 5, 6), script=True)
add("scripted_choice", "script", own.Choice, floats(3, 6), script=True)


# Losses, over one small network


def mlp():
    return nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 5))


WEIGHTS = torch.tensor([1.0, 2.0, 0.5, 1.5, 1.0])


def loss_of(name, loss, target):
    add("loss_" + name, "loss", mlp, floats(8, 6), (loss, target))


def missing_some(found):
    target = class_of_each(found)
    target[::3] = -100
    return target


def weighted(y, t):
    return F.cross_entropy(y, t, WEIGHTS.to(y.dtype))


def smoothed(y, t):
    return -(torch.log_softmax(y, -1) * (0.9 * F.one_hot(t, 5) + 0.02)).sum(-1).mean()


def huber(y, t):
    return torch.where((y - t).abs() < 1, 0.5 * (y - t) ** 2, (y - t).abs() - 0.5).mean()


def divergence(y, t):
    return F.kl_div(F.log_softmax(y, -1), t, reduction="batchmean")


def binary(y, t):
    p = torch.sigmoid(y)
    return -(t * p.log() + (1 - t) * (1 - p).log()).mean()


def binary_weighted(y, t):
    return F.binary_cross_entropy_with_logits(y, t, pos_weight=WEIGHTS.to(y.dtype))


def focal(y, t):
    return (F.binary_cross_entropy_with_logits(y, t, reduction="none") * (1 - torch.sigmoid(y)) ** 2).mean()


def dice(y, t):
    p = torch.sigmoid(y)
    return 1 - (2 * (p * t).sum(1) / (p.sum(1) + t.sum(1) + 1)).mean()


def gaussian(y, t):
    spread = y[:, 4:].clamp(-3, 3)
    return (0.5 * (spread + (y[:, :4] - t[:, :4]) ** 2 / spread.exp())).mean()


loss_of("cross_entropy_weights", weighted, class_of_each)
loss_of("cross_entropy_missing", F.cross_entropy, missing_some)
loss_of("cross_entropy_sum", lambda y, t: F.cross_entropy(y, t, reduction="sum"), class_of_each)
loss_of("label_smoothing", smoothed, class_of_each)
loss_of("soft_targets", lambda y, t: -(torch.log_softmax(y, -1) * t).sum(-1).mean(), lambda y: y.softmax(-1))
loss_of("nll", lambda y, t: F.nll_loss(F.log_softmax(y, 1), t), class_of_each)
loss_of("absolute", lambda y, t: (y - t).abs().mean(), numbers)
loss_of("huber", huber, numbers)
loss_of("divergence", divergence, lambda y: torch.randn_like(y).softmax(-1))
loss_of("binary", binary, zeros_and_ones)
loss_of("binary_weights", binary_weighted, zeros_and_ones)
loss_of("focal", focal, zeros_and_ones)
loss_of("dice", dice, zeros_and_ones)
loss_of("hinge", lambda y, t: F.relu(1 - y * (2 * t - 1)).mean(), zeros_and_ones)
loss_of("gaussian_nll", gaussian, numbers)
loss_of("cosine", lambda y, t: (1 - F.cosine_similarity(y, t, dim=1)).mean(), numbers)
loss_of("log_cosh", lambda y, t: (F.softplus(2 * (y - t)) - (y - t)).mean(), numbers)
loss_of("squares_sum", lambda y, t: ((y - t) ** 2).sum() / y.shape[0], numbers)
loss_of("poisson", lambda y, t: (y.exp() - t.abs() * y).mean(), numbers)

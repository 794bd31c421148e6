# SPDX-License-Identifier: Apache-2.0
"""Stands for PopART: the names of its Python module, and what it refuses when it compiles.

Places in PopART's sources are of graphcore/popart d2f20d7; those without a folder are in willow/src.
"""
import contextlib

from .strict import Struct, converted, need, names

# Enumerations: python/popart/popart_core/popart.cpp:606, numbers as in willow/include/popart/sessionoptions.hpp:79.
AccumulateOuterFragmentSchedule = names(
    "AccumulateOuterFragmentSchedule", "Scheduler Serial OverlapCycleOptimized OverlapMemoryOptimized")
AdamMode = names("AdamMode", "Adam AdamNoBias Lamb LambNoBias AdaMax")
CommGroupType = names("CommGroupType", "All Consecutive Orthogonal Ungrouped")
DataType = names("DataType", "UNDEFINED FLOAT FLOAT16")
ExecutionPhaseIOSchedule = names("ExecutionPhaseIOSchedule", "Preload OnDemand")
ExecutionPhaseSchedule = names("ExecutionPhaseSchedule", "Interleaving Batch BatchClusteredIO")
MeanReductionStrategy = names("MeanReductionStrategy", "Running Post")
RecomputationType = names("RecomputationType", "NoRecompute Standard NormOnly Pipeline RecomputeAll")
ReductionType = names("ReductionType", "Sum Mean NoReduction")
ReplicatedTensorSharding = names("ReplicatedTensorSharding", "Off On")
SGDAccumulatorAndMomentum = names("SGDAccumulatorAndMomentum", "Combined Separate")
TensorStorage = names("TensorStorage", "OnChip OffChip")
TileSet = names("TileSet", "Compute IO")
VirtualGraphMode = names("VirtualGraphMode", "Off Manual Auto ExecutionPhases")
WeightDecayMode = names("WeightDecayMode", "Decay L2Regularization")


class CommGroup(Struct):
    FIELDS = {"type": CommGroupType.All, "replicaGroupSize": 0}

    def __init__(self, type=CommGroupType.All, replicaGroupSize=0):
        super().__init__(type=type, replicaGroupSize=replicaGroupSize)


class TensorLocation(Struct):
    # popart.cpp:1026
    FIELDS = {"storage": TensorStorage.OnChip, "loadTileSet": TileSet.Compute, "storageTileSet": TileSet.Compute,
              "replicatedTensorSharding": ReplicatedTensorSharding.Off, "shardingDomain": CommGroup()}

    def __init__(self, storage=TensorStorage.OnChip, loadTileSet=TileSet.Compute, storageTileSet=TileSet.Compute,
                 replicatedTensorSharding=ReplicatedTensorSharding.Off):
        super().__init__(storage=storage, loadTileSet=loadTileSet, storageTileSet=storageTileSet,
                         replicatedTensorSharding=replicatedTensorSharding)

    def is_off_chip(self):
        return self.storage is TensorStorage.OffChip

    def is_sharded(self):
        return self.replicatedTensorSharding is ReplicatedTensorSharding.On


class TensorLocationSettings(Struct):
    FIELDS = {"location": TensorLocation(), "minElementsForOffChip": 2, "minElementsForReplicatedTensorSharding": 8192}

    def __init__(self, location=TensorLocation()):
        super().__init__(location=location)


class ExecutionPhaseSettings(Struct):
    FIELDS = {"phases": 0, "stages": 2, "weightIOSchedule": ExecutionPhaseIOSchedule.Preload,
              "activationIOSchedule": ExecutionPhaseIOSchedule.Preload,
              "optimizerStateIOSchedule": ExecutionPhaseIOSchedule.OnDemand,
              "accumulatorIOSchedule": ExecutionPhaseIOSchedule.Preload,
              "schedule": ExecutionPhaseSchedule.Interleaving}


class BatchSerializationSettings(Struct):
    FIELDS = {"factor": 0, "concatOnVirtualGraphChange": True, "concatOnExecutionPhaseChange": True,
              "concatOnPipelineStageChange": True}


class AccumulateOuterFragmentSettings(Struct):
    FIELDS = {"schedule": AccumulateOuterFragmentSchedule.Serial, "excludedVirtualGraphs": []}

    def __init__(self, schedule=AccumulateOuterFragmentSchedule.Serial, excludedVirtualGraphs=()):
        super().__init__(schedule=schedule, excludedVirtualGraphs=list(excludedVirtualGraphs))


class AutomaticLossScalingSettings(Struct):
    FIELDS = {"enabled": False, "binEdgeLocation": 0.125, "thresholdUpperCountProportion": 1e-7, "updatePeriod": 1}


class SessionOptions(Struct):
    # The session options of popart.cpp:1386 of these types; tests/cli/settings.sh needs no more of them.
    FIELDS = {
        **dict.fromkeys(
            "aliasZeroCopy decomposeGradSum disableGradAccumulationTensorStreams disableOptimizerStateTensorStreams "
            "enableDistributedReplicatedGraphs enableEngineCaching enableExplicitMainLoops enableFloatingPointChecks "
            "enableGradientAccumulation enableLoadAndOffloadRNGState enableNonStableSoftmax enablePipelining "
            "enableReplicatedGraphs enableStableNorm enableStochasticRounding explicitRecomputation groupHostSync "
            "instrumentWithHardwareCycleCounter rearrangeStreamsOnHost "
            "scheduleNonWeightUpdateGradientConsumersEarly useHostCopyOps".split(), False),
        **dict.fromkeys(
            "constantWeights delayVarUpdates enableFullyConnectedPass enableMergeExchange enableOutlining "
            "enableOutliningCopyCostPruning enablePrefetchDatastreams enableSupportedDataTypeCasting "
            "rearrangeAnchorsOnHost".split(), True),
        **dict.fromkeys(
            "accumulationFactor defaultBufferingDepth globalReplicationFactor replicatedGraphCount".split(), 1),
        **dict.fromkeys("globalReplicaOffset numIOTiles".split(), 0),
        **dict.fromkeys("cachePath logDir partialsTypeMatMuls".split(), ""),
        # python/popart/__init__.py.in:104
        **dict.fromkeys(
            "convolutionOptions engineOptions gclOptions lstmOptions matmulOptions reportOptions".split(), {}),
        "accumulateOuterFragmentSettings": AccumulateOuterFragmentSettings(),
        "accumulationAndReplicationReductionType": ReductionType.Sum,
        "accumulatorTensorLocationSettings": TensorLocationSettings(),
        "activationTensorLocationSettings": TensorLocationSettings(),
        "automaticLossScalingSettings": AutomaticLossScalingSettings(),
        "autoRecomputation": RecomputationType.NoRecompute,
        "batchSerializationSettings": BatchSerializationSettings(),
        "executionPhaseSettings": ExecutionPhaseSettings(),
        "meanAccumulationAndReplicationReductionStrategy": MeanReductionStrategy.Post,
        "optimizerStateTensorLocationSettings": TensorLocationSettings(),
        "virtualGraphMode": VirtualGraphMode.Off,
        "weightTensorLocationSettings": TensorLocationSettings(),
    }


class ClipNormSettings:
    def __init__(self, weight_ids, max_norm):
        self.weights, self.max_norm = weight_ids, converted(max_norm, 1.0, "maxNorm")

    @staticmethod
    def clipAllWeights(max_norm):
        return ClipNormSettings(None, max_norm)


class Optimizer:
    """What optimizers share: values by name, each a number and whether it is constant."""

    KEYS = ()

    def __init__(self, values, clip_norm_settings, types):
        for key, value in values.items():
            # adam.cpp:389, sgd.cpp:305
            need(key in self.KEYS, f"{type(self).__name__} takes no value {key}")
            # popart.cpp:122
            need(isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], bool),
                 f"the value of {key} is a tuple of a number and a bool, not {value!r}")
        for kind in types:
            # patterns/optimizerdecompose.cpp:105
            need(kind in (DataType.FLOAT, DataType.FLOAT16), "state of an optimizer is of FLOAT16 or FLOAT")
        # optimizer.cpp:149
        self.loss_scaling, self.is_loss_scaling_constant = values.get("lossScaling", (1.0, True))
        need(self.loss_scaling != 0, "a loss scale of 0")
        # transforms/clipweightgradientsbynorm.cpp:469
        need(len(clip_norm_settings) < 2 or all(c.weights for c in clip_norm_settings),
             "a norm of all weights leaves no weights for another one")
        self.clips = bool(clip_norm_settings)


class SGD(Optimizer):
    KEYS = ("defaultLearningRate defaultWeightDecay defaultMomentum defaultDampening defaultVelocityScaling "
            "lossScaling nesterov").split()

    def __init__(self, pyd, clip_norm_settings=(), accumulatorAndMomentum=SGDAccumulatorAndMomentum.Combined,
                 accumType=DataType.UNDEFINED, accl1Type=DataType.UNDEFINED, debugContext="sgd"):
        separate = accumulatorAndMomentum is SGDAccumulatorAndMomentum.Separate
        super().__init__(pyd, clip_norm_settings, [accumType, accl1Type] if separate else [])


class Adam(Optimizer):
    KEYS = ("defaultLearningRate defaultWeightDecay defaultBeta1 defaultBeta2 defaultEps lossScaling "
            "defaultMaxWeightNorm maxWeightNorm").split()

    def __init__(self, values, mode=AdamMode.Adam, weight_decay_mode=WeightDecayMode.Decay,
                 accum_type=DataType.UNDEFINED, accl1_type=DataType.FLOAT, accl2_type=DataType.FLOAT,
                 clip_norm_settings=(), scaled_optimizer_state=False, debugContext="adam"):
        converted(mode, AdamMode.Adam, "mode")
        converted(weight_decay_mode, WeightDecayMode.Decay, "weight_decay_mode")
        super().__init__(values, clip_norm_settings, [accum_type, accl1_type, accl2_type])


class Operator:
    """An operator of the model that the stand-in builds: one of each unit."""

    def __init__(self, unit, weight, places):
        self.unit, self.weight = unit, weight
        self.virtual_graph = places.get("virtualGraph")
        self.stage = places.get("pipelineStage")
        self.phase = places.get("executionPhase")


class Builder:
    def __init__(self):
        self.operators, self.kept, self.places = [], [], {}

    @contextlib.contextmanager
    def _within(self, what, value):
        before = self.places
        self.places = {**before, what: value}
        yield
        self.places = before

    def virtualGraph(self, virtualGraphId):
        return self._within("virtualGraph", converted(virtualGraphId, 0, "virtualGraph"))

    def pipelineStage(self, pipelineStage):
        return self._within("pipelineStage", converted(pipelineStage, 0, "pipelineStage"))

    def executionPhase(self, executionPhase):
        return self._within("executionPhase", converted(executionPhase, 0, "executionPhase"))

    def nameScope(self, name):
        return self._within("nameScope", converted(name, "", "nameScope"))

    def setAvailableMemoryProportion(self, nodeOutputName, availableMemoryProportion):
        # builder.cpp:1782
        need(0 < availableMemoryProportion <= 1, "a proportion of available memory is above 0 and at most 1")

    def checkpointOutput(self, nodeOutputNames):
        self.kept += nodeOutputNames
        return list(nodeOutputNames)

    def add(self, unit, weight):  # of the stand-in
        self.operators.append(Operator(unit, weight, self.places))


class Session:
    """What PopART is given to compile. No optimizer: inference.

    Virtual graphs are the IPUs of a replica; `batch` counts the samples in the shapes of inputs.
    """

    def __init__(self, options, optimizer, operators, ipus, batch, batches_per_step, is_half, instances=1):
        self.options, self.optimizer, self.operators = options, optimizer, operators
        self.ipus, self.batch, self.batches_per_step, self.is_half = ipus, batch, batches_per_step, is_half
        self.instances = instances
        self.replicas = options.replicatedGraphCount
        self.phases = options.executionPhaseSettings
        mode = options.virtualGraphMode
        self.is_phased = mode is VirtualGraphMode.ExecutionPhases and self.phases.phases > 1
        self.virtual_graphs = self.ipus // self.replicas if self.replicas else 0
        self.locations = {
            "weight": options.weightTensorLocationSettings.location,
            "accumulator": options.accumulatorTensorLocationSettings.location,
            "optimizerState": options.optimizerStateTensorLocationSettings.location,
            "activation": options.activationTensorLocationSettings.location,
        }
        if optimizer is None:  # there are no such tensors
            self.locations = {what: self.locations[what] for what in ("weight", "activation")}

    def graph_of(self, operator):
        # transforms/streamingmemoryopinserter.cpp:2313: phases alternate between virtual graphs
        if self.is_phased and operator.virtual_graph is None:
            return operator.phase % self.phases.stages
        return operator.virtual_graph or 0

    def pipeline_stages(self):
        """Stages forward, in training backward without the last.

        Neighbours on one virtual graph are merged: transforms/pipeline.cpp:1381.
        """
        graphs = []
        for _, graph in sorted({(o.stage, self.graph_of(o)) for o in self.operators}):
            if not graphs or graphs[-1] != graph:
                graphs.append(graph)
        return len(graphs) * 2 - 1 if self.optimizer else len(graphs)


def replication(s):
    need(s.options.enableReplicatedGraphs or s.replicas == 1,
         "replicatedGraphCount has no effect without enableReplicatedGraphs")  # sessionoptions.cpp:245
    need(s.ipus % s.replicas == 0, "the replicas have no equal numbers of IPUs")  # ir.cpp:3359


def accumulation(s):
    o = s.options
    # ir.cpp:1320
    need(s.optimizer or not o.enableGradientAccumulation, "inference accumulates no gradients")
    need(o.enableGradientAccumulation or o.accumulationFactor <= 1,
         "accumulationFactor is above 1 without enableGradientAccumulation")  # sessionoptions.cpp:257


def virtual_graphs(s):
    if s.options.virtualGraphMode is VirtualGraphMode.Off:
        # popx/irlowering.cpp:2989
        need(s.ipus in (1, s.replicas), "several IPUs of a replica need virtual graphs")
        return
    for o in s.operators:
        need(0 <= s.graph_of(o) < s.virtual_graphs,
             f"{o.unit} is on virtual graph {s.graph_of(o)}, which the replica has not")  # popx/irlowering.cpp:2978


def pipeline_settings(s):
    if not s.options.enablePipelining:
        return
    need(s.virtual_graphs > 1 and s.options.virtualGraphMode is not VirtualGraphMode.Off,
         "a pipeline of a single IPU")  # ir.cpp:580
    graphs = {}
    for o in s.operators:
        need(o.stage is not None, "an operator has no pipeline stage")  # ir.cpp:624
        graphs.setdefault(o.stage, set()).add(s.graph_of(o))
    need(all(len(g) == 1 for g in graphs.values()), "a pipeline stage is on several virtual graphs")  # ir.cpp:654


def phase_settings(s):
    p = s.phases
    if s.options.virtualGraphMode is not VirtualGraphMode.ExecutionPhases:
        need(p.phases <= 1, "several execution phases without VirtualGraphMode.ExecutionPhases")  # ir.cpp:693
        need(p.is_default(), "execution phase settings have no effect without execution phases")  # ir.cpp:704
        return
    need(p.phases > 1, "a single execution phase is none")  # ir.cpp:716, a warning
    need(p.stages in (1, 2), f"phases alternate between 1 or 2 groups, not {p.stages}")  # sessionoptions.hpp:559
    for o in s.operators:
        # transforms/streamingmemory.cpp:185
        need(o.phase < p.phases, f"{o.unit} is in phase {o.phase} of {p.phases}")
        # transforms/streamingmemoryopinserter.cpp:2313
        need(o.phase % p.stages == s.graph_of(o) % p.stages,
             f"{o.unit}: phase {o.phase} is not of its virtual graph")
    for before, after in zip(s.operators, s.operators[1:]):
        # transforms/streamingmemory.cpp:75
        need(before.phase <= after.phase, "an operator is in an earlier phase than what it reads")


def phase_distance(s):
    """A tensor stays on its IPU for two more phases (transforms/streamingmemoryopinserter.cpp:1697)."""
    off_chip = [what for what, location in s.locations.items() if location.is_off_chip()]
    if not s.is_phased or not off_chip:
        return
    numbers = sorted({o.phase for o in s.operators})
    if s.phases.stages == 1 and s.phases.weightIOSchedule is ExecutionPhaseIOSchedule.OnDemand:
        need(all(b - a > 2 for a, b in zip(numbers, numbers[1:])),
             f"phases are too near each other: {off_chip[0]} tensors stay on the IPU between them")
    if s.optimizer:
        need(s.phases.phases > numbers[-1] + 3,
             "the backward pass begins beside the last phase: its tensors stay on the IPU")


def batch_serialisation(s):
    factor = max(1, s.options.batchSerializationSettings.factor)
    # transforms/batchserialize.cpp:232
    need(s.batch >= factor, f"a batch of {s.batch} cannot be cut into {factor}")
    need(s.batch % factor == 0, f"a batch of {s.batch} is not cut into {factor} equal parts")


def distribution(s):
    o = s.options
    need(s.instances == 1 or o.enableDistributedReplicatedGraphs,
         "several processes need enableDistributedReplicatedGraphs (popdist.popart.configureSessionOptions)")
    if o.enableDistributedReplicatedGraphs:
        need(o.globalReplicationFactor >= s.replicas, "the process has more replicas than all have")  # ir.cpp:1114
        need(not o.enableReplicatedGraphs or s.replicas > 1,
             "the process has replicated graphs of one replica")  # ir.cpp:1109
    # docs/popxl/distributed.rst:29
    need(s.ipus <= 64, f"one process cannot drive {s.ipus} IPUs: each IPU-Link domain of 64 IPUs has one at least")


def sharding(s):
    # transforms/streamingmemoryopinserter.cpp:2457
    need(not s.locations["activation"].is_sharded(), "activations are not sharded: dropped")
    domains = []
    for what, location in s.locations.items():
        if what == "activation":
            continue
        domains.append(location.shardingDomain)
        if not location.is_sharded():
            continue
        # transforms/streamingmemoryopinserter.cpp:2481
        need(s.options.enableReplicatedGraphs and s.replicas > 1,
             f"{what}: there are no replicas to share shards: dropped")
        domain = location.shardingDomain
        # docs/popart/tensor_locations.rst:191
        if domain.type is CommGroupType.All:
            need(s.instances == 1, f"{what}: sharding over all replicas is not supported with several processes")
        else:
            need(domain.type is CommGroupType.Consecutive, f"{what}: shards are of consecutive replicas")
            need(domain.replicaGroupSize == s.replicas,
                 f"{what}: the sharding domain has {domain.replicaGroupSize} replicas, the process has {s.replicas}")
    # docs/popart/tensor_locations.rst:156
    need(all(d == domains[0] for d in domains), "tensors of one weight have different sharding domains")


def storage(s):
    # transforms/streamingmemoryopinserter.cpp:1684: outside of phases a tensor is moved once before and once after the
    # loss, so that micro-batches in flight would share one place
    need(s.is_phased or not s.locations["activation"].is_off_chip(),
         "activations are moved between execution phases only")


def io_tiles(s):
    tiles = s.options.numIOTiles
    uses = any(TileSet.IO in (l.loadTileSet, l.storageTileSet) for l in s.locations.values())
    need(tiles > 0 or not uses, "there are no IO tiles for TileSet.IO")
    if tiles == 0:
        return
    # popx/irlowering.cpp:2922
    need(s.options.virtualGraphMode is not VirtualGraphMode.Off, "IO tiles have no effect without virtual graphs")
    need(tiles >= 32 and tiles % 2 == 0, f"{tiles} IO tiles are no even number from 32")  # popx/irlowering.cpp:2930
    need(tiles < 1472, f"{tiles} IO tiles leave none to compute")  # popx/irlowering.cpp:2939


def recomputation(s):
    o, kind = s.options, s.options.autoRecomputation
    if kind is RecomputationType.NoRecompute:
        return
    need(s.optimizer, "there is nothing to compute again in inference")
    if o.enablePipelining:
        # ir.cpp:1692 and transforms/pipeline.cpp:1112: of the types, a pipeline knows this one
        need(kind is RecomputationType.Pipeline, f"in a pipeline {kind.name} leaves all tensors as they are")
    elif not s.is_phased:
        # recompute.cpp:229
        need(kind is not RecomputationType.Pipeline, "RecomputationType.Pipeline without a pipeline")


def clipping(s):
    schedule = s.options.accumulateOuterFragmentSettings.schedule
    if s.optimizer and s.optimizer.clips and s.options.enablePipelining:
        # transforms/clipweightgradientsbynorm.cpp:490
        need(schedule is not AccumulateOuterFragmentSchedule.Serial,
             "a pipeline that clips has another schedule than Serial")


def automatic_loss_scaling(s):
    o = s.options
    if not o.automaticLossScalingSettings.enabled:
        return
    # transforms/automaticlossscaling.cpp:750
    need(s.optimizer, "inference has no loss to scale")
    # transforms/automaticlossscaling.cpp:756
    need(not s.optimizer.is_loss_scaling_constant, "automatic loss scaling of a constant scale")
    # transforms/automaticlossscaling.cpp:762
    need(o.enableGradientAccumulation or not o.enablePipelining,
         "automatic loss scaling in a pipeline without gradient accumulation")
    need(s.is_half, "automatic loss scaling without gradients of fp16")  # transforms/automaticlossscaling.cpp:276


def tied_weights(s):
    if not s.options.enablePipelining:
        return
    graphs = {}
    for o in s.operators:
        graphs.setdefault(o.weight, set()).add(s.graph_of(o))
    for weight, of_weight in graphs.items():
        # transforms/pipeline.cpp:142
        need(len(of_weight) == 1, f"the weight {weight} is on several virtual graphs of a pipeline")


def pipeline_depth(s):
    o = s.options
    if not o.enablePipelining:
        return
    stages = s.pipeline_stages()
    # transforms/pipeline.cpp:1385
    if o.enableGradientAccumulation:
        need(o.accumulationFactor >= stages,
             f"accumulationFactor is {o.accumulationFactor}, of a pipeline of {stages} stages")
    else:
        need(s.batches_per_step >= stages,
             f"{s.batches_per_step} batches a step, of a pipeline of {stages} stages")


def buffering(s):
    need(s.options.defaultBufferingDepth >= 1, "a buffering depth below 1")  # sessionoptions.cpp:223
    kinds = (s.options.partialsTypeMatMuls, s.options.convolutionOptions.get("partialsType", ""))
    need(all(k in ("", "half", "float") for k in kinds), f"unknown type of partials {kinds}")


CHECKS = [replication, accumulation, pipeline_settings, phase_settings, virtual_graphs, phase_distance,
          batch_serialisation, distribution, sharding, storage, io_tiles, automatic_loss_scaling, clipping,
          recomputation, tied_weights, pipeline_depth, buffering]


def compile_session(session):
    """Raises Refused for what PopART refuses, or drops, when it compiles."""
    for check in CHECKS:
        check(session)


class DeviceManager:
    def acquireAvailableDevice(self, numIpus=1):
        return converted(numIpus, 1, "numIpus")

# SPDX-License-Identifier: Apache-2.0
"""Stands for PopTorch: the names of its Python package, and what it refuses when it compiles a model for PopART.

Places in PopTorch's sources are of graphcore/poptorch c2a8b17.
"""
import types

from . import popart, torch
from .strict import Name, Refused, names, need

ReductionType = names("ReductionType", "Sum Mean NoReduction")


def is_number(value, kind):
    return isinstance(value, kind) and not isinstance(value, bool)


class Settings:
    """A dictionary of settings, each of the type of its first value: python/_options_impl.py:70."""

    def __init__(self, **first):
        self._values = first

    def _set(self, name, value):
        if name in self._values:
            kind = type(self._values[name])
            assert type(value) is kind, f"{name} is a {kind.__name__}, not {value!r}"
        self._values[name] = value
        return self

    def __getattr__(self, name):
        raise AttributeError(f"{type(self).__name__} has no {name}")


class TensorLocationSettings(Settings):
    def _use(self, name, use):
        assert isinstance(use, bool)
        return self._set(name, int(use))

    def useOnChipStorage(self, use=True):
        return self._use("onChip", use)

    def useReplicatedTensorSharding(self, use=True):
        return self._use("useReplicatedTensorSharding", use)

    def useIOTilesToLoad(self, use=True):
        return self._use("useIOTilesToLoad", use)

    def useIOTilesToStore(self, use=True):
        return self._use("useIOTilesToStore", use)


class TensorLocations(Settings):
    def numIOTiles(self, num_tiles):
        # python/options.py:618
        assert is_number(num_tiles, int) and 32 <= num_tiles <= 192 and num_tiles % 2 == 0, \
            "IO tiles are an even number from 32 to 192"
        return self._set("numIOTiles", num_tiles)

    def _locate(self, what, location):
        assert isinstance(location, TensorLocationSettings)
        return self._set(what, dict(location._values))

    def setActivationLocation(self, location):
        return self._locate("activation", location)

    def setWeightLocation(self, location):
        return self._locate("weight", location)

    def setOptimizerLocation(self, location):
        return self._locate("optimizerState", location)

    def setAccumulatorLocation(self, location):
        return self._locate("accumulator", location)


class PopartOptions:
    """Session options by name: popart_compiler/source/SessionOptions.cpp:290, an error at the first unknown one."""

    def __init__(self):
        self._options = popart.SessionOptions()

    def set(self, key, value):
        holder, _, name = key.rpartition(".")
        target = getattr(self._options, holder) if holder else self._options
        if name not in type(target).FIELDS:
            raise Refused(f"PopART has no option {key}")
        like = type(target).FIELDS[name]
        if isinstance(like, Name):  # enumerations are given as numbers
            need(is_number(value, int) and 0 <= value < len(type(like)),
                 f"{type(like).__name__} has no number {value!r}")
            value = type(like)(value)
        setattr(target, name, value)
        return self


class Precision(Settings):
    def __init__(self, session):
        super().__init__()
        vars(self)["_session"] = session

    def enableStochasticRounding(self, enabled):
        self._session.set("enableStochasticRounding", enabled)
        return self

    def setPartialsType(self, dtype):
        if dtype not in (torch.float32, torch.float16):  # python/options.py:187
            raise ValueError("partials are of float16 or float32")
        kind = "half" if dtype is torch.float16 else "float"
        self._session.set("partialsTypeMatMuls", kind)
        self._session.set("convolutionOptions", {"partialsType": kind})
        return self


class Training(Settings):
    def __init__(self, session):
        super().__init__(gradient_accumulation=1, reduction=ReductionType.Mean)
        vars(self)["_session"] = session

    def gradientAccumulation(self, gradient_accumulation):
        return self._set("gradient_accumulation", gradient_accumulation)

    def accumulationAndReplicationReductionType(self, reduction_type):
        if not isinstance(reduction_type, ReductionType) or reduction_type is ReductionType.NoReduction:
            raise ValueError("gradients are reduced by Mean or Sum")  # python/options.py:273
        return self._set("reduction", reduction_type)

    def setAutomaticLossScaling(self, enabled):
        self._session.set("automaticLossScalingSettings.enabled", enabled)
        return self


class Stage:
    def __init__(self, *block_ids):
        # python/options.py:684
        assert all(isinstance(b, str) for b in block_ids), "names of blocks are texts"
        self.blocks, self.of_ipu = block_ids, None

    def ipu(self, ipu):
        assert is_number(ipu, int)
        self.of_ipu = ipu
        return self


class PipelinedExecution:
    IS_PIPELINE = True

    def __init__(self, *stages):
        self.stages, self.numbers = stages, {}
        for number, stage in enumerate(stages):
            for block in stage.blocks:
                # python/options.py:892
                assert block not in self.numbers, f"{block} is in two stages"
                self.numbers[block] = number

    def stage_of(self, block, ipu):
        """The number of a block's stage, and its IPU (python/_options_impl.py:238)."""
        if not self.stages:
            return ipu, ipu
        assert block in self.numbers, f"{block} is in no stage"  # python/options.py:909
        stage = self.stages[self.numbers[block]]
        return self.numbers[block], ipu if stage.of_ipu is None else stage.of_ipu


class ShardedExecution(PipelinedExecution):
    IS_PIPELINE = False


class Options(Settings):
    def __init__(self):
        super().__init__(replication_factor=1, device_iterations=1, auto_round_num_ipus=False,
                         available_memory_proportion={}, num_distributed_processes=1)
        session = PopartOptions()
        vars(self).update(_Popart=session, Precision=Precision(session), Training=Training(session),
                          TensorLocations=TensorLocations(), strategy=PipelinedExecution())

    def autoRoundNumIPUs(self, auto_round_num_ipus=True):
        return self._set("auto_round_num_ipus", auto_round_num_ipus)

    def deviceIterations(self, device_iterations):
        return self._set("device_iterations", device_iterations)

    def replicationFactor(self, replication_factor):
        return self._set("replication_factor", replication_factor)

    def setExecutionStrategy(self, strategy):
        assert isinstance(strategy, PipelinedExecution)
        vars(self)["strategy"] = strategy
        return self

    def setAvailableMemoryProportion(self, available_memory_proportion):
        for key in available_memory_proportion:
            assert key.startswith("IPU"), f"{key} names no IPU"  # python/options.py:1447
        return self._set("available_memory_proportion",
                         {int(key[3:]): float(share) for key, share in available_memory_proportion.items()})

    def __setattr__(self, name, value):
        if name != "_values":
            raise AttributeError(f"{type(self).__name__} has no {name}")
        vars(self)[name] = value


class Optimizer:
    """What optimizers share. Arguments that one has not are refused by Python."""

    def _begin(self, loss_scaling, types, max_grad_norm=None, corrects=True):
        for kind in types:
            assert kind in (None, torch.float16, torch.float32), \
                "state of an optimizer is of float16 or float32"  # python/optim.py:274
        self.loss_scaling, self.clips, self.corrects = loss_scaling, max_grad_norm is not None, corrects


class SGD(Optimizer):
    def __init__(self, params, lr, momentum=None, dampening=None, weight_decay=None, nesterov=None, maximize=None,
                 foreach=None, differentiable=None, loss_scaling=None, velocity_scaling=None, use_combined_accum=None,
                 accum_type=None, velocity_accum_type=None, max_grad_norm=None):
        self._begin(loss_scaling, [accum_type, velocity_accum_type], max_grad_norm)


class Adam(Optimizer):
    def __init__(self, params, lr=None, betas=None, eps=None, weight_decay=None, amsgrad=None, foreach=None,
                 maximize=None, capturable=None, differentiable=None, fused=None, loss_scaling=None, accum_type=None,
                 first_order_momentum_accum_type=None, second_order_momentum_accum_type=None, max_grad_norm=None):
        self._begin(loss_scaling, [accum_type, first_order_momentum_accum_type, second_order_momentum_accum_type],
                    max_grad_norm)


class AdamW(Optimizer):
    def __init__(self, params, lr=None, betas=None, eps=None, weight_decay=None, amsgrad=None, maximize=None,
                 foreach=None, capturable=None, differentiable=None, fused=None, loss_scaling=None,
                 bias_correction=True, accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None, max_grad_norm=None):
        self._begin(loss_scaling, [accum_type, first_order_momentum_accum_type, second_order_momentum_accum_type],
                    max_grad_norm, bias_correction)


class LAMB(Optimizer):  # python/optim.py:685: no max_grad_norm
    def __init__(self, params, lr=None, betas=None, eps=None, weight_decay=None, bias_correction=True,
                 loss_scaling=None, max_weight_norm=None, accum_type=None, first_order_momentum_accum_type=None,
                 second_order_momentum_accum_type=None):
        self._begin(loss_scaling, [accum_type, first_order_momentum_accum_type, second_order_momentum_accum_type])


optim = types.SimpleNamespace(SGD=SGD, Adam=Adam, AdamW=AdamW, LAMB=LAMB)


def BeginBlock(layer_to_call, user_id=None, ipu_id=None):
    need(isinstance(layer_to_call, torch.Module), "a block begins at a module")  # python/ops.py:726
    need(layer_to_call.block is None, "two blocks begin at one module")  # python/ops.py:733
    vars(layer_to_call)["block"] = (user_id, ipu_id)
    return layer_to_call


def recomputationCheckpoint(*tensors):
    return tensors[0] if len(tensors) == 1 else tensors


class DataLoader:
    def __init__(self, options, dataset, batch_size=1):
        assert isinstance(options, Options) and is_number(batch_size, int) and batch_size > 0


class Compiled:
    """What PopTorch is given to compile: popart_compiler/source/Compiler.cpp:536."""

    def __init__(self, model, options, optimizer=None):
        assert isinstance(options, Options)
        self.model, self.options, self.optimizer = model, options, optimizer
        blocks = [block for _, block in model.notes] or [(None, 0)]
        if not model.notes:  # one block of its own
            self.stages = [(0, 0)]
        else:
            self.stages = [options.strategy.stage_of(*block) for block in blocks]

    def switches(self):
        """Changes of the IPU, from IPU 0 on: popart_compiler/source/Compiler.cpp:1288."""
        ipus = [0] + [ipu for _, ipu in self.stages]
        return sum(a != b for a, b in zip(ipus, ipus[1:]))

    def ipus_of_replica(self):
        return max(ipu for _, ipu in self.stages) + 1  # popart_compiler/source/CompilerImpl.cpp:634

    def check(self):
        values, training = self.options._values, self.optimizer is not None
        ipus = self.ipus_of_replica() * values["replication_factor"]
        # popart_compiler/source/CompilerImpl.cpp:235
        need(ipus <= 64, f"a process of {ipus} IPUs, above 64")
        # popart_compiler/source/CompilerImpl.cpp:707
        need(ipus & (ipus - 1) == 0 or values["auto_round_num_ipus"],
             f"a process of {ipus} IPUs, which is no power of 2")
        if self.options.strategy.IS_PIPELINE:
            stages = self.switches() + 1
            if training:  # popart_compiler/source/Compiler.cpp:690
                need(self.options.Training._values["gradient_accumulation"] >= 2 * stages - 1,
                     f"too few micro-batches for a pipeline of {2 * stages - 1} stages")
            else:  # popart_compiler/source/Compiler.cpp:700
                need(values["device_iterations"] >= stages,
                     f"too few deviceIterations for a pipeline of {stages} stages")
        # popart_compiler/source/CompilerImpl.cpp:873: of AdamW alone
        need(not isinstance(self.optimizer, AdamW) or self.optimizer.corrects,
             "AdamW's step is corrected whatever bias_correction says")

    def session_options(self):
        """What PopTorch makes of its options, as PopART's."""
        values, session, several = self.options._values, self.options._Popart._options, len(self.used()) > 1
        is_pipeline = self.options.strategy.IS_PIPELINE
        session.enablePipelining = is_pipeline and several  # popart_compiler/source/Compiler.cpp:570
        session.virtualGraphMode = popart.VirtualGraphMode.Manual if several else popart.VirtualGraphMode.Auto
        session.replicatedGraphCount = values["replication_factor"]
        session.enableReplicatedGraphs = session.replicatedGraphCount > 1
        session.globalReplicationFactor = values["num_distributed_processes"] * session.replicatedGraphCount
        session.enableDistributedReplicatedGraphs = values["num_distributed_processes"] > 1
        if self.optimizer is not None:
            session.accumulationFactor = self.options.Training._values["gradient_accumulation"]
            session.enableGradientAccumulation = session.accumulationFactor > 1
            if self.optimizer.clips and is_pipeline:  # popart_compiler/source/Compiler.cpp:581
                session.accumulateOuterFragmentSettings = popart.AccumulateOuterFragmentSettings(
                    popart.AccumulateOuterFragmentSchedule.Scheduler)
        session.numIOTiles = self.options.TensorLocations._values.get("numIOTiles", 0)
        for what, location in self.options.TensorLocations._values.items():
            if what != "numIOTiles":
                setattr(session, what + "TensorLocationSettings", self.location(location))
        return session

    def location(self, settings):
        tiles = {1: popart.TileSet.IO, 0: popart.TileSet.Compute}
        out = popart.TensorLocation(
            popart.TensorStorage.OnChip if settings.get("onChip", 1) else popart.TensorStorage.OffChip,
            tiles[settings.get("useIOTilesToLoad", 0)], tiles[settings.get("useIOTilesToStore", 0)],
            popart.ReplicatedTensorSharding(settings.get("useReplicatedTensorSharding", 0)))
        if self.options._values["num_distributed_processes"] > 1:  # popart_compiler/source/Compiler.cpp:751
            out.shardingDomain = popart.CommGroup(popart.CommGroupType.Consecutive,
                                                  self.options._values["replication_factor"])
        return popart.TensorLocationSettings(out)

    def popart_optimizer(self):
        """PopART's optimizer; automatic loss scaling makes the scale variable (python/_optimizer_attributes.py:157)."""
        if self.optimizer is None:
            return None
        variable = self.optimizer.loss_scaling is not None or \
            self.options._Popart._options.automaticLossScalingSettings.enabled
        scale = 1.0 if self.optimizer.loss_scaling is None else self.optimizer.loss_scaling
        clip = [popart.ClipNormSettings.clipAllWeights(1.0)] if self.optimizer.clips else []
        return popart.Adam({"lossScaling": (scale, not variable)}, accum_type=popart.DataType.FLOAT,
                           clip_norm_settings=clip)

    def used(self):
        return {ipu for _, ipu in self.stages}

    def compile(self, operators, instances):
        """Checks, then compiles for PopART the operators: (unit, weight, number of the stage)."""
        self.check()
        builder = popart.Builder()
        for unit, weight, stage in operators:
            number, ipu = self.stages[stage]
            with builder.virtualGraph(ipu), builder.pipelineStage(number):
                builder.add(unit, weight)
        for ipu, share in self.options._values["available_memory_proportion"].items():
            need(ipu < self.ipus_of_replica(), f"IPU{ipu} is not of the replica")
            builder.setAvailableMemoryProportion("product", share)
        values = self.options._values
        popart.compile_session(popart.Session(
            self.session_options(), self.popart_optimizer(), builder.operators,
            self.ipus_of_replica() * values["replication_factor"], 1, values["device_iterations"],
            vars(self.model).get("is_half", False), instances))


compiled = []  # of the stand-in: what was given to compile


def trainingModel(model, options=None, optimizer=None):
    compiled.append(Compiled(model, options, optimizer))


def inferenceModel(model, options=None):
    compiled.append(Compiled(model, options))

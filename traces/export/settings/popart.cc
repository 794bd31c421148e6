// SPDX-License-Identifier: Apache-2.0
// Session options, pipeline stages and execution phases for PopART, as a Python module.
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/settings/python_text.h"

namespace superstep::exports {
namespace {

bool streams(const PlanSettings& plan, const char* what) { return plan.location.at(what) == "streaming"; }

// All micro-batches pass through a phase before the next one: PopART takes them as one and cuts it (batch
// serialisation).
bool batch_in_phases(const PlanSettings& plan) {
  return plan.phased() && plan.phase_order == "phase_outer" && plan.gradient_accumulation > 1;
}

// Distance between the numbers of phases that follow each other. A tensor stays on its IPU for two more phases: where
// it has to be in Streaming Memory between phases of one IPU, phases are four numbers apart (poptorch
// popart_compiler/source/Compiler.cpp:1262). Not so with preload, which loads in the phase before: the IPU has to work
// in that one. Two groups take turns: even numbers on one, odd numbers on the other.
std::int64_t phase_stride(const PlanSettings& plan) {
  return plan.phase_groups == 1 && plan.load == "on_demand" && plan.facts.at("streams") == true ? 4 : 1;
}

// Phases of the forward pass as PopART counts them. Where tensors go to Streaming Memory, three more keep the backward
// pass from beginning beside the last one (Compiler.cpp:616).
std::int64_t phase_count(const PlanSettings& plan) {
  return (plan.phases - 1) * phase_stride(plan) + 1 + (plan.training && plan.facts.at("streams") == true ? 3 : 0);
}

// Replicas that share a tensor's shards; 0: all.
std::int64_t sharding_domain(const PlanSettings& plan) {
  for (const auto& [what, degree] : plan.shards) {
    if (degree > 1 && degree < plan.replicas) return degree;
  }
  return 0;
}

void write_popart_stages(const PlanSettings& plan, std::ostream& out) {
  const char* place = plan.phased() ? "execution phase" : "pipeline stage";
  out << "# The units of the model, which begin and end where it may be cut: " << (plan.phased() ? "an " : "a ")
      << place << " a line, in order,\n# with the IPU of the replica that runs it.\nSTAGES = [\n";
  for (const StageSettings& s : plan.stages) {
    std::vector<std::string> units;
    for (const std::string& u : s.units) units.push_back(python(u));
    out << "    {\"virtual_graph\": " << s.ipu << ",\n     \"units\": " << python_list(units, 9) << "},\n";
  }
  out << "]\n# Units whose outputs are kept: what is between them is computed again for the backward "
         "pass.\nCHECKPOINTS = ";
  std::vector<std::string> checkpoints;
  for (const StageSettings& s : plan.stages) {
    for (const std::string& unit : s.checkpoints()) checkpoints.push_back(python(unit));
  }
  out << python_list(checkpoints, 4) << "\nAVAILABLE_MEMORY_PROPORTION = " << python_proportions(plan, "") << "\n";
}

std::string popart_location(const PlanSettings& plan, const char* what, bool sharded) {
  const std::string tiles = plan.io_tiles > 0 && streams(plan, what) ? "IO" : "Compute";
  std::string out = "popart.TensorLocationSettings(popart.TensorLocation(\n        popart.TensorStorage.";
  out += streams(plan, what) ? "OffChip" : "OnChip";
  return out + ", popart.TileSet." + tiles + ", popart.TileSet." + tiles + ", popart.ReplicatedTensorSharding." +
         (sharded ? "On" : "Off") + "))\n";
}

void write_locations(const PlanSettings& plan, std::ostream& out) {
  struct Row {
    const char *setting, *what;
  };
  const std::int64_t domain = sharding_domain(plan);
  for (const auto& [setting, what] : {Row{"weight", "weights"}, Row{"accumulator", "gradients"},
                                      Row{"optimizerState", "optimizer_state"}, Row{"activation", "activations"}}) {
    const auto degree = plan.shards.find(what);
    const std::string name = std::string("    opts.") + setting + "TensorLocationSettings";
    out << name << " = " << popart_location(plan, what, degree != plan.shards.end() && degree->second > 1);
    if (domain > 0 && degree != plan.shards.end()) {
      out << name << ".location.shardingDomain = popart.CommGroup(popart.CommGroupType.Consecutive, " << domain
          << ")\n";
    }
  }
}

void write_phases(const PlanSettings& plan, std::ostream& out) {
  const auto when = [&](bool ahead) {
    return std::string("popart.ExecutionPhaseIOSchedule.") + (ahead ? "Preload" : "OnDemand");
  };
  const bool ahead = plan.load == "preload";
  const bool recomputes = plan.training && plan.facts.at("recompute") != "none";
  out << "    opts.virtualGraphMode = popart.VirtualGraphMode.ExecutionPhases\n"
      << "    opts.executionPhaseSettings.phases = " << phase_count(plan) << "\n"
      << "    opts.executionPhaseSettings.stages = " << plan.phase_groups << "\n"
      << "    opts.executionPhaseSettings.weightIOSchedule = " << when(ahead) << "\n"
      << "    opts.executionPhaseSettings.activationIOSchedule = " << when(ahead && !batch_in_phases(plan)) << "\n"
      << "    opts.executionPhaseSettings.optimizerStateIOSchedule = " << when(false) << "\n"
      << "    opts.executionPhaseSettings.accumulatorIOSchedule = " << when(ahead) << "\n"
      << "    opts.autoRecomputation = popart.RecomputationType." << (recomputes ? "Standard" : "NoRecompute")
      << "\n    opts.explicitRecomputation = " << python(recomputes) << "\n";
  if (!batch_in_phases(plan)) return;
  out << "    opts.batchSerializationSettings.factor = " << plan.gradient_accumulation
      << "\n    opts.batchSerializationSettings.concatOnVirtualGraphChange = False\n"
         "    opts.batchSerializationSettings.concatOnExecutionPhaseChange = False\n";
}

void write_pipeline(const PlanSettings& plan, std::ostream& out) {
  if (plan.stages.size() > 1) {
    out << "    opts.virtualGraphMode = popart.VirtualGraphMode.Manual\n    opts.enablePipelining = "
        << python(plan.schedule != "sequential") << "\n";
  } else if (plan.io_tiles >
             0) {  // without virtual graphs they are left out: popart willow/src/popx/irlowering.cpp:2922
    out << "    opts.virtualGraphMode = popart.VirtualGraphMode.Auto\n";
  }
  if (plan.training)
    out << "    opts.autoRecomputation = popart.RecomputationType." << recomputation_type(plan) << "\n";
}

// In a pipeline the norm of all gradients is not known before the last: weights are updated as they become ready
// (popart willow/src/transforms/clipweightgradientsbynorm.cpp:490).
void write_clipping(const PlanSettings& plan, std::ostream& out) {
  if (plan.facts.at("is_pipelined") == false || plan.optimizer.value("clip_norm", 0.0) <= 0) return;
  out << "    opts.accumulateOuterFragmentSettings = popart.AccumulateOuterFragmentSettings(\n"
         "        popart.AccumulateOuterFragmentSchedule.Scheduler, [])\n";
}

void write_popart_options(const PlanSettings& plan, std::ostream& out) {
  const char* partials = plan.precision.at("partials") == "fp16" ? "half" : "float";
  out << "\n\ndef options():\n    opts = popart.SessionOptions()\n";
  plan.phased() ? write_phases(plan, out) : write_pipeline(plan, out);
  if (plan.instances > 1)
    out << "    # Of this process, of " << plan.instances << ": replicas here, in all, and the first one's number.\n"
        << "    popdist.popart.configureSessionOptions(opts)\n";
  else if (plan.replicas > 1)
    out << "    opts.enableReplicatedGraphs = True\n    opts.replicatedGraphCount = " << plan.replicas << "\n";
  if (plan.training) {
    const std::int64_t accumulated = batch_in_phases(plan) ? 1 : plan.gradient_accumulation;
    out << "    opts.enableGradientAccumulation = " << python(accumulated > 1)
        << "\n    opts.accumulationFactor = " << accumulated
        << "\n    opts.accumulationAndReplicationReductionType = popart.ReductionType.Mean\n";
    if (plan.precision.at("accumulators") == "fp16")  // a sum of all would overflow sooner than a mean so far
      out << "    opts.meanAccumulationAndReplicationReductionStrategy = popart.MeanReductionStrategy.Running\n";
    if (plan.automatic_loss_scaling) out << "    opts.automaticLossScalingSettings.enabled = True\n";
    write_clipping(plan, out);
  }
  out << "    opts.partialsTypeMatMuls = \"" << partials << "\"\n    opts.convolutionOptions = {\"partialsType\": \""
      << partials << "\"}\n";
  if (plan.stochastic_rounding) out << "    opts.enableStochasticRounding = True\n";
  write_locations(plan, out);
  if (plan.io_tiles > 0) out << "    opts.numIOTiles = " << plan.io_tiles << "\n";
  out << "    opts.defaultBufferingDepth = " << plan.prefetch_depth << "\n    return opts\n";
}

void write_popart_optimizer(const PlanSettings& plan, std::ostream& out) {
  if (!plan.training) return;
  const std::string kind = plan.optimizer.value("kind", "sgd");
  const auto type = [&](const char* what) {
    return number_type(plan, what, "popart.DataType.FLOAT16", "popart.DataType.FLOAT");
  };
  out << "\n\ndef optimizer(values):\n    \"\"\"Of values such as {\"defaultLearningRate\": (0.001, False)}.\"\"\"\n";
  if (plan.loss_scaling > 0 || plan.automatic_loss_scaling)
    out << "    values = {\"lossScaling\": (" << python(plan.loss_scaling > 0 ? plan.loss_scaling : 1.0)
        << ", False), **values}\n";
  const double clip = plan.optimizer.value("clip_norm", 0.0);
  if (clip > 0) out << "    clip = [popart.ClipNormSettings.clipAllWeights(" << python(clip) << ")]\n";
  if (kind.starts_with("sgd")) {
    out << "    return popart.SGD(values, accumulatorAndMomentum=popart.SGDAccumulatorAndMomentum.Separate, accumType="
        << type("accumulators") << ",\n                      accl1Type=" << type("first_moment")
        << (clip > 0 ? ", clip_norm_settings=clip" : "") << ")\n";
    return;
  }
  const bool corrected = plan.optimizer.value("bias_correction", true);
  const bool decays = kind != "adam";
  out << "    return popart.Adam(values, mode=popart.AdamMode." << (kind == "lamb" ? "Lamb" : "Adam")
      << (corrected ? "" : "NoBias") << ", weight_decay_mode=popart.WeightDecayMode."
      << (decays ? "Decay" : "L2Regularization") << ",\n                       accum_type=" << type("accumulators")
      << ", accl1_type=" << type("first_moment") << ",\n                       accl2_type=" << type("second_moment")
      << (clip > 0 ? ", clip_norm_settings=clip" : "") << ")\n";
}

void write_scope(const PlanSettings& plan, std::ostream& out) {
  out << "\n\n@contextlib.contextmanager\ndef unit(builder, name):\n"
         "    \"\"\"Operators that are added inside belong to the unit.\"\"\"\n"
         "    number = next(i for i, stage in enumerate(STAGES) if name in stage[\"units\"])\n"
      << (plan.phased()
              ? "    with builder.executionPhase(number * PHASE_STRIDE), builder.nameScope(name):\n        yield\n"
          : plan.stages.size() > 1 ? "    virtual_graph = STAGES[number][\"virtual_graph\"]\n"
                                     "    with builder.virtualGraph(virtual_graph), builder.pipelineStage(number), "
                                     "builder.nameScope(name):\n"
                                     "        yield\n"
                                   : "    with builder.nameScope(name):\n        yield\n")
      << "\n\ndef finish(builder, name, product, output):\n"
         "    \"\"\"Of each product in a unit, and of what the unit returns: the output to go on with.\"\"\"\n"
         "    number = next(i for i, stage in enumerate(STAGES) if name in stage[\"units\"])\n"
         "    builder.setAvailableMemoryProportion(product, "
         "AVAILABLE_MEMORY_PROPORTION[STAGES[number][\"virtual_graph\"]])\n"
         "    return builder.checkpointOutput([output])[0] if name in CHECKPOINTS else output\n";
}

// The device of the program, or of each of its processes, and what is imported for that.
std::string device_lines(const PlanSettings& plan) {
  const std::int64_t ipus = plan.count("ipus_per_instance");
  if (plan.instances == 1)
    return "\n# on popart.DeviceManager().acquireAvailableDevice(IPUS).\nimport contextlib\n\nimport popart\n\nIPUS "
           "= " +
           std::to_string(ipus);
  return "\n# on popdist.popart.getDevice(IPUS // popdist.getNumLocalReplicas()), in " +
         std::to_string(plan.instances) +
         " processes that PopRun starts.\nimport contextlib\n\nimport popart\nimport popdist\nimport "
         "popdist.popart\n\nIPUS = " +
         std::to_string(ipus) + "  # of a process";
}

}  // namespace

void write_popart(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  check_rules(plan, "popart");
  out << comment_lines(plan, "popart")
      << "# Settings for PopART: build the model with unit(builder, name), then\n#   popart."
      << (plan.training ? "TrainingSession(..., optimizer=optimizer(values), userOptions=options())"
                        : "InferenceSession(..., userOptions=options())")
      << device_lines(plan)
      << "\nMICRO_BATCH_SIZE = " << plan.micro_batch * (batch_in_phases(plan) ? plan.gradient_accumulation : 1)
      << "  # samples in the shapes of the inputs"
      << (batch_in_phases(plan) ? ", which are cut into micro-batches of " + std::to_string(plan.micro_batch) : "")
      << "\n"
      << (plan.training ? ""
                        : "BATCHES_PER_STEP = " + std::to_string(batches_per_call(plan)) + "  # of popart.DataFlow\n")
      << "WEIGHT_TYPE = " << number_type(plan, "weights", "\"FLOAT16\"", "\"FLOAT\"") << "\n"
      << python_serialisation(plan, "builder.setSerializeMatMul");
  if (plan.phased()) out << "PHASE_STRIDE = " << phase_stride(plan) << "  # between the numbers of phases\n";
  write_popart_stages(plan, out);
  write_popart_options(plan, out);
  write_popart_optimizer(plan, out);
  write_scope(plan, out);
}

}  // namespace superstep::exports

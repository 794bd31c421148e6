// SPDX-License-Identifier: Apache-2.0
// Options and stages for PopTorch, as a Python module.
#include <algorithm>
#include <array>
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/settings/python_text.h"

namespace superstep::exports {
namespace {

// Modules of Hugging Face's models, which Graphcore's examples cut the same way.
struct ModuleNames {
  const char* family;  // how names of the zoo begin
  const char *embedding, *layer, *ffn_up, *ffn_down, *head;
};
constexpr std::array<ModuleNames, 3> kModules{
    {{"bert-", "bert.embeddings", "bert.encoder.layer.", ".intermediate", ".output", "bert.pooler"},
     {"gpt2-", "transformer.wte", "transformer.h.", ".ln_2", ".mlp.c_proj", "transformer.ln_f"},
     {"vit-", "vit.embeddings", "vit.encoder.layer.", ".layernorm_after", ".output", "vit.layernorm"}}};

const ModuleNames* modules_of(const PlanSettings& plan) {
  for (const ModuleNames& m : kModules) {
    if (plan.model.starts_with(m.family)) return &m;
  }
  return nullptr;
}

// The module that the unit begins with, as a literal; None: not known.
std::string module_of(const PlanSettings& plan, const std::string& unit, std::int64_t layer) {
  const ModuleNames* m = modules_of(plan);
  if (!m) return "None";
  if (layer < 0) return unit == "embedding" ? python(std::string(m->embedding)) : python(std::string(m->head));
  const char* part = unit.ends_with("/ffn_up") ? m->ffn_up : unit.ends_with("/ffn_down") ? m->ffn_down : "";
  return python(m->layer + std::to_string(layer) + part);
}

void write_poptorch_stages(const PlanSettings& plan, std::ostream& out) {
  out << "# A stage a line: the IPU of the replica that runs it, and the module that it begins with.\nSTAGES = [\n";
  for (const StageSettings& s : plan.stages) {
    std::vector<std::string> units;
    for (const std::string& u : s.units) units.push_back(python(u));
    out << "    {\"ipu\": " << s.ipu << ", \"begins\": " << module_of(plan, s.units.front(), s.layers.front())
        << ",\n     \"units\": " << python_list(units, 9) << "},\n";
  }
  out << "]\n# Modules whose outputs are kept: what is between them is computed again for the backward pass.\n"
         "CHECKPOINTS = {\n";
  for (const StageSettings& s : plan.stages) {
    for (const std::string& unit : s.checkpoints()) {
      const std::int64_t layer =
          s.layers[static_cast<std::size_t>(std::find(s.units.begin(), s.units.end(), unit) - s.units.begin())];
      const std::string whole = module_of(plan, "", layer);
      out << "    " << python(unit) << ": " << whole << ",\n";
    }
  }
  out << "}\n";
}

std::string poptorch_location(const PlanSettings& plan, const char* what, bool shards) {
  std::string out = std::string("poptorch.TensorLocationSettings().useOnChipStorage(") +
                    python(plan.location.at(what) == "in_processor") + ")";
  if (shards) out += std::string(".useReplicatedTensorSharding(") + python(plan.shards.at(what) > 1) + ")";
  if (plan.io_tiles > 0 && plan.location.at(what) == "streaming")
    out += ".useIOTilesToLoad(True).useIOTilesToStore(True)";
  return out;
}

void write_poptorch_options(const PlanSettings& plan, std::ostream& out) {
  out << "\n\ndef options():\n";
  if (plan.instances > 1)
    out << "    # PopRun tells each process how many of the " << plan.replicas
        << " replicas it has; counts are those of a process.\n    opts = popdist.poptorch.Options(ipus_per_replica="
        << plan.count("ipus_per_replica") << ")\n";
  else
    out << "    opts = poptorch.Options()\n    opts.replicationFactor(" << plan.replicas << ")\n";
  if (plan.training) {
    out << "    opts.Training.gradientAccumulation(" << plan.gradient_accumulation
        << ")\n    opts.Training.accumulationAndReplicationReductionType(poptorch.ReductionType.Mean)\n";
    if (plan.automatic_loss_scaling) out << "    opts.Training.setAutomaticLossScaling(True)\n";
  } else {
    out << "    opts.deviceIterations(" << batches_per_call(plan) << ")\n";
  }
  if (plan.stages.size() > 1) {
    out << "    opts.setExecutionStrategy(poptorch."
        << (plan.schedule == "sequential" ? "ShardedExecution" : "PipelinedExecution")
        << "(*[\n        poptorch.Stage(f\"stage{i}\").ipu(stage[\"ipu\"]) for i, stage in enumerate(STAGES)]))\n";
  }
  out << "    opts.setAvailableMemoryProportion(" << python_proportions(plan, "IPU") << ")\n"
      << "    opts.Precision.setPartialsType(" << number_type(plan, "partials", "torch.float16", "torch.float32")
      << ")\n";
  if (plan.stochastic_rounding) out << "    opts.Precision.enableStochasticRounding(True)\n";
  out << "    opts.TensorLocations.setWeightLocation(\n        " << poptorch_location(plan, "weights", true) << ")\n";
  if (plan.training) {
    out << "    opts.TensorLocations.setAccumulatorLocation(\n        " << poptorch_location(plan, "gradients", true)
        << ")\n"
        << "    opts.TensorLocations.setOptimizerLocation(\n        "
        << poptorch_location(plan, "optimizer_state", true) << ")\n";
  }
  out << "    opts.TensorLocations.setActivationLocation(\n        " << poptorch_location(plan, "activations", false)
      << ")\n";
  if (plan.io_tiles > 0) out << "    opts.TensorLocations.numIOTiles(" << plan.io_tiles << ")\n";
  out << "    opts._Popart.set(\"defaultBufferingDepth\", " << plan.prefetch_depth << ")\n";
  if (plan.training) {
    out << "    opts._Popart.set(\"autoRecomputation\", int(popart.RecomputationType." << recomputation_type(plan)
        << "))\n";
  }
  out << "    return opts\n";
}

void write_poptorch_optimizer(const PlanSettings& plan, std::ostream& out) {
  if (!plan.training) return;
  const std::string kind = plan.optimizer.value("kind", "sgd");
  const bool sgd = kind.starts_with("sgd");
  const auto type = [&](const char* what) { return number_type(plan, what, "torch.float16", "torch.float32"); };
  out << "\n\ndef optimizer(parameters, learning_rate, **others):\n    return poptorch.optim."
      << (sgd               ? "SGD"
          : kind == "adam"  ? "Adam"
          : kind == "adamw" ? "AdamW"
                            : "LAMB")
      << "(\n        parameters, lr=learning_rate, ";
  if (sgd) {
    out << "use_combined_accum=False, accum_type=" << type("accumulators");
    if (kind == "sgd_momentum") out << ", velocity_accum_type=" << type("first_moment");
  } else {
    if (kind != "adam") out << "bias_correction=" << python(plan.optimizer.value("bias_correction", true)) << ", ";
    out << "accum_type=" << type("accumulators")
        << ",\n        first_order_momentum_accum_type=" << type("first_moment")
        << ", second_order_momentum_accum_type=" << type("second_moment");
  }
  // A number that is given may change while it trains, as automatic loss scaling needs.
  if (plan.loss_scaling > 0 || plan.automatic_loss_scaling)
    out << ", loss_scaling=" << python(plan.loss_scaling > 0 ? plan.loss_scaling : 1.0);
  const double clip = plan.optimizer.value("clip_norm", 0.0);
  if (clip > 0) out << ",\n        max_grad_norm=" << python(clip);
  out << ", **others)\n";
}

constexpr const char* kPlace = R"(

def place(model):
    """Begins the stages at their modules and keeps the checkpoints; returns the model."""
    def module_of(path, unit):
        if path is None:
            raise ValueError(f"write the module of the model that is {unit} into STAGES and CHECKPOINTS")
        return model.get_submodule(path)

    def keep(module, inputs, outputs):
        if isinstance(outputs, tuple):
            return tuple(poptorch.recomputationCheckpoint(y) for y in outputs)
        return poptorch.recomputationCheckpoint(outputs)

    for i, stage in enumerate(STAGES if len(STAGES) > 1 else []):
        module = module_of(stage["begins"], stage["units"][0])
        parent, _, name = stage["begins"].rpartition(".")
        block = poptorch.BeginBlock(module, user_id=f"stage{i}", ipu_id=stage["ipu"])
        setattr(model.get_submodule(parent), name, block)
    for unit, path in CHECKPOINTS.items():
        module_of(path, unit).register_forward_hook(keep)
    return model
)";

}  // namespace

void write_poptorch(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  check_rules(plan, "poptorch");
  const bool half = plan.precision.at("weights") == "fp16";
  out << comment_lines(plan, "poptorch") << "# Settings for PopTorch:\n#   model = place(model)"
      << (half ? ".half()" : "")
      << (plan.training
              ? "\n#   model = poptorch.trainingModel(model, options(), optimizer(model.parameters(), learning_rate))\n"
              : "\n#   model = poptorch.inferenceModel(model, options())\n")
      << "#   data = poptorch.DataLoader(options(), data_set, batch_size=MICRO_BATCH_SIZE)\n";
  if (plan.training) out << "import popart\n";
  if (plan.instances > 1) out << "import popdist.poptorch\n";
  out << "import poptorch\nimport torch\n\nMICRO_BATCH_SIZE = " << plan.micro_batch << "\n"
      << python_serialisation(plan, "poptorch.serializedMatMul");
  write_poptorch_stages(plan, out);
  write_poptorch_options(plan, out);
  write_poptorch_optimizer(plan, out);
  out << kPlace;
}

}  // namespace superstep::exports

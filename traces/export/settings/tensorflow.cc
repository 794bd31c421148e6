// SPDX-License-Identifier: Apache-2.0
// Configuration, stages and options of a Keras model in Graphcore's TensorFlow 2, as a Python module.
#include <algorithm>
#include <cstdio>
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/settings/python_text.h"

namespace superstep::exports {
namespace {

bool streams(const PlanSettings& plan, const char* what) { return plan.location.at(what) == "streaming"; }

bool has_checkpoints(const PlanSettings& plan) {
  return plan.training && std::any_of(plan.stages.begin(), plan.stages.end(),
                                      [](const StageSettings& s) { return !s.checkpoints().empty(); });
}

// What a pipeline computes again is set for all stages but the last, which goes backward at once.
bool recomputes(const PlanSettings& plan) {
  return has_checkpoints(plan) || (plan.training && plan.stages.size() > 1 && plan.stages.front().recompute != "none");
}

bool is_sequential(const PlanSettings& plan) { return plan.stages.size() == 1 || plan.schedule == "sequential"; }

// Whether each checkpoint ends a stage of Keras: sequential stages keep their inputs, and one IPU may have several.
bool cuts_at_checkpoints(const PlanSettings& plan) { return is_sequential(plan) && has_checkpoints(plan); }

// Adds the parts of a stage, each of which ends with a checkpoint.
void add_parts(const StageSettings& stage, std::vector<StageSettings>& out) {
  const std::vector<std::string> ends = stage.checkpoints();
  StageSettings part{.ipu = stage.ipu, .recompute = "stage", .units = {}, .layers = {}, .runs = {}};
  for (std::size_t i = 0; i < stage.units.size(); ++i) {
    part.units.push_back(stage.units[i]);
    part.layers.push_back(stage.layers[i]);
    if (i + 1 < stage.units.size() && std::find(ends.begin(), ends.end(), stage.units[i]) == ends.end()) continue;
    out.push_back(part);
    part.units.clear();
    part.layers.clear();
  }
}

std::vector<StageSettings> keras_stages(const PlanSettings& plan) {
  if (!cuts_at_checkpoints(plan)) return plan.stages;
  std::vector<StageSettings> out;
  for (const StageSettings& s : plan.stages) add_parts(s, out);
  return out;
}

// The layer that ends with the unit, as a literal: of Keras' ResNet, and of Hugging Face's BERT as Graphcore's examples
// take it apart. None: not known.
std::string last_layer_of(const PlanSettings& plan, const std::string& unit, std::int64_t layer) {
  int size = 0, block = 0;
  if (plan.model.starts_with("bert-")) {
    if (unit == "embedding") return python(std::string("embeddings"));
    if (unit.ends_with("/ffn_down")) return python("layer_._" + std::to_string(layer));
  } else if (plan.model.starts_with("resnet") &&
             std::sscanf(unit.c_str(), "stage%d/block%d", &size, &block) == 2) {  // NOLINT(cert-err34-c): our own name
    return python("conv" + std::to_string(size + 1) + "_block" + std::to_string(block + 1) + "_out");
  }
  return "None";
}

void write_stages(const PlanSettings& plan, const std::vector<StageSettings>& stages, std::ostream& out) {
  out << "# A stage a line: the IPU of the replica that runs it, and the layer that it ends with.\nSTAGES = [\n";
  for (const StageSettings& s : stages) {
    std::vector<std::string> units;
    for (const std::string& u : s.units) units.push_back(python(u));
    out << "    {\"ipu\": " << s.ipu << ", \"ends\": " << last_layer_of(plan, s.units.back(), s.layers.back())
        << ",\n     \"units\": " << python_list(units, 9) << "},\n";
  }
  out << "]\n";
  if (!has_checkpoints(plan) || cuts_at_checkpoints(plan)) return;
  out << "# Layers whose outputs are kept: what is between them is computed again for the backward pass.\n"
         "CHECKPOINTS = {\n";
  for (const StageSettings& s : plan.stages) {
    for (const std::string& unit : s.checkpoints()) {
      const auto at = std::find(s.units.begin(), s.units.end(), unit) - s.units.begin();
      out << "    " << python(unit) << ": " << last_layer_of(plan, unit, s.layers[static_cast<std::size_t>(at)])
          << ",\n";
    }
  }
  out << "}\n";
}

void write_config(const PlanSettings& plan, std::ostream& out) {
  out << "\n\ndef config():\n    cfg = ipu.config.IPUConfig()\n";
  if (plan.instances > 1)
    out << "    # PopRun tells each process how many of the " << plan.replicas
        << " replicas it has.\n    popdist.tensorflow.set_ipu_config(cfg, ipus_per_replica="
        << plan.count("ipus_per_replica") << ", configure_device=True)\n";
  else
    out << "    cfg.auto_select_ipus = " << plan.ipus() << "\n";
  out << "    cfg.allow_recompute = " << python(recomputes(plan)) << "\n";
  if (plan.stochastic_rounding)
    out << "    cfg.floating_point_behaviour.esr = ipu.config.StochasticRoundingBehaviour.ON\n";
  out << "    cfg.matmuls.poplar_options = products(" << python(plan.available_memory_proportion)
      << ")\n    cfg.convolutions.poplar_options = products(" << python(plan.available_memory_proportion) << ")\n";
  if (plan.io_tiles > 0)
    out << "    cfg.io_tiles.num_io_tiles = " << plan.io_tiles << "\n    cfg.io_tiles.place_ops_on_io_tiles = True\n";
  out << "    return cfg\n\n\ndef products(proportion):\n    \"\"\"Options of matrix products and "
         "convolutions.\"\"\"\n    return {\"availableMemoryProportion\": str(proportion), \"partialsType\": "
      << number_type(plan, "partials", "\"half\"", "\"float\"") << "}\n";
}

// A sum of many in fp16 would overflow sooner than a mean so far.
const char* reduction(const PlanSettings& plan) {
  return plan.precision.at("accumulators") == "fp16" ? "\"running_mean\"" : "\"mean\"";
}

const char* recomputation_mode(const PlanSettings& plan) {
  return is_sequential(plan) || has_checkpoints(plan) ? "RecomputeAndBackpropagateInterleaved"
                                                      : "RecomputeThenBackpropagate";
}

// Returns the arguments of both kinds of training, from the second line of a call.
std::string accumulation(const PlanSettings& plan, const char* type) {
  return "        gradient_accumulation_steps_per_replica=" + std::to_string(plan.gradient_accumulation) +
         ",\n        gradient_accumulation_reduction_method=" + reduction(plan) + ",\n        " + type + "=" +
         number_type(plan, "accumulators", "tf.float16", "tf.float32") +
         ",\n        offload_weight_update_variables=" + python(streams(plan, "optimizer_state")) +
         ",\n        replicated_optimizer_state_sharding=" + python(plan.shards.at("optimizer_state") > 1) + ",\n";
}

const char* schedule_name(const PlanSettings& plan) {
  return is_sequential(plan) ? "Sequential" : plan.schedule == "grouped" ? "Grouped" : "Interleaved";
}

void write_pipelining(const PlanSettings& plan, std::ostream& out) {
  if (!plan.ipu_proportions.empty())
    out << "    proportions = " << python_proportions(plan, "")
        << "  # by IPU\n    stages = [ipu.pipelining_ops.PipelineStageOptions(\n"
           "        convolution_options=products(proportions[stage[\"ipu\"]]),\n"
           "        matmul_options=products(proportions[stage[\"ipu\"]])) for stage in STAGES]\n";
  out << "    model.set_pipelining_options(\n";
  if (plan.training) out << accumulation(plan, "gradient_accumulation_dtype");
  if (recomputes(plan))
    out << "        recomputation_mode=ipu.pipelining_ops.RecomputationMode." << recomputation_mode(plan) << ",\n";
  if (!plan.ipu_proportions.empty()) {
    out << "        forward_propagation_stages_poplar_options=stages,\n";
    if (plan.training) out << "        backward_propagation_stages_poplar_options=stages,\n";
  }
  if (plan.training)
    out << "        offload_activations=" << python(streams(plan, "activations"))
        << ",\n        offload_gradient_accumulation_buffers=" << python(streams(plan, "gradients")) << ",\n";
  out << "        offload_weights=" << python(streams(plan, "weights"))
      << ",\n        replicated_weight_sharding=" << python(plan.shards.at("weights") > 1)
      << ",\n        pipeline_schedule=ipu.pipelining_ops.PipelineSchedule." << schedule_name(plan)
      << ",\n        device_mapping=[stage[\"ipu\"] for stage in STAGES])\n";
}

void write_options(const PlanSettings& plan, bool is_pipeline, std::ostream& out) {
  out << "\n\ndef options(model):\n    \"\"\"Sets how the model runs; returns it.\"\"\"\n";
  if (is_pipeline)
    write_pipelining(plan, out);
  else if (plan.training)
    out << "    model.set_gradient_accumulation_options(\n" << accumulation(plan, "dtype") << "    )\n";
  out << "    model.set_infeed_queue_options(prefetch_depth=" << plan.prefetch_depth << ")\n    return model\n";
}

constexpr const char* kPlace = R"(

def place(model):
    """Assigns the layers of a functional model to the stages; returns it."""
    assignments, number = model.get_pipeline_stage_assignment(), 0
    for assignment in assignments:
        assignment.pipeline_stage = number
        if number + 1 < len(STAGES) and assignment.layer.name == STAGES[number]["ends"]:
            number += 1
    if number + 1 < len(STAGES):
        stage = STAGES[number]
        raise ValueError(f"no layer is {stage['ends']}: write the model's layer that ends {stage['units'][-1]}")
    model.set_pipeline_stage_assignment(assignments)
)";

constexpr const char* kKeep = R"(
    def keep(call):
        @functools.wraps(call)
        def kept(*args, **kwargs):
            return ipu.pipelining_ops.recomputation_checkpoint(call(*args, **kwargs))
        return kept

    for name in CHECKPOINTS.values():
        layer = model.get_layer(name)
        layer.call = keep(layer.call)
)";

void write_place(const PlanSettings& plan, std::ostream& out) {
  out << kPlace;
  if (has_checkpoints(plan) && !cuts_at_checkpoints(plan)) out << kKeep;
  out << "    return model\n";
}

// Gradients of replicas come as their sum. Between processes Keras has divided the loss by the replicas before
// (keras/engine/compile_utils.py:223).
void write_ready(const PlanSettings& plan, std::ostream& out) {
  const double clip = plan.optimizer.value("clip_norm", 0.0);
  const std::int64_t replicas = plan.instances > 1 ? 1 : plan.replicas;
  const bool scales = plan.loss_scaling > 0;
  out << "    def ready(grads_and_vars):\n        \"\"\"Returns them in fp32"
      << (replicas > 1 ? ", as the mean of the replicas" : "") << (scales ? ", without the loss scale" : "")
      << (clip > 0 ? ", of limited norm" : "") << ".\"\"\"\n"
      << "        grads = [tf.cast(grad, tf.float32)" << (replicas > 1 ? " / " + std::to_string(replicas) : "")
      << (scales ? " / LOSS_SCALE" : "") << " for grad, _ in grads_and_vars]\n";
  if (clip > 0) out << "        grads, _ = tf.clip_by_global_norm(grads, " << python(clip) << ")\n";
  const bool plain = plan.optimizer.value("kind", "sgd") == "sgd";  // takes gradients of the weight's type alone
  out << "        return [(" << (plain ? "tf.cast(grad, var.dtype)" : "grad")
      << ", var) for grad, (_, var) in zip(grads, grads_and_vars)]\n\n";
}

std::string keras_optimizer(const PlanSettings& plan) {
  const std::string kind = plan.optimizer.value("kind", "sgd");
  const auto type = [&](const char* what) { return number_type(plan, what, "tf.float16", "tf.float32"); };
  if (kind == "sgd") return "optimizers.SGDIpuOptimizer(\n        ";
  if (kind == "sgd_momentum")
    return "optimizers.SGDIpuOptimizer(\n        momentum_accum_dtype=" + type("first_moment") + ", ";
  const std::string name = kind == "lamb"   ? "optimizers.LAMBIpuOptimizer"
                           : kind == "adam" ? "optimizers.AdamIpuOptimizer"
                                            : "tfa.optimizers.extend_with_decoupled_weight_decay("
                                              "optimizers.AdamIpuOptimizer)";
  return name + "(\n        m_dtype=" + type("first_moment") + ", v_dtype=" + type("second_moment") +
         ", debiasing=" + python(plan.optimizer.value("bias_correction", true)) + ",\n        ";
}

void write_optimizer(const PlanSettings& plan, std::ostream& out) {
  if (!plan.training) return;
  out << "\n\ndef optimizer(learning_rate, **others):\n";
  write_ready(plan, out);
  out << (plan.loss_scaling > 0 ? "    inner = " : "    return ") << keras_optimizer(plan)
      << "learning_rate=learning_rate, gradient_transformers=[ready], **others)\n";
  if (plan.loss_scaling > 0)
    out << "    scaled = tf.keras.mixed_precision.LossScaleOptimizer(inner, dynamic=False, "
           "initial_scale=LOSS_SCALE)\n"
           "    scaled.get_unscaled_gradients = lambda grads: grads  # ready() divides, in fp32\n"
           "    return scaled\n";
}

// Batches of a call: those of an update; in inference as many as the plan has, made up to what fills the pipeline, a
// multiple of its stages.
std::int64_t steps_per_execution(const PlanSettings& plan) {
  if (plan.training || plan.facts.at("is_pipelined") == false) return plan.gradient_accumulation;
  const std::int64_t stages = plan.count("stages");
  const std::int64_t fill = plan.count(plan.io_tiles > 0 ? "stage_passes_beside_io" : "stage_passes");
  return (std::max(plan.gradient_accumulation, fill) + stages - 1) / stages * stages;
}

void write_head(const PlanSettings& plan, bool is_pipeline, std::ostream& out) {
  const bool several = plan.instances > 1;
  out << comment_lines(plan, "tensorflow") << "# Settings for Keras models:\n#   config().configure_ipu_system()\n#   "
      << "with " << (several ? "popdist_strategy.PopDistStrategy()" : "ipu.ipu_strategy.IPUStrategy()")
      << ".scope():\n#       tf.keras.mixed_precision.set_global_policy(POLICY)\n#       model = options("
      << (is_pipeline ? "place(model)" : "model") << ")\n#       model.compile("
      << (plan.training ? "optimizer(learning_rate), ..., " : "") << "steps_per_execution=STEPS_PER_EXECUTION)\n";
  if (is_pipeline && has_checkpoints(plan) && !cuts_at_checkpoints(plan)) out << "import functools\n\n";
  if (several) out << "import popdist.tensorflow\n";
  out << "import tensorflow as tf\n";
  if (plan.training) {
    if (plan.optimizer.value("kind", "sgd") == "adamw") out << "import tensorflow_addons as tfa\n";
    out << "from ipu_tensorflow_addons.keras import optimizers\n";
  }
  out << "from tensorflow.python import ipu\n";
  if (several) out << "from tensorflow.python.ipu.distributed import popdist_strategy\n";
  out << "\nMICRO_BATCH_SIZE = " << plan.micro_batch
      << "  # of the data set's batch()\nSTEPS_PER_EXECUTION = " << steps_per_execution(plan)
      << "  # or a multiple\nPOLICY = " << number_type(plan, "weights", "\"float16\"", "\"float32\"") << "\n";
  if (plan.training && plan.loss_scaling > 0) out << "LOSS_SCALE = " << python(plan.loss_scaling) << "\n";
  out << python_serialisation(plan, "ipu.math_ops.serialized_matmul");
}

}  // namespace

void write_tensorflow(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  check_rules(plan, "tensorflow");
  const std::vector<StageSettings> stages = keras_stages(plan);
  const bool is_pipeline = stages.size() > 1;
  write_head(plan, is_pipeline, out);
  if (is_pipeline) write_stages(plan, stages, out);
  write_config(plan, out);
  if (is_pipeline) write_place(plan, out);
  write_options(plan, is_pipeline, out);
  write_optimizer(plan, out);
}

}  // namespace superstep::exports

// SPDX-License-Identifier: Apache-2.0
// What to set in the configuration files of Graphcore's PopXL examples: PopXL itself has no settings for phases, tensor
// parallelism and sharding, its examples build them by these.
#include <array>
#include <ostream>

#include "traces/export/formats.h"
#include "traces/export/settings/python_text.h"

namespace superstep::exports {
namespace {

struct Example {
  const char* family;  // how names of the zoo begin
  const char* folder;
  const char* file;
  const char* section;
  int mesh;  // dimensions of tensor parallelism; 0: none
  bool splits_attention;
};
constexpr std::array<Example, 7> kExamples{
    {{"bert-", "nlp/bert/popxl", "config/pretraining.yml", "phased", 0, false},
     {"gpt3-", "nlp/gpt3_2.7B/popxl", "config/pretraining.yml", "release", 1, false},
     {"gpt3-", "nlp/gpt3_175B/popxl", "config/pretraining.yml", "release", 2, true},
     {"gpt-", "nlp/gpt3_2.7B/popxl", "config/pretraining.yml", "release", 1, false},
     {"gpt-", "nlp/gpt3_175B/popxl", "config/pretraining.yml", "release", 2, true},
     {"gptj-", "nlp/gpt_j/popxl", "config/finetuning.yml", "release", 1, true},
     {"t5-", "nlp/t5/popxl", "config/finetuning.yml", "release", 1, false}}};

// The example of the plan's model that is nearest to its mesh; null: there is none of the model.
const Example* example_of(const PlanSettings& plan) {
  const Example* best = nullptr;
  const int mesh = plan.t2 > 1 ? 2 : 1;
  for (const Example& e : kExamples) {
    if (plan.model.starts_with(e.family) && (!best || e.mesh == mesh)) best = &e;
  }
  return best;
}

// A phase is a layer, or what comes before and after them.
bool phase_per_layer(const PlanSettings& plan) {
  if (static_cast<std::int64_t>(plan.stages.size()) != plan.phases) return false;
  std::int64_t last = -1;
  for (const StageSettings& s : plan.stages) {
    for (const std::int64_t layer : s.layers) {
      if (layer != s.layers.front()) return false;
    }
    if (s.layers.front() >= 0 && s.layers.front() == last) return false;
    last = s.layers.front();
  }
  return plan.phased();
}

void refuse_memory(const PlanSettings& plan, Refusals& no) {
  const std::string r = std::to_string(plan.replicas);
  for (const char* what : {"weights", "gradients", "optimizer_state"}) {
    no.unless(plan.shards.at(what) == plan.replicas, std::string("replicated_tensor_sharding.") + what,
              std::to_string(plan.shards.at(what)), "the example shards over all replicas",
              python(std::string(what)) + ": " + r);
  }
  for (const char* what : {"weights", "gradients", "optimizer_state", "activations"}) {
    no.unless(plan.location.at(what) == "streaming", std::string("location.") + what, plan.location.at(what),
              "the example keeps it in Streaming Memory", python(std::string(what)) + ": \"streaming\"");
  }
  const std::array<std::pair<const char*, const char*>, 4> types{
      {{"weights", "fp16"}, {"partials", "fp16"}, {"first_moment", "fp32"}, {"second_moment", "fp32"}}};
  for (const auto& [what, type] : types) {
    no.unless(plan.precision.at(what) == type, std::string("precision.") + what, plan.precision.at(what),
              std::string("the example has ") + type, python(std::string(what)) + ": " + python(std::string(type)));
  }
}

void refuse_in_popxl(const PlanSettings& plan) {
  Refusals no(plan, "PopXL's examples");
  const Example* e = example_of(plan);
  no.unless(e != nullptr, "model", plan.model.empty() ? "not of the zoo" : plan.model,
            "there are examples of BERT, GPT-3, GPT-J and T5 only", "");
  no.check();
  no.unless(plan.training, "task", "inference", "the entry is one of training", "");
  no.unless(phase_per_layer(plan), "phases", std::to_string(plan.phases),
            "each layer is a phase, as what comes before and after the layers",
            "\"stages\" at the first unit of each layer, and \"phases\": a phase for each stage");
  no.unless(plan.pipeline_stages == 1, "pipeline_stages", std::to_string(plan.pipeline_stages),
            "phases are not pipelined", "\"pipeline_stages\": 1");
  no.unless(plan.phase_groups == 1, "phase_groups", std::to_string(plan.phase_groups),
            "phases follow each other on the same IPUs", "\"phase_groups\": 1");
  no.unless(plan.phase_order == "phase_outer", "phase_order", plan.phase_order,
            "all micro-batches pass through a phase before the next one", "\"phase_order\": \"phase_outer\"");
  no.unless(plan.load == "on_demand", "load", plan.load, "a phase's weights are loaded when it begins",
            "\"load\": \"on_demand\"");
  no.unless(e->mesh > 0 || plan.tensor_parallel() == 1, "tensor_parallel", std::to_string(plan.tensor_parallel()),
            "a layer of this example is on one IPU", "\"tensor_parallel\": 1");
  no.unless(e->mesh == 2 || plan.t2 == 1, "tensor_parallel", std::to_string(plan.t1) + "x" + std::to_string(plan.t2),
            "the mesh of this example has one dimension",
            "\"tensor_parallel\": " + std::to_string(plan.tensor_parallel()));
  // Releases of the examples with a mesh of one dimension differ in whether they share what they store.
  const std::string& sharding = plan.activation_sharding;
  no.unless(e->mesh == 2 ? sharding == "stored" : sharding == "none" || (sharding == "stored" && e->mesh == 1),
            "activation_sharding", sharding,
            e->mesh == 2 ? "the example stores a share of activations" : "the example computes with whole activations",
            e->mesh == 2 ? "\"activation_sharding\": \"stored\"" : "\"activation_sharding\": \"none\"");
  for (const auto& [what, factor] : plan.serialisation) {
    no.unless(factor <= 1 || (what == "attention" && e->splits_attention), "serialisation." + what,
              std::to_string(factor), "the example computes it at once", python(what) + ": 1");
  }
  const std::string kind = plan.optimizer.value("kind", "sgd");
  no.unless(kind == "adam" || kind == "adamw", "optimizer.kind", kind, "the example has AdamW", "");
  refuse_memory(plan, no);
  no.common();
  no.check();
}

}  // namespace

void write_popxl(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  refuse_in_popxl(plan);
  const Example& e = *example_of(plan);
  out << comment_lines(plan) << "# Settings for PopXL: what to set in a copy of the model's entry below \"" << e.section
      << "\" in\n# " << e.folder << "/" << e.file << " of github.com/graphcore/examples.\n"
      << (e.mesh == 1 && plan.t1 > 1 ? "# The plan stores activations " +
                                           std::string(plan.activation_sharding == "none" ? "whole" : "in shares") +
                                           "; releases of the example differ in that.\n"
                                     : "")
      << e.section << ":\n  superstep:\n    training:\n      global_batch_size: " << plan.global_batch()
      << (plan.stochastic_rounding ? "\n      stochastic_rounding: true" : "")
      << "\n    execution:\n      micro_batch_size: " << plan.micro_batch << "\n";
  if (plan.loss_scaling > 0) out << "      loss_scaling: " << python(plan.loss_scaling) << "\n";
  out << "      io_tiles: " << plan.io_tiles << "\n      available_memory_proportion: ["
      << python(plan.available_memory_proportion) << "]\n";
  if (plan.serialisation.at("attention") > 1)
    out << "      attention_serialisation: " << plan.serialisation.at("attention") << "\n";
  out << "      data_parallel: " << plan.replicas << "\n";
  if (e.mesh == 2)
    out << "      tensor_parallel_1: " << plan.t1 << "\n      tensor_parallel_2: " << plan.t2 << "\n";
  else if (e.mesh == 1)
    out << "      tensor_parallel: " << plan.t1 << "\n";
}

}  // namespace superstep::exports

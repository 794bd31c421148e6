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
};
constexpr std::array<Example, 7> kExamples{{{"bert-", "nlp/bert/popxl", "config/pretraining.yml", "phased", 0},
                                            {"gpt3-", "nlp/gpt3_2.7B/popxl", "config/pretraining.yml", "release", 1},
                                            {"gpt3-", "nlp/gpt3_175B/popxl", "config/pretraining.yml", "release", 2},
                                            {"gpt-", "nlp/gpt3_2.7B/popxl", "config/pretraining.yml", "release", 1},
                                            {"gpt-", "nlp/gpt3_175B/popxl", "config/pretraining.yml", "release", 2},
                                            {"gptj-", "nlp/gpt_j/popxl", "config/finetuning.yml", "release", 1},
                                            {"t5-", "nlp/t5/popxl", "config/finetuning.yml", "release", 1}}};

// Bytes of Streaming Memory that an IPU has without extended memory: examples nlp/gpt3_2.7B/popxl/config/config.py:165.
constexpr std::int64_t kPlainMemory = std::int64_t{16} << 30;

// A norm that no gradients have: the examples always clip, to a norm of 1 where nothing else is said.
constexpr double kNoClipping = 1e9;

// The example of the plan's model that is nearest to its mesh; null: there is none of the model.
const Example* example_of(const PlanSettings& plan) {
  const Example* best = nullptr;
  const int mesh = plan.t2 > 1 ? 2 : 1;
  for (const Example& e : kExamples) {
    if (plan.model.starts_with(e.family) && (!best || e.mesh == mesh)) best = &e;
  }
  return best;
}

// T5's example takes the size of its model from the name of the entry: nlp/t5/popxl/finetuning.py:106.
std::string entry_name(const PlanSettings& plan) {
  return (plan.model.starts_with("t5-") ? plan.model.substr(3) + "_" : "") + "superstep";
}

}  // namespace

void write_popxl(const ReportPointer& report, const Options&, std::ostream& out) {
  const PlanSettings plan = read_settings(*report);
  check_rules(plan, "popxl");
  const Example& e = *example_of(plan);
  const double clip = plan.optimizer.value("clip_norm", 0.0);
  out << comment_lines(plan, "popxl") << "# Settings for PopXL: what to set in a copy of the model's entry below \""
      << e.section << "\" in\n# " << e.folder << "/" << e.file << " of github.com/graphcore/examples.\n"
      << (e.mesh == 1 && plan.t1 > 1 ? "# The plan stores activations " +
                                           std::string(plan.activation_sharding == "none" ? "whole" : "in shares") +
                                           "; releases of the example differ in that.\n"
                                     : "")
      << (plan.streaming_bytes_per_ipu > kPlainMemory
              ? "# An IPU holds more than 16 GiB of Streaming Memory, which needs extended memory:\n"
                "#   POPLAR_ENGINE_OPTIONS='{\"target.extendedMemory\": \"true\"}'\n"
              : "")
      << e.section << ":\n  " << entry_name(plan)
      << ":\n    training:\n      global_batch_size: " << plan.global_batch()
      << "\n      stochastic_rounding: " << (plan.stochastic_rounding ? "true" : "false") << "\n      optimizer:\n"
      << (e.mesh == 2 ? "" : "        name: \"adamw\"\n")  // no such field: nlp/gpt3_175B/popxl/config/config.py:87
      << "        gradient_clipping: " << python(clip > 0 ? clip : kNoClipping)
      << "\n    execution:\n      micro_batch_size: " << plan.micro_batch << "\n";
  if (plan.loss_scaling > 0) out << "      loss_scaling: " << python(plan.loss_scaling) << "\n";
  out << "      io_tiles: " << plan.io_tiles << "\n      available_memory_proportion: ["
      << python(plan.available_memory_proportion) << "]\n";
  if (plan.serialisation.at("attention") > 1)
    out << "      attention_serialisation: " << plan.serialisation.at("attention") << "\n";
  if (plan.location.at("code") == "streaming") out << "      code_load: true\n";
  out << "      data_parallel: " << plan.replicas << "\n";
  if (e.mesh == 2)
    out << "      tensor_parallel_1: " << plan.t1 << "\n      tensor_parallel_2: " << plan.t2 << "\n";
  else if (e.mesh == 1)
    out << "      tensor_parallel: " << plan.t1 << "\n";
}

}  // namespace superstep::exports

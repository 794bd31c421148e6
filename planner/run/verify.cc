// SPDX-License-Identifier: Apache-2.0
#include "planner/run/verify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "model/lower/shard_rules.h"
#include "planner/report/evaluated.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostPhases = 3;
constexpr std::int64_t kSteps = 3;

std::int64_t isqrt(std::int64_t n) { return static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(n)))); }

class Scaling {
 public:
  Scaling(const Job& job, const Plan& plan, std::int64_t units) : job_(job), from_(plan), plan_(plan), units_(units) {}

  ScaledDown run() {
    out_.job = job_.json();
    for (const char* key : {"description", "$schema", "objective", "run"}) out_.job.erase(key);
    degrees();
    if (job_.model.zoo) std::visit([&](const auto& spec) { model(spec); }, *job_.model.zoo);
    statistics();
    cut_stages();
    machine();
    out_.job["batch"] = {{"global", plan_.global_batch()}};
    out_.job["plan"] = to_json(plan_);
    // One step per chunk, so that every cut of a contraction lies at a node of its tree and costs no bit.
    out_.job["run"] = {{"steps", kSteps}, {"chunk", 1}};
    if (job_.run.automatic_loss_scale) out_.job["run"]["loss_scale"] = "auto";
    return std::move(out_);
  }

  const Plan& plan() const { return plan_; }

 private:
  const Job& job_;
  const Plan& from_;
  Plan plan_;
  std::int64_t units_;
  ScaledDown out_;

  void set(const std::string& name, std::int64_t& value, std::int64_t to) {
    to = std::min(value, to);
    if (to == value) return;
    out_.changes.push_back(name + " " + std::to_string(value) + " to " + std::to_string(to));
    value = to;
  }

  std::int64_t stages_per_phase() const {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(from_.stages.size() / from_.phases.size()));
  }

  // Returns the micro-batches of the scaled-down plan. With batch norm groups over several replicas there is one,
  // unless a pipeline needs more. Sums of convolutions run over samples and positions; a power of two cuts the sums at
  // nodes.
  std::int64_t micro_batches() const {
    const std::int64_t p = plan_.pipeline_stages;
    const bool pipelined = p > 1 && from_.schedule != Schedule::sequential;
    if (statistics_group(job_) > from_.micro_batch && !pipelined) return 1;
    const bool plain =
        !job_.model.zoo || std::holds_alternative<TransformerSpec>(*job_.model.zoo) ||
        std::holds_alternative<T5Spec>(*job_.model.zoo) || std::holds_alternative<LlamaSpec>(*job_.model.zoo) ||
        std::holds_alternative<LstmSpec>(*job_.model.zoo) || std::holds_alternative<HmcSpec>(*job_.model.zoo);
    if (plain) return 2 * p + 1;
    const auto power = static_cast<std::int64_t>(
        std::bit_floor(static_cast<std::uint64_t>(std::min(from_.gradient_accumulation, 4 * p))));
    return pipelined ? std::max(power, 2 * p - 1) : power;
  }

  void degrees() {
    set("tensor_parallel", plan_.tensor_parallel.t1, 2);
    set("tensor_parallel (second)", plan_.tensor_parallel.t2, 2);
    set("pipeline_stages", plan_.pipeline_stages, 2);
    set("replicas", plan_.replicas, 2);
    set("micro_batch", plan_.micro_batch, 2);
    set("gradient_accumulation", plan_.gradient_accumulation, micro_batches());
    ReplicatedTensorSharding& rts = plan_.replicated_tensor_sharding;
    set("sharding of weights", rts.weights, plan_.replicas);
    set("sharding of gradients", rts.gradients, plan_.replicas);
    set("sharding of optimizer state", rts.optimizer_state, plan_.replicas);
    Serialisation& s = plan_.serialisation;
    for (std::int64_t* factor : {&s.embedding, &s.head, &s.attention, &s.feed_forward})
      set("serialisation", *factor, 2);
  }

  // Returns a number of layers that suffices for the stages of every phase.
  std::int64_t layers() const {
    const auto phases = std::min(kMostPhases, static_cast<std::int64_t>(from_.phases.size()));
    return std::max<std::int64_t>(2, phases * (plan_.pipeline_stages + 1));
  }

  void model(TransformerSpec spec) {
    const std::int64_t t = plan_.tensor_parallel.size(), before = spec.layers;
    set("layers", spec.layers, layers());
    const std::int64_t ratio = std::max<std::int64_t>(1, spec.ffn / spec.hidden);
    set("heads", spec.heads, 2 * t);
    // Smaller weights would not begin a split (kSmallWeight).
    const std::int64_t width = t > 1 ? round_up(isqrt(kSmallWeight), spec.heads) : 0;
    set("hidden", spec.hidden, std::max(8 * spec.heads, width));
    set("ffn", spec.ffn, ratio * spec.hidden);
    set("vocabulary", spec.vocabulary, std::max(16 * t, width));
    set("sequence_length", spec.sequence_length, 8);
    spec.positions = std::min(spec.positions, spec.sequence_length);
    if (spec.masked_tokens > 0) set("masked_tokens", spec.masked_tokens, 2);
    json& m = out_.job["model"];
    m["layers"] = spec.layers, m["hidden"] = spec.hidden, m["heads"] = spec.heads, m["ffn"] = spec.ffn;
    m["vocabulary"] = spec.vocabulary, m["sequence_length"] = spec.sequence_length, m["positions"] = spec.positions;
    if (spec.masked_tokens > 0) m["masked_tokens"] = spec.masked_tokens;
    units_ = 2 + (units_ - 2) / before * spec.layers;
  }

  void model(ResNetSpec spec) {
    const auto sizes = static_cast<std::int64_t>(spec.blocks.size());
    units_ = 2;
    for (std::int64_t& blocks : spec.blocks) {
      set("blocks", blocks, ceil_div(layers(), sizes));
      units_ += blocks;
    }
    const std::int64_t t = plan_.tensor_parallel.size();
    set("width", spec.width, t > 1 ? isqrt(kSmallWeight) : 8);  // smaller weights would not begin a split
    set("groups", spec.groups, 4);                              // still several groups, of several channels each
    set("image_size", spec.image_size, 32);
    set("classes", spec.classes, 16 * t);
    json& m = out_.job["model"];
    m.erase("blocks_per_checkpoint");
    m["blocks"] = spec.blocks, m["width"] = spec.width, m["groups"] = spec.groups, m["image_size"] = spec.image_size,
    m["classes"] = spec.classes;
  }

  void set(const std::string& name, double& value, double to) {
    to = std::min(value, to);
    if (to == value) return;
    out_.changes.push_back(name + " " + json(value).dump() + " to " + json(to).dump());
    value = to;
  }

  void model(EfficientNetSpec spec) {
    const std::int64_t t = plan_.tensor_parallel.size();
    const double blocks = static_cast<double>(spec.blocks()) / spec.depth_coefficient;
    set("depth_coefficient", spec.depth_coefficient, static_cast<double>(layers()) / blocks);
    // Like the width of a ResNet. The first block has 16 channels, the fewest and half the channels of the stem.
    constexpr double kFewest = 16;
    set("width_coefficient", spec.width_coefficient, t > 1 ? static_cast<double>(isqrt(kSmallWeight)) / kFewest : 0.25);
    set("expansion", spec.expansion, 2);
    set("group_size", spec.group_size, 4);
    set("image_size", spec.image_size, 32);
    set("classes", spec.classes, 16 * t);
    json& m = out_.job["model"];
    m["depth_coefficient"] = spec.depth_coefficient, m["width_coefficient"] = spec.width_coefficient;
    m["expansion"] = spec.expansion, m["group_size"] = spec.group_size, m["image_size"] = spec.image_size,
    m["classes"] = spec.classes;
    units_ = 2 + spec.blocks();
  }

  void model(ConformerSpec spec) {
    const std::int64_t t = plan_.tensor_parallel.size();
    set("layers", spec.layers, ceil_div(layers(), 2));
    set("decoder_layers", spec.decoder_layers, ceil_div(layers(), 2));
    const std::int64_t ratio = std::max<std::int64_t>(1, spec.ffn / spec.hidden);
    set("heads", spec.heads, 2 * t);
    const std::int64_t width = t > 1 ? round_up(isqrt(kSmallWeight), spec.heads) : 0;  // as of a transformer
    set("hidden", spec.hidden, std::max(8 * spec.heads, width));
    set("ffn", spec.ffn, ratio * spec.hidden);
    set("kernel", spec.kernel, 3);
    set("vocabulary", spec.vocabulary, std::max(16 * t, width));
    set("frames", spec.frames, 31);
    set("features", spec.features, 11);
    set("target_length", spec.target_length, 4);
    json& m = out_.job["model"];
    m["layers"] = spec.layers, m["decoder_layers"] = spec.decoder_layers, m["hidden"] = spec.hidden;
    m["heads"] = spec.heads, m["ffn"] = spec.ffn, m["kernel"] = spec.kernel, m["vocabulary"] = spec.vocabulary;
    m["frames"] = spec.frames, m["features"] = spec.features, m["target_length"] = spec.target_length;
    units_ = 2 + 4 * spec.layers + 3 * spec.decoder_layers;
  }

  void model(VitSpec spec) {
    const std::int64_t t = plan_.tensor_parallel.size();
    set("layers", spec.layers, layers());
    const std::int64_t ratio = std::max<std::int64_t>(1, spec.ffn / spec.hidden);
    set("heads", spec.heads, 2 * t);
    const std::int64_t width = t > 1 ? round_up(isqrt(kSmallWeight), spec.heads) : 0;  // as of a transformer
    set("hidden", spec.hidden, std::max(8 * spec.heads, width));
    set("ffn", spec.ffn, ratio * spec.hidden);
    set("patch", spec.patch, 4);
    set("image_size", spec.image_size, 3 * spec.patch);
    set("classes", spec.classes, std::max(16 * t, width));
    json& m = out_.job["model"];
    m["layers"] = spec.layers, m["hidden"] = spec.hidden, m["heads"] = spec.heads, m["ffn"] = spec.ffn;
    m["patch"] = spec.patch, m["image_size"] = spec.image_size, m["classes"] = spec.classes;
    units_ = 2 + 3 * spec.layers;
  }

  void model(T5Spec spec) {
    const std::int64_t t = plan_.tensor_parallel.size();
    set("layers", spec.layers, ceil_div(layers(), 2));
    set("heads", spec.heads, 2 * t);
    const std::int64_t width = t > 1 ? round_up(isqrt(kSmallWeight), spec.heads) : 0;  // as of a transformer
    set("head_size", spec.head_size, std::max<std::int64_t>(8, width / spec.heads));
    set("hidden", spec.hidden, std::max(8 * spec.heads, width));
    set("ffn", spec.ffn, 2 * spec.hidden);
    set("vocabulary", spec.vocabulary, std::max(16 * t, width));
    set("sequence_length", spec.sequence_length, 8);
    set("target_length", spec.target_length, 8);
    json& m = out_.job["model"];
    m["layers"] = spec.layers, m["hidden"] = spec.hidden, m["heads"] = spec.heads, m["head_size"] = spec.head_size;
    m["ffn"] = spec.ffn, m["vocabulary"] = spec.vocabulary, m["sequence_length"] = spec.sequence_length;
    m["target_length"] = spec.target_length;
    units_ = 3 + 7 * spec.layers;
  }

  void model(LlamaSpec spec) {
    const std::int64_t t = plan_.tensor_parallel.size(), share = spec.heads / spec.key_value_heads;
    set("layers", spec.layers, layers());
    set("key_value_heads", spec.key_value_heads, 2 * t);
    set("heads", spec.heads, spec.key_value_heads * std::min<std::int64_t>(share, 2));
    const std::int64_t width = t > 1 ? round_up(isqrt(kSmallWeight), spec.heads) : 0;  // as of a transformer
    set("head_size", spec.head_size, std::max<std::int64_t>(8, round_up(width / spec.heads, 2)));
    set("hidden", spec.hidden, std::max(8 * spec.heads, width));
    set("ffn", spec.ffn, 2 * spec.hidden);
    set("vocabulary", spec.vocabulary, std::max(16 * t, width));
    set("sequence_length", spec.sequence_length, 8);
    json& m = out_.job["model"];
    m["layers"] = spec.layers, m["hidden"] = spec.hidden, m["heads"] = spec.heads, m["ffn"] = spec.ffn;
    m["key_value_heads"] = spec.key_value_heads, m["head_size"] = spec.head_size;
    m["vocabulary"] = spec.vocabulary, m["sequence_length"] = spec.sequence_length;
    units_ = 2 + 3 * spec.layers;
  }

  void model(LstmSpec spec) {
    const std::int64_t t = plan_.tensor_parallel.size(), width = t > 1 ? isqrt(kSmallWeight) : 8;
    set("layers", spec.layers, layers());
    set("hidden", spec.hidden, width);
    set("vocabulary", spec.vocabulary, std::max(16 * t, width));
    set("sequence_length", spec.steps, 4);
    json& m = out_.job["model"];
    m["layers"] = spec.layers, m["hidden"] = spec.hidden, m["vocabulary"] = spec.vocabulary;
    m["sequence_length"] = spec.steps;
    units_ = 2 + spec.layers;
  }

  void model(DeepVoiceSpec spec) {
    const std::int64_t width = plan_.tensor_parallel.size() > 1 ? isqrt(kSmallWeight) : 8;
    for (std::int64_t* channels : {&spec.hidden, &spec.encoder_channels, &spec.decoder_channels})
      set("channels", *channels, width);
    for (std::int64_t* blocks : {&spec.encoder_blocks, &spec.decoder_blocks, &spec.converter_blocks})
      set("blocks", *blocks, ceil_div(layers(), 3));
    set("text_length", spec.text, 8);
    set("frames", spec.frames, 9);
    json& m = out_.job["model"];
    m["hidden"] = spec.hidden, m["encoder_channels"] = spec.encoder_channels;
    m["decoder_channels"] = spec.decoder_channels, m["encoder_blocks"] = spec.encoder_blocks;
    m["decoder_blocks"] = spec.decoder_blocks, m["converter_blocks"] = spec.converter_blocks;
    m["text_length"] = spec.text, m["frames"] = spec.frames;
    units_ = 4 + spec.encoder_blocks + spec.decoder_blocks + spec.converter_blocks;
  }

  void model(HmcSpec spec) {
    set("items", spec.items, 16);
    set("leapfrog_steps", spec.leapfrog_steps, layers());
    json& m = out_.job["model"];
    m["items"] = spec.items, m["leapfrog_steps"] = spec.leapfrog_steps;
    units_ = 2 + spec.leapfrog_steps;
  }

  // Scales the statistics group and keeps its relation to the micro-batch: over replicas, a whole micro-batch, or a
  // part. If the scaled-down plan has several micro-batches (a pipeline), a group over replicas becomes a whole
  // micro-batch.
  void statistics() {
    std::int64_t group = statistics_group(job_);
    if (group == 0) return;
    const std::int64_t micro_batch = from_.micro_batch;
    const bool over_replicas = group > micro_batch && plan_.gradient_accumulation == 1;
    set("statistics_group", group,
        over_replicas          ? plan_.micro_batch * plan_.replicas
        : group >= micro_batch ? plan_.micro_batch
                               : 1);
    out_.job["model"]["statistics_group"] = group;
  }

  // Cuts the scaled-down model evenly into as many stages as the degrees allow. A pipeline that returns to its first
  // IPU group still does.
  void cut_stages() {
    const auto phases = static_cast<std::int64_t>(from_.phases.size());
    std::int64_t kept = phases;
    set("phases", kept, kMostPhases);
    const std::int64_t beyond = phases == 1 ? stages_per_phase() - from_.pipeline_stages : 0;
    const std::int64_t stages = std::min(kept * (plan_.pipeline_stages + std::max<std::int64_t>(beyond, 0)), units_);
    if (kept == phases && plan_.pipeline_stages == from_.pipeline_stages && units_ == old_units()) return;
    plan_.stages.clear(), plan_.stage_ipu.clear(), plan_.recompute.clear(), plan_.phases.clear();
    plan_.stage_proportions.clear();
    for (std::int64_t s = 0; s < stages; ++s) {
      plan_.stages.push_back(s * units_ / stages);
      plan_.stage_ipu.push_back(s % plan_.pipeline_stages);
      const auto like = [&](const auto& list) {
        return list[static_cast<std::size_t>(s) * list.size() / static_cast<std::size_t>(stages)];
      };
      plan_.recompute.push_back(like(from_.recompute));
      if (!from_.stage_proportions.empty()) plan_.stage_proportions.push_back(like(from_.stage_proportions));
      if (s % (stages / kept) == 0 && static_cast<std::int64_t>(plan_.phases.size()) < kept) plan_.phases.push_back(s);
    }
  }
  std::int64_t old_units() const { return job_.model.zoo ? -1 : units_; }

  void machine() {
    json machine = job_.json().at("machine");
    if (!machine.is_object()) machine = {{"base", machine}};
    std::int64_t ipus = from_.ipus();
    set("IPUs", ipus, plan_.ipus());
    machine["partition"] = ipus;
    out_.job["machine"] = std::move(machine);
  }
};

}  // namespace

ScaledDown scaled_down(const Job& job, const Plan& plan, std::int64_t units) { return Scaling(job, plan, units).run(); }

Verification verify(const Job& job, const Plan& plan, std::int64_t units, int threads) {
  Verification v;
  Scaling scaling(job, plan, units);
  v.scaled = scaling.run();
  v.plan = scaling.plan();
  const Job small = read_job(v.scaled.job, job.source);
  const CostModel model(small.machine, load_calibration(small.machine.calibration));
  Tables tables(small, model);
  v.run = run_job(tables, v.plan, evaluate_in_full(tables, v.plan).program, {.threads = threads, .progress = {}});
  return v;
}

std::string Verification::sentence() const {
  std::string text = "verified on a scaled-down model: ";
  if (run.failure)
    text += run.failure->tensor + " is not finite in step " + std::to_string(run.failure->step);
  else if (identical())
    text += "the same bits as the plain model after " + std::to_string(run.steps.size()) + " steps";
  else
    text += "NOT the same bits as the plain model, " + run.difference.worst + " is apart by " +
            std::to_string(run.difference.max_relative) + " of its largest element";
  text += " (" + label(plan);
  for (const std::string& change : scaled.changes) text += ", " + change;
  return text + ")";
}

json to_json(const Verification& v) {
  json losses = json::array();
  for (const RunStep& s : v.run.steps) losses.push_back(s.loss ? json(*s.loss) : json());
  return {{"bit_identical", v.identical()},
          {"max_abs_difference", v.run.difference.max_abs},
          {"losses", losses},
          {"scaled", v.scaled.changes},
          {"job", v.scaled.job}};
}

}  // namespace superstep

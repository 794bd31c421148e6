// SPDX-License-Identifier: Apache-2.0
// Settings for real systems, from plans written by hand; published ones are compared by tests/cli/settings.sh.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "model/error.h"
#include "tests/traces/example_report.h"
#include "tests/traces/settings_plans.h"
#include "traces/export/formats.h"
#include "traces/export/settings/settings.h"

namespace superstep::exports {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Settings : public testing::Test {
 protected:
  ReportPointer report(const json& plan_json, const json& job_json, const std::string& title = "bert") {
    ReportWriter columns;
    std::vector<std::string> names = {"embedding"};
    std::vector<std::int64_t> layers = {-1};
    for (std::int64_t l = 0; l < 4; ++l) {
      for (const char* part : {"/attention", "/ffn_up", "/ffn_down"}) {
        names.push_back("layer" + std::to_string(l) + part);
        layers.push_back(l);
      }
    }
    names.emplace_back("head");
    layers.push_back(-1);
    columns.add_texts("unit.name", names);
    columns.add_integers("unit.layer", "index", layers);
    if (!runs_.empty()) columns.add_integers("unit.checkpoint", "index", runs_);
    report::Index index;
    index.set_title(title), index.set_created_by("superstep"), index.set_job_json(job_json.dump());
    index.mutable_plan()->set_plan_json(plan_json.dump()), index.mutable_plan()->set_fits("fits");
    index.mutable_plan()->set_samples_per_second(123), index.mutable_plan()->set_label("t=1 p=2");
    const auto path = folder_.path / "settings.ssr";
    columns.finish(index, path);
    return std::make_shared<const ReportFile>(ReportFile::open(path));
  }
  std::string written(const char* format, const json& plan_json, const json& job_json = job()) {
    std::ostringstream out;
    find_format(format).write(report(plan_json, job_json), {}, out);
    return out.str();
  }
  // What is said where the target cannot express the plan; empty: it can.
  std::string refusal(const char* format, const json& plan_json, const json& job_json = job()) {
    try {
      written(format, plan_json, job_json);
    } catch (const Unsupported& e) {
      return e.what();
    }
    return "";
  }
  TemporaryFolder folder_;
  std::vector<std::int64_t> runs_;  // the column unit.checkpoint; empty: an old report
};

TEST_F(Settings, OfAPlanThatEveryPipelineCanHave) {
  for (const char* format : {"poptorch", "popart", "tensorflow", "poprun", "vipu"}) {
    EXPECT_THAT(written(format, plan()), AllOf(HasSubstr("# bert: t=1 p=2\n"), HasSubstr("123 samples/s"))) << format;
  }
  EXPECT_THAT(written("poptorch", plan()),
              AllOf(HasSubstr("replicationFactor(4)"), HasSubstr("gradientAccumulation(8)"),
                    HasSubstr("MICRO_BATCH_SIZE = 3\n"), HasSubstr("\"begins\": \"bert.encoder.layer.2\""),
                    HasSubstr("RecomputationType.Pipeline"), Not(HasSubstr("StochasticRounding"))));
}

TEST_F(Settings, OfBoundsByKindOfWorkAreTheTightestOfAnyProduct) {
  const json shares = {{"embedding", 0.3}, {"attention", 0.3}, {"feed_forward", 0.2},
                       {"head", 0.15},     {"other", 0.3},     {"update", 0.05}};
  EXPECT_THAT(written("poptorch", with(plan(), "/available_memory_proportion", shares)),
              AllOf(HasSubstr("setAvailableMemoryProportion({\"IPU0\": 0.15, \"IPU1\": 0.15})"),
                    HasSubstr("# Available memory proportion of the plan: attention 0.3, embedding 0.3, ")));
}

TEST_F(Settings, OfBoundsThatCountWhatIsLiveAreTheLeastOfAnyProduct) {
  const json bound = {{"live", "layer"}, {"proportion", 0.6}};
  EXPECT_THAT(written("poptorch", with(plan(), "/available_memory_proportion", bound)),
              AllOf(HasSubstr("setAvailableMemoryProportion({\"IPU0\": 0.05, \"IPU1\": 0.05})"),
                    HasSubstr("# In the plan an op may take 0.6 of a tile together with what is live in its layer; "),
                    HasSubstr("{\"live\": \"none\"}")));
  EXPECT_THAT(
      written("poptorch", with(plan(), "/available_memory_proportion", {{"live", "weights"}, {"proportion", 0.6}})),
      HasSubstr("what is live in its unit, and the unit's weights and gradients; here"));
}

TEST_F(Settings, OfABoundForEachStageAreEachIpus) {
  const json bounds = {{"stages", {0.3, {{"live", "unit"}, {"proportion", 0.5}}}}};
  EXPECT_THAT(written("poptorch", with(plan(), "/available_memory_proportion", bounds)),
              AllOf(HasSubstr("setAvailableMemoryProportion({\"IPU0\": 0.3, \"IPU1\": 0.05})"),
                    HasSubstr("# Each stage of the plan has an available memory proportion of its own; ")));
}

TEST_F(Settings, OfCutsWithinALayerNameItsModule) {
  EXPECT_THAT(written("poptorch", with(plan(), "/stages", {0, 5})),
              HasSubstr("\"begins\": \"bert.encoder.layer.1.intermediate\""));
  EXPECT_THAT(written("poptorch", with(plan(), "/stages", {0, 6})),
              HasSubstr("\"begins\": \"bert.encoder.layer.1.output\""));
  EXPECT_THAT(written("poptorch", plan(), with(job(), "/model", {{"onnx", "a.onnx"}})), HasSubstr("\"begins\": None"));
}

// The last stage goes backward at once: its checkpoint of nothing is no recomputation.
TEST_F(Settings, OfRecomputation) {
  const auto type = [&](const json& recompute) {
    return recomputation_type(read_settings(*report(with(plan(), "/recompute", recompute), job())));
  };
  EXPECT_EQ(type("layer"), "Pipeline");
  EXPECT_EQ(type({"stage", "none"}), "Pipeline");
  EXPECT_EQ(type("none"), "NoRecompute");
  EXPECT_EQ(type({"none", "stage"}), "NoRecompute");
  EXPECT_EQ(type({"none", "layer"}), "mixed");
  EXPECT_THAT(refusal("popart", with(plan(), "/recompute", {"none", "layer"})), HasSubstr("recompute is mixed, but "));
  json one = with(with(with(plan(), "/stages", {0}), "/stage_ipu", {0}), "/pipeline_stages", 1);
  EXPECT_THAT(written("poptorch", one), HasSubstr("int(popart.RecomputationType.RecomputeAll)"));
  EXPECT_THAT(written("popart", one), HasSubstr("autoRecomputation = popart.RecomputationType.RecomputeAll\n"));
}

TEST_F(Settings, OfCheckpointsAreTheLayersOfTheStagesThatHaveThem) {
  const std::string both = written("popart", plan());
  EXPECT_THAT(both, HasSubstr("CHECKPOINTS = [\"layer0/ffn_down\", \"layer2/ffn_down\", \"layer3/ffn_down\"]"));
  EXPECT_THAT(written("popart", with(plan(), "/recompute", {"stage", "layer"})),
              HasSubstr("CHECKPOINTS = [\"layer2/ffn_down\", \"layer3/ffn_down\"]"));
}

TEST_F(Settings, OfCheckpointsThatLayersShare) {
  runs_ = {0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1};
  EXPECT_THAT(written("popart", plan()), HasSubstr("CHECKPOINTS = []"));
  runs_ = {0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2};
  EXPECT_THAT(written("popart", plan()), HasSubstr("CHECKPOINTS = [\"layer0/ffn_down\", \"layer2/ffn_down\"]"));
}

TEST_F(Settings, AreRefusedWhereTheTargetCannotSayThem) {
  struct Case {
    const char *pointer, *value, *poptorch, *popart;  // what is said; empty: nothing
  };
  for (const Case& c : {
           Case{"/tensor_parallel", "2", "tensor_parallel is 2", "tensor_parallel is 2"},
           {"/tensor_parallel", "[2, 2]", "tensor_parallel is 4", "tensor_parallel is 4"},
           {"/placement", "\"p-t-r\"", "pin \"placement\": \"t-p-r\"", "placement is p-t-r"},
           {"/schedule", "\"interleaved\"", "schedule is interleaved", "pin \"schedule\": \"grouped\""},
           {"/replicated_tensor_sharding/groups", "\"orthogonal\"", "groups is orthogonal", "groups is orthogonal"},
           {"/replicated_tensor_sharding/optimizer_state", "2", "pin \"optimizer_state\": 1 or 4",
            "shared by the replicas of a process"},
           {"/location/weights", "\"remote_ipu\"", "location.weights is remote_ipu", "or \"streaming\""},
           {"/location/code", "\"streaming\"", "location.code is streaming", "location.code is streaming"},
           {"/location/activations", "\"streaming\"", "location.activations", "location.activations is streaming"},
           {"/load", "\"preload\"", "load is preload", "load is preload"},
           {"/precision/master", "true", "precision.master", "precision.master is true"},
           {"/precision/weights", "\"fp32\"", "precision.activations is fp16", ""},
           {"/location/weights", "\"streaming\"", "", ""},
           {"/schedule", "\"sequential\"", "recompute is layer", "all stages of a pipeline but the last"},
       }) {
    const json changed = with(plan(), c.pointer, json::parse(c.value));
    for (const auto& [format, expected] : {std::pair{"poptorch", c.poptorch}, {"popart", c.popart}}) {
      const std::string found = refusal(format, changed);
      EXPECT_THAT(found, HasSubstr(expected)) << format << ' ' << c.pointer;
      EXPECT_EQ(found.empty(), *expected == '\0') << format << ' ' << c.pointer << ' ' << found;
    }
  }
  EXPECT_THAT(refusal("popart", plan(), with(job(), "/optimizer/kind", "lars")), HasSubstr("optimizer.kind is lars"));
  EXPECT_THAT(refusal("poptorch", phased()), HasSubstr("phases is 6"));
}

TEST_F(Settings, NameAllThatIsRefusedAtOnce) {
  json bad = with(with(plan(), "/tensor_parallel", 2), "/placement", "r-t-p");
  EXPECT_THAT(refusal("poptorch", bad), AllOf(HasSubstr("tensor_parallel is 2"), HasSubstr("placement is r-t-p")));
}

TEST_F(Settings, OfShardsWithinAnInstance) {
  const json halves = with(plan(), "/replicated_tensor_sharding/optimizer_state", 2);
  const std::string text = written("popart", halves, with(job(), "/run/instances", 2));
  EXPECT_THAT(text, HasSubstr("shardingDomain = popart.CommGroup(popart.CommGroupType.Consecutive, 2)"));
  EXPECT_THAT(text,
              AllOf(HasSubstr("IPUS = 4  # of a process\n"), HasSubstr("popdist.popart.configureSessionOptions(opts)"),
                    Not(HasSubstr("replicatedGraphCount"))));
  EXPECT_THAT(written("poprun", halves, with(job(), "/run/instances", 2)), HasSubstr("--num-instances 2 "));
}

TEST_F(Settings, OfAProcessAmongSeveral) {
  const json halves = with(plan(), "/replicated_tensor_sharding/optimizer_state", 2);
  EXPECT_THAT(written("poptorch", halves, with(job(), "/run/instances", 2)),
              AllOf(HasSubstr("popdist.poptorch.Options(ipus_per_replica=2)"), Not(HasSubstr("replicationFactor")),
                    HasSubstr("useReplicatedTensorSharding(True)")));
}

TEST_F(Settings, OfTheJob) {
  json noisy = with(with(job(), "/run/rounding", "stochastic"), "/run/loss_scale", 4096);
  EXPECT_THAT(written("poptorch", plan(), noisy),
              AllOf(HasSubstr("enableStochasticRounding(True)"), HasSubstr("loss_scaling=4096.0")));
  EXPECT_THAT(written("popart", plan(), noisy),
              AllOf(HasSubstr("enableStochasticRounding = True"), HasSubstr("\"lossScaling\": (4096.0, False)")));
  const json automatic = with(job(), "/run/loss_scale", "auto");  // the scale has to be one that may change
  EXPECT_THAT(written("popart", plan(), automatic),
              AllOf(HasSubstr("automaticLossScaling"), HasSubstr("\"lossScaling\": (1.0, False)")));
  EXPECT_THAT(written("poptorch", plan(), automatic), HasSubstr("loss_scaling=1.0"));
  const json clipped = with(with(job(), "/optimizer/clip_norm", 100), "/optimizer/bias_correction", false);
  EXPECT_THAT(written("poptorch", plan(), with(clipped, "/optimizer/clip_norm", 0)),
              AllOf(HasSubstr("bias_correction=False"), Not(HasSubstr("max_grad_norm"))));
  EXPECT_THAT(refusal("poptorch", plan(), clipped), HasSubstr("poptorch.optim.LAMB has no max_grad_norm"));
  EXPECT_THAT(written("poptorch", plan(), with(with(job(), "/optimizer/kind", "adamw"), "/optimizer/clip_norm", 100)),
              HasSubstr("max_grad_norm=100.0"));
  EXPECT_THAT(written("popart", plan(), clipped),
              AllOf(HasSubstr("clipAllWeights(100.0)"), HasSubstr("AdamMode.LambNoBias"),
                    HasSubstr("popart.AccumulateOuterFragmentSchedule.Scheduler")));
  EXPECT_THAT(written("popart", plan()), Not(HasSubstr("OuterFragment")));
  EXPECT_THAT(refusal("poptorch", plan(), with(clipped, "/optimizer/kind", "adam")), HasSubstr("bias_correction"));
  json inference = job();
  inference["task"] = "inference";
  inference.erase("optimizer");
  EXPECT_THAT(written("poptorch", plan(), inference),
              AllOf(HasSubstr("deviceIterations(8)"), Not(HasSubstr("Training")), Not(HasSubstr("def optimizer"))));
  EXPECT_THAT(written("popart", plan(), inference),
              AllOf(HasSubstr("BATCHES_PER_STEP = 8 "), Not(HasSubstr("accumulationFactor"))));
  // A call has a batch for each stage at least.
  EXPECT_THAT(written("poptorch", with(plan(), "/gradient_accumulation", 1), inference),
              HasSubstr("deviceIterations(2)"));
}

TEST_F(Settings, OfIoTilesAndParts) {
  const json tiles = with(with(plan(), "/io_tiles", 32), "/serialisation/head", 5);
  EXPECT_THAT(written("poptorch", tiles), AllOf(HasSubstr("numIOTiles(32)"), HasSubstr("useIOTilesToLoad(True)"),
                                                HasSubstr("SERIALISATION = {\"head\": 5}")));
  json one = with(with(with(tiles, "/stages", {0}), "/stage_ipu", {0}), "/pipeline_stages", 1);
  EXPECT_THAT(written("popart", one), HasSubstr("virtualGraphMode = popart.VirtualGraphMode.Auto\n"));
  EXPECT_THAT(written("popart", tiles), AllOf(HasSubstr("numIOTiles = 32"), HasSubstr("popart.TileSet.IO")));
}

TEST_F(Settings, OfLoadsByKind) {
  const json weights = with(phased(), "/load", {{"weights", "preload"}, {"code", "on_demand"}});
  EXPECT_THAT(written("popart", weights), HasSubstr("weightIOSchedule = popart.ExecutionPhaseIOSchedule.Preload"));
  EXPECT_THAT(refusal("popxl", weights), HasSubstr("load"));
}

TEST_F(Settings, OfPhasesInPopArt) {
  // A phase's weights are loaded once for all micro-batches, which PopART takes as one batch that it cuts.
  EXPECT_THAT(written("popart", phased()),
              AllOf(HasSubstr("VirtualGraphMode.ExecutionPhases"), HasSubstr("executionPhaseSettings.phases = 24\n"),
                    HasSubstr("executionPhaseSettings.stages = 1\n"),
                    HasSubstr("builder.executionPhase(number * PHASE_STRIDE)"), HasSubstr("MICRO_BATCH_SIZE = 24 "),
                    HasSubstr("batchSerializationSettings.factor = 8\n"), HasSubstr("accumulationFactor = 1\n")));
  EXPECT_THAT(written("popart", with(phased(), "/phase_order", "micro_batch_outer")),
              AllOf(HasSubstr("MICRO_BATCH_SIZE = 3 "), HasSubstr("accumulationFactor = 8\n"),
                    Not(HasSubstr("batchSerialization"))));
  EXPECT_THAT(written("popart", with(phased(), "/load", "preload")), HasSubstr("ExecutionPhaseIOSchedule.Preload"));
  EXPECT_THAT(written("popart", with(phased(), "/load", "preload")), HasSubstr("PHASE_STRIDE = 1 "));
  EXPECT_THAT(written("popart", with(phased(), "/recompute", "none")),
              AllOf(HasSubstr("RecomputationType.NoRecompute\n"), HasSubstr("explicitRecomputation = False\n")));
  json turns = with(with(phased(), "/phase_groups", 2), "/pipeline_stages", 2);
  turns["stage_ipu"] = {0, 1, 0, 1, 0, 1};
  EXPECT_THAT(written("popart", turns), AllOf(HasSubstr("PHASE_STRIDE = 1 "), HasSubstr(".phases = 9\n")));
  EXPECT_THAT(refusal("popart", with(phased(), "/pipeline_stages", 2)), HasSubstr("pin \"pipeline_stages\": 1"));
}

TEST_F(Settings, OfPhasesInPopXL) {
  const json adam = with(with(job(), "/optimizer/kind", "adamw"), "/optimizer/clip_norm", 1);
  EXPECT_THAT(written("popxl", phased(), adam),
              AllOf(HasSubstr("stochastic_rounding: false\n"), HasSubstr("gradient_clipping: 1.0\n"),
                    HasSubstr("nlp/bert/popxl/config/pretraining.yml"), HasSubstr("\n      data_parallel: 4\n"),
                    HasSubstr("\n      global_batch_size: 96\n"), Not(HasSubstr("tensor_parallel"))));
  const json gpt = with(adam, "/model/zoo", "gpt3-175b");
  const json mesh = with(with(phased(), "/tensor_parallel", {2, 4}), "/activation_sharding", "stored");
  EXPECT_THAT(written("popxl", mesh, gpt), AllOf(HasSubstr("tensor_parallel_1: 2\n      tensor_parallel_2: 4\n")));
  struct Case {
    const char *pointer, *value, *said;
  };
  for (const Case& c : {Case{"/phases", "[0, 1]", "phases is 2"},
                        {"/replicated_tensor_sharding/weights", "2", "pin \"weights\": 4"},
                        {"/location/weights", "\"in_processor\"", "location.weights is in_processor"},
                        {"/phase_order", "\"micro_batch_outer\"", "pin \"phase_order\": \"phase_outer\""},
                        {"/tensor_parallel", "2", "pin \"tensor_parallel\": 1"},
                        {"/serialisation/attention", "2", "serialisation.attention is 2"},
                        {"/precision/partials", "\"fp32\"", "pin \"partials\": \"fp16\""},
                        {"/load", "\"preload\"", "load is preload"}}) {
    EXPECT_THAT(refusal("popxl", with(phased(), c.pointer, json::parse(c.value)), adam), HasSubstr(c.said));
  }
  EXPECT_THAT(written("popxl", with(with(phased(), "/activation_sharding", "stored"), "/location/code", "streaming"),
                      with(adam, "/model/zoo", "gptj-6b")),
              HasSubstr("code_load: true\n"));
  EXPECT_THAT(written("popxl", phased(), with(adam, "/model/zoo", "t5-xxl")), HasSubstr("\n  xxl_superstep:\n"));
  EXPECT_THAT(written("popxl", phased(), with(adam, "/optimizer/clip_norm", 0)),
              HasSubstr("gradient_clipping: 1000000000.0\n"));
  EXPECT_THAT(refusal("popxl", phased()), HasSubstr("optimizer.kind is lamb"));
  EXPECT_THAT(refusal("popxl", phased(), with(adam, "/model/zoo", "resnet50")), HasSubstr("model is resnet50"));
}

TEST_F(Settings, OfKerasPipelines) {
  EXPECT_THAT(
      written("tensorflow", plan()),
      AllOf(HasSubstr("STEPS_PER_EXECUTION = 8 "), HasSubstr("POLICY = \"float16\"\n"),
            HasSubstr("auto_select_ipus = 8\n"), HasSubstr("allow_recompute = True\n"),
            HasSubstr("\"partialsType\": \"half\""), HasSubstr("PipelineSchedule.Grouped,"),
            HasSubstr("RecomputationMode.RecomputeAndBackpropagateInterleaved"),
            HasSubstr("gradient_accumulation_steps_per_replica=8"), HasSubstr("offload_weight_update_variables=True"),
            HasSubstr("replicated_optimizer_state_sharding=True")));
  EXPECT_THAT(written("tensorflow", plan()),
              AllOf(HasSubstr("{\"ipu\": 0, \"ends\": \"layer_._1\","), HasSubstr("{\"ipu\": 1, \"ends\": None,"),
                    HasSubstr("    \"layer2/ffn_down\": \"layer_._2\",\n"), HasSubstr("layer.call = keep(layer.call)"),
                    HasSubstr("tf.float32) / 4 for grad"), HasSubstr("optimizers.LAMBIpuOptimizer"),
                    Not(HasSubstr("StochasticRounding")), Not(HasSubstr("io_tiles"))));
  const json interleaved = with(with(plan(), "/schedule", "interleaved"), "/recompute", "stage");
  EXPECT_THAT(written("tensorflow", interleaved),
              AllOf(HasSubstr("PipelineSchedule.Interleaved,"),
                    HasSubstr("RecomputationMode.RecomputeThenBackpropagate"), Not(HasSubstr("CHECKPOINTS"))));
  EXPECT_THAT(written("tensorflow", with(plan(), "/recompute", "none")),
              AllOf(HasSubstr("allow_recompute = False\n"), Not(HasSubstr("recomputation_mode"))));
  EXPECT_THAT(written("tensorflow", with(plan(), "/location/activations", "streaming")),
              HasSubstr("offload_activations=True"));
  EXPECT_THAT(refusal("tensorflow", with(plan(), "/gradient_accumulation", 6)),
              HasSubstr("pin \"gradient_accumulation\": a multiple of 4"));
}

// Sequential stages keep their inputs: each checkpoint ends one, also on one IPU.
TEST_F(Settings, OfKerasCutsAtCheckpoints) {
  const json one = with(with(with(plan(), "/stages", {0}), "/stage_ipu", {0}), "/pipeline_stages", 1);
  EXPECT_THAT(written("tensorflow", one),
              AllOf(HasSubstr("{\"ipu\": 0, \"ends\": \"layer_._2\","), HasSubstr("PipelineSchedule.Sequential,"),
                    HasSubstr("auto_select_ipus = 4\n"), Not(HasSubstr("CHECKPOINTS"))));
  EXPECT_THAT(
      written("tensorflow", with(plan(), "/schedule", "sequential")),
      AllOf(HasSubstr("{\"ipu\": 0, \"ends\": \"layer_._0\","), HasSubstr("{\"ipu\": 1, \"ends\": \"layer_._3\","),
            HasSubstr("RecomputationMode.RecomputeAndBackpropagateInterleaved")));
  EXPECT_THAT(written("tensorflow", with(one, "/recompute", "none")),
              AllOf(HasSubstr("model.set_gradient_accumulation_options("), Not(HasSubstr("STAGES"))));
}

TEST_F(Settings, OfKerasOnIoTilesAndEachIpu) {
  json p = with(with(plan(), "/io_tiles", 32), "/serialisation/head", 5);
  p["available_memory_proportion"] = {{"stages", {0.3, 0.2}}};
  EXPECT_THAT(
      written("tensorflow", p),
      AllOf(HasSubstr("num_io_tiles = 32\n"), HasSubstr("place_ops_on_io_tiles = True\n"),
            HasSubstr("proportions = {0: 0.3, 1: 0.2}"), HasSubstr("backward_propagation_stages_poplar_options=stages"),
            HasSubstr("SERIALISATION = {\"head\": 5}")));
}

TEST_F(Settings, OfKerasJobs) {
  const json noisy = with(with(job(), "/run/rounding", "stochastic"), "/run/loss_scale", 4096);
  EXPECT_THAT(written("tensorflow", plan(), noisy),
              AllOf(HasSubstr("esr = ipu.config.StochasticRoundingBehaviour.ON"), HasSubstr("LOSS_SCALE = 4096.0\n"),
                    HasSubstr(" / 4 / LOSS_SCALE for grad"), HasSubstr("LossScaleOptimizer(inner, dynamic=False, ")));
  const json halves = with(plan(), "/replicated_tensor_sharding/optimizer_state", 2);
  EXPECT_THAT(
      written("tensorflow", halves, with(job(), "/run/instances", 2)),
      AllOf(HasSubstr("popdist.tensorflow.set_ipu_config(cfg, ipus_per_replica=2, "), HasSubstr("tf.float32) for grad"),
            HasSubstr("PopDistStrategy()"), Not(HasSubstr("auto_select_ipus"))));
  const json clipped = with(with(job(), "/optimizer/clip_norm", 1), "/optimizer/bias_correction", false);
  EXPECT_THAT(written("tensorflow", plan(), clipped),
              AllOf(HasSubstr("tf.clip_by_global_norm(grads, 1.0)"), HasSubstr("debiasing=False")));
  EXPECT_THAT(
      written("tensorflow", plan(), with(job(), "/optimizer/kind", "adamw")),
      HasSubstr("extend_with_decoupled_weight_decay(optimizers.AdamIpuOptimizer)(\n        m_dtype=tf.float32"));
  EXPECT_THAT(written("tensorflow", plan(), with(job(), "/optimizer/kind", "sgd_momentum")),
              HasSubstr("momentum_accum_dtype=tf.float32, learning_rate="));
  EXPECT_THAT(written("tensorflow", plan(), with(job(), "/optimizer/kind", "sgd")),
              HasSubstr("tf.cast(grad, var.dtype)"));
  json inference = job();
  inference["task"] = "inference";
  inference.erase("optimizer");
  EXPECT_THAT(written("tensorflow", with(plan(), "/gradient_accumulation", 7), inference),
              AllOf(HasSubstr("STEPS_PER_EXECUTION = 8 "), HasSubstr("allow_recompute = False"),
                    Not(HasSubstr("gradient_accumulation")), Not(HasSubstr("def optimizer"))));
  const json few = with(with(plan(), "/gradient_accumulation", 1), "/io_tiles", 32);
  EXPECT_THAT(written("tensorflow", few, inference), HasSubstr("STEPS_PER_EXECUTION = 4 "));
}

TEST_F(Settings, OfPartitions) {
  EXPECT_THAT(written("vipu", plan()), HasSubstr("--size 8 --reconfigurable"));
  EXPECT_THAT(refusal("vipu", with(plan(), "/replicas", 3)),
              HasSubstr("ipus is 6, but the size of a partition is a power of 2"));
  // Where a pipeline's IPUs follow each other, each IPU of a tensor-parallel group is a replica to Poplar.
  const json large = with(with(plan(), "/tensor_parallel", 16), "/placement", "p-t-r");
  EXPECT_THAT(written("vipu", large),
              HasSubstr("--size 128 --sync-type pod-native-default --num-gcds 2 --total-num-replicas 64"));
  const json two = with(job(), "/run/instances", 2);
  EXPECT_THAT(refusal("poprun", large, with(job(), "/run/instances", 1)),
              HasSubstr("pin \"instances\": at least 2, a multiple of 2"));
  EXPECT_THAT(written("poprun", large), HasSubstr("--num-instances 2 "));  // where the job does not say
  EXPECT_THAT(written("poprun", large, two), AllOf(HasSubstr("--num-replicas 64 "), HasSubstr("--ipus-per-replica 2 "),
                                                   HasSubstr("--num-instances 2 "), HasSubstr("--num-ilds 2 ")));
  const json groups = with(large, "/placement", "t-p-r");
  EXPECT_THAT(written("poprun", groups, two),
              AllOf(HasSubstr("--num-replicas 4 "), HasSubstr("--ipus-per-replica 32 ")));
  EXPECT_THAT(refusal("poprun", with(large, "/placement", "r-t-p")), HasSubstr("pin \"placement\": \"t-p-r\""));
  EXPECT_THAT(refusal("poprun", with(plan(), "/placement", "p-r-t")), HasSubstr("placement is p-r-t"));
  EXPECT_THAT(refusal("poprun", plan(), with(job(), "/run/instances", 3)), HasSubstr("run.instances is 3"));
}

TEST_F(Settings, SayWhatIsWrongWithTheReport) {
  const auto error = [&](const json& plan_json, const json& job_json) -> std::string {
    try {
      written("popart", plan_json, job_json);
    } catch (const Unsupported&) {
      return "refused";
    } catch (const Error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_THAT(error(json::object(), job()), HasSubstr("cannot be read"));
  EXPECT_THAT(error(json::array(), job()), HasSubstr("does not say its plan"));
  EXPECT_THAT(error(plan(), json()), HasSubstr("does not say its job"));
  EXPECT_THAT(error(with(plan(), "/stages", {0, 99}), job()), HasSubstr("do not agree"));
  EXPECT_THAT(error(with(plan(), "/stages", {0, 0}), job()), HasSubstr("do not agree"));
  EXPECT_THAT(error(with(plan(), "/stages", {0, -2}), job()), HasSubstr("do not agree"));
  EXPECT_THAT(error(with(plan(), "/stage_ipu", {0}), job()), HasSubstr("do not agree"));
  EXPECT_THAT(error(with(plan(), "/replicas", 0), job()), HasSubstr("do not agree"));
  EXPECT_THAT(error(with(plan(), "/pipeline_stages", 1'000'000'000'000), job()), HasSubstr("do not agree"));
  EXPECT_THAT(error(plan(), with(job(), "/run/instances", 0)), HasSubstr("do not agree"));
  EXPECT_THAT(error(with(plan(), "/location", json::object()), job()), HasSubstr("do not agree"));
  EXPECT_THAT(error(plan(), with(job(), "/optimizer/kind", 7)), HasSubstr("cannot be read"));
}

// A title is a comment, whatever it is.
TEST_F(Settings, KeepTheHeadlineAComment) {
  std::ostringstream out;
  find_format("popart").write(report(plan(), job(), "one\nimport os"), {}, out);
  EXPECT_THAT(out.str(), HasSubstr("# one import os: t=1 p=2\n"));
}

}  // namespace
}  // namespace superstep::exports

// SPDX-License-Identifier: Apache-2.0
// The rules of data/software: each is broken by a plan written for it, and plans like those of published runs break
// none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "model/error.h"
#include "model/software/plan_facts.h"
#include "model/software/rules.h"
#include "tests/traces/settings_plans.h"

namespace superstep::exports {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

// The units of settings_plans.h: an embedding, four layers of three units, a head that uses the embedding's weight.
UnitFacts units(bool tied = false) {
  UnitFacts out{.layers = {-1, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, -1}, .ties = {}};
  if (tied) out.ties.push_back({.owner = 0, .borrower = 13});
  return out;
}

std::vector<std::string> broken(const char* name, const json& plan_json, const json& job_json, bool tied = false) {
  std::vector<std::string> ids;
  for (const BrokenRule& b : broken_rules(software(name), plan_facts(plan_json, job_json, units(tied))))
    ids.push_back(b.rule->id);
  return ids;
}

json adamw() { return with(with(job(), "/optimizer/kind", "adamw"), "/optimizer/clip_norm", 1); }
json of(const char* zoo) { return with(adamw(), "/model/zoo", zoo); }
json mesh() { return with(with(phased(), "/tensor_parallel", {2, 2}), "/activation_sharding", "stored"); }
json instances(int count) { return with(job(), "/run/instances", count); }
json inference() { return with(adamw(), "/task", "inference"); }

struct Case {
  const char *software, *rule;
  json plan, job;
  bool tied = false;
};

// The plan as one stage.
json one_stage() { return with(with(with(plan(), "/stages", {0}), "/stage_ipu", {0}), "/pipeline_stages", 1); }

// Plans for TensorFlow's rules: micro-batches and shards as it takes them are those of plan().
std::vector<Case> tensorflow_cases() {
  const auto with_io = [](const json& p) { return with(p, "/io_tiles", 32); };
  const json interleaved = with(with(plan(), "/schedule", "interleaved"), "/recompute", "stage");
  const json two_on_one = with(with(interleaved, "/stages", {0, 4, 7}), "/stage_ipu", {0, 1, 0});
  const json mixed = with(plan(), "/recompute", {"none", "layer"});
  return {
      {"tensorflow", "one-ipu-an-operator", with(plan(), "/tensor_parallel", 2), job()},
      {"tensorflow", "whole-activations", with(plan(), "/activation_sharding", "stored"), job()},
      {"tensorflow", "no-phases", phased(), job()},
      {"tensorflow", "ipus-in-order", with(plan(), "/placement", "p-t-r"), job()},
      {"tensorflow", "replicas-of-a-power-of-two", with(plan(), "/pipeline_stages", 3), job()},
      {"tensorflow", "micro-batches-of-a-grouped-pipeline", with(plan(), "/gradient_accumulation", 6), job()},
      {"tensorflow", "micro-batches-beside-io-tiles", with_io(with(plan(), "/gradient_accumulation", 4)), job()},
      {"tensorflow", "micro-batches-of-an-interleaved-pipeline", with(interleaved, "/gradient_accumulation", 7), job()},
      {"tensorflow", "interleaved-stages-have-an-ipu", two_on_one, job()},
      {"tensorflow", "tied-weights-on-one-ipu", plan(), job(), true},
      {"tensorflow", "recompute-all-but-the-last", mixed, job()},
      {"tensorflow", "recompute-all-in-sequence", with(mixed, "/schedule", "sequential"), job()},
      {"tensorflow", "no-checkpoints-in-interleaved-stages", with(plan(), "/schedule", "interleaved"), job()},
      {"tensorflow", "io-tiles-up-to-192", with(plan(), "/io_tiles", 200), job()},
      {"tensorflow", "even-io-tiles", with(plan(), "/io_tiles", 33), job()},
      {"tensorflow", "io-tiles-beside-grouped-stages", with_io(interleaved), job()},
      {"tensorflow", "io-tiles-without-checkpoints", with_io(one_stage()), job()},
      {"tensorflow", "consecutive-shards", with(plan(), "/replicated_tensor_sharding/groups", "orthogonal"), job()},
      {"tensorflow", "shards-within-a-process", with(plan(), "/replicated_tensor_sharding/optimizer_state", 2), job()},
      {"tensorflow", "whole-gradients", with(plan(), "/replicated_tensor_sharding/gradients", 4), job()},
      {"tensorflow", "sharded-state-is-streamed", with(plan(), "/location/optimizer_state", "in_processor"), job()},
      {"tensorflow", "sharded-weights-are-streamed", with(plan(), "/replicated_tensor_sharding/weights", 4), job()},
      {"tensorflow", "on-chip-or-streaming", with(plan(), "/location/weights", "remote_ipu"), job()},
      {"tensorflow", "code-on-chip", with(plan(), "/location/code", "streaming"), job()},
      {"tensorflow", "one-stage-stays-on-chip", with(one_stage(), "/location/gradients", "streaming"), job()},
      {"tensorflow", "activations-wait-in-pipelines", with(one_stage(), "/location/activations", "streaming"), job()},
      {"tensorflow", "fetch-on-demand", with(plan(), "/load", "preload"), job()},
      {"tensorflow", "prefetch-up-to-255", with(plan(), "/prefetch_depth", 256), job()},
      {"tensorflow", "one-copy-of-weights", with(plan(), "/precision/master", true), job()},
      {"tensorflow", "one-type-of-weights-and-activations", with(plan(), "/precision/weights", "fp32"), job()},
      {"tensorflow", "known-optimizers", plan(), with(job(), "/optimizer/kind", "lars")},
      {"tensorflow", "a-loss-scale-that-stays", plan(), with(job(), "/run/loss_scale", "auto")},
  };
}

// A plan and job for each rule, otherwise as the software takes them.
std::vector<Case> cases() {
  const auto shards = [](const char* what, int degree) {
    return with(plan(), (std::string("/replicated_tensor_sharding/") + what).c_str(), degree);
  };
  json turns = with(with(phased(), "/phase_groups", 3), "/pipeline_stages", 3);
  json auto_scale = with(job(), "/run/loss_scale", "auto");
  json large = with(with(plan(), "/replicas", 64), "/replicated_tensor_sharding/optimizer_state", 1);
  json from_ipu_1 = with(with(plan(), "/stage_ipu", {1, 0}), "/gradient_accumulation", 4);
  json two_stages = with(phased(), "/phases", {0, 2, 3, 4, 5});
  std::vector<Case> out = {
      {"popart", "one-ipu-an-operator", with(plan(), "/tensor_parallel", 2), job()},
      {"popart", "whole-activations", with(plan(), "/activation_sharding", "stored"), job()},
      {"popart", "ipus-in-order", with(plan(), "/placement", "p-t-r"), job()},
      {"popart", "consecutive-shards", with(plan(), "/replicated_tensor_sharding/groups", "orthogonal"), job()},
      {"popart", "shards-within-a-process", shards("optimizer_state", 2), job()},
      {"popart", "process-a-link-domain", large, instances(1)},
      {"popart", "equal-instances", plan(), instances(3)},
      {"popart", "on-chip-or-streaming", with(plan(), "/location/weights", "remote_ipu"), job()},
      {"popart", "code-on-chip", with(plan(), "/location/code", "streaming"), job()},
      {"popart", "one-copy-of-weights", with(plan(), "/precision/master", true), job()},
      {"popart", "grouped-or-sequential", with(plan(), "/schedule", "interleaved"), job()},
      {"popart", "tied-weights-on-one-ipu", plan(), job(), true},
      {"popart", "micro-batches-fill-the-pipeline", with(plan(), "/gradient_accumulation", 2), job()},
      {"popart", "pipelines-of-several-ipus", with(with(plan(), "/stage_ipu", {0, 0}), "/pipeline_stages", 1), job()},
      {"popart", "recompute-all-but-the-last", with(plan(), "/recompute", {"none", "layer"}), job()},
      {"popart", "activations-stay-in-pipelines", with(plan(), "/location/activations", "streaming"), job()},
      {"popart", "fetch-ahead-of-phases-only", with(plan(), "/load", "preload"), job()},
      {"popart", "phases-alternate-between-ipus", with(phased(), "/pipeline_stages", 2), job()},
      {"popart", "two-phase-groups-at-most", turns, job()},
      {"popart", "one-stage-a-phase", two_stages, job()},
      {"popart", "io-tiles", with(plan(), "/io_tiles", 33), job()},
      {"popart", "known-optimizers", plan(), with(job(), "/optimizer/kind", "lars")},
      {"popart", "loss-scale-follows-fp16", with(plan(), "/precision/weights", "fp32"), auto_scale},
      {"popart", "loss-scale-with-accumulation", with(plan(), "/gradient_accumulation", 1), auto_scale},
      {"poptorch", "no-phases-written", phased(), job()},
      {"poptorch", "process-a-link-domain", large, instances(1)},
      {"poptorch", "process-reserves-a-power-of-two", with(plan(), "/replicas", 3), job()},
      {"poptorch", "micro-batches-from-ipu-0", from_ipu_1, job()},
      {"poptorch", "io-tiles-up-to-192", with(plan(), "/io_tiles", 200), job()},
      {"poptorch", "one-type-of-weights-and-activations", with(plan(), "/precision/weights", "fp32"), job()},
      {"poptorch", "lamb-does-not-clip", plan(), with(job(), "/optimizer/clip_norm", 1)},
      {"poptorch", "adam-corrects", plan(), with(adamw(), "/optimizer/bias_correction", false)},
      {"popxl", "examples-of-transformers", phased(), of("resnet50")},
      {"popxl", "entries-of-training", phased(), inference()},
      {"popxl", "phase-a-layer", with(phased(), "/phases", {0, 1}), adamw()},
      {"popxl", "phases-are-not-pipelined", with(phased(), "/pipeline_stages", 2), adamw()},
      {"popxl", "micro-batches-within-a-phase", with(phased(), "/phase_order", "micro_batch_outer"), adamw()},
      {"popxl", "weights-loaded-when-needed", with(phased(), "/load", "preload"), adamw()},
      {"popxl", "bert-on-one-ipu", with(phased(), "/tensor_parallel", 2), adamw()},
      {"popxl", "one-dimensional-mesh", mesh(), of("t5-small")},
      {"popxl", "stored-shares-of-a-plane", with(mesh(), "/activation_sharding", "none"), of("gpt3-175b")},
      {"popxl", "no-computing-on-shares", with(phased(), "/activation_sharding", "computed"), of("gpt3-175b")},
      {"popxl", "bert-keeps-whole-activations", with(phased(), "/activation_sharding", "stored"), adamw()},
      {"popxl", "parts-of-attention-only", with(phased(), "/serialisation/head", 2), adamw()},
      {"popxl", "bert-attention-at-once", with(phased(), "/serialisation/attention", 2), adamw()},
      {"popxl", "adamw-alone", phased(), with(adamw(), "/optimizer/kind", "lamb")},
      {"popxl", "always-corrected", phased(), with(adamw(), "/optimizer/bias_correction", false)},
      {"popxl", "shards-over-all-replicas", with(phased(), "/replicated_tensor_sharding/weights", 2), adamw()},
      {"popxl", "all-in-streaming-memory", with(phased(), "/location/weights", "remote_machine"), adamw()},
      {"popxl", "code-of-layers-in-streaming-memory", with(phased(), "/location/code", "remote_ipu"), of("gptj-6b")},
      {"popxl", "code-on-chip", with(phased(), "/location/code", "streaming"), adamw()},
      {"popxl", "io-tiles", with(phased(), "/io_tiles", 0), adamw()},
      {"popxl", "accumulators-of-the-weights-type", with(phased(), "/precision/accumulators", "fp32"), adamw()},
      {"popxl", "layers-computed-again", with(phased(), "/recompute", "none"), adamw()},
      {"popxl", "a-loss-scale-that-stays", phased(), with(adamw(), "/run/loss_scale", "auto")},
      {"popxl", "a-whole-loss-scale", phased(), with(adamw(), "/run/loss_scale", 0.5)},
      {"popxl", "bert-in-one-process", phased(), with(adamw(), "/run/instances", 2)},
      {"popxl", "bert-needs-replicas", with(phased(), "/replicas", 1), adamw()},
      {"popxl", "types-of-the-example", with(phased(), "/precision/partials", "fp32"), adamw()},
      {"popxl", "ipus-in-order", with(phased(), "/placement", "r-p-t"), adamw()},
      {"popxl", "consecutive-shards", with(phased(), "/replicated_tensor_sharding/groups", "orthogonal"), adamw()},
      {"popxl", "one-copy-of-weights", with(phased(), "/precision/master", true), adamw()},
      {"poprun", "ipus-in-order", with(plan(), "/placement", "p-t-r"), job()},
      {"poprun", "ipus-of-a-mesh-in-order", with(with(plan(), "/tensor_parallel", 2), "/placement", "r-t-p"), job()},
      {"poprun", "equal-instances", plan(), instances(3)},
      {"poprun", "instance-a-link-domain", large, instances(1)},
      {"vipu", "ipus-in-order", with(plan(), "/placement", "p-t-r"), job()},
      {"vipu", "ipus-of-a-mesh-in-order", with(with(plan(), "/tensor_parallel", 2), "/placement", "r-t-p"), job()},
      {"vipu", "partition-of-a-power-of-two", with(plan(), "/replicas", 3), job()},
      {"vipu", "equal-compilation-domains", plan(), instances(3)},
  };
  for (Case& c : tensorflow_cases()) out.push_back(std::move(c));
  return out;
}

TEST(SoftwareRules, AreEachBrokenByACaseOfTheirOwn) {
  std::set<std::pair<std::string, std::string>> seen;
  for (const Case& c : cases()) {
    EXPECT_THAT(broken(c.software, c.plan, c.job, c.tied), Contains(c.rule)) << c.software;
    seen.emplace(c.software, c.rule);
  }
  for (const std::string& name : software_names()) {
    for (const SoftwareRule& rule : software(name).rules) {
      // PopTorch runs on PopART, whose rules have their cases there.
      EXPECT_TRUE(seen.contains({name, rule.id}) || (name == "poptorch" && seen.contains({"popart", rule.id})))
          << name << ' ' << rule.id;
    }
  }
}

TEST(SoftwareRules, AcceptPlansThatRan) {
  for (const char* name : {"popart", "poptorch", "tensorflow", "poprun", "vipu", "any"})
    EXPECT_THAT(broken(name, plan(), job()), IsEmpty()) << name;
  EXPECT_THAT(broken("popxl", phased(), adamw()), IsEmpty());
  EXPECT_THAT(broken("popxl", mesh(), of("gpt3-175b")), IsEmpty());
  EXPECT_THAT(broken("popart", with(phased(), "/io_tiles", 32), job()), IsEmpty());
}

// What other targets refuse or ask for.
TEST(SoftwareRules, OfTensorFlowAreThoseOfItsSchedules) {
  const json interleaved = with(with(plan(), "/schedule", "interleaved"), "/recompute", "stage");
  EXPECT_THAT(broken("tensorflow", with(interleaved, "/gradient_accumulation", 6), job()), IsEmpty());
  const json sequential = with(plan(), "/schedule", "sequential");
  EXPECT_THAT(broken("tensorflow", with(sequential, "/gradient_accumulation", 1), job()), IsEmpty());
  EXPECT_THAT(broken("tensorflow", one_stage(), job()), IsEmpty());
  const json with_io = with(plan(), "/io_tiles", 32);
  EXPECT_THAT(broken("tensorflow", with(with_io, "/gradient_accumulation", 7), job()), IsEmpty());
  EXPECT_THAT(broken("tensorflow", with(plan(), "/gradient_accumulation", 1), inference()), IsEmpty());
  EXPECT_THAT(broken("tensorflow", with(plan(), "/recompute", {"layer", "none"}), job()), IsEmpty());
}

TEST(SoftwareRules, HaveAReasonASourceAndAChange) {
  for (const std::string& name : software_names()) {
    std::set<std::string> ids;
    for (const SoftwareRule& rule : software(name).rules) {
      EXPECT_TRUE(ids.insert(rule.id).second) << name << " has two rules " << rule.id;
      EXPECT_FALSE(rule.why.empty() || rule.source.empty()) << name << ' ' << rule.id;
    }
  }
  for (const Case& c : cases()) {
    for (const BrokenRule& b : broken_rules(software(c.software), plan_facts(c.plan, c.job, units(c.tied))))
      EXPECT_NE(b.accept, "") << c.software << ' ' << b.rule->id;
  }
}

// Stages that follow each other on one IPU count once; in training each but the last works backward too.
TEST(SoftwareRules, CountTheStagesThatMicroBatchesFill) {
  const auto depth = [](const json& ipus, const json& job_json) {
    const json stages = with(with(plan(), "/stages", {0, 2, 4, 6, 8}), "/stage_ipu", ipus);
    return plan_facts(stages, job_json, units()).at("pipeline_depth").get<int>();
  };
  EXPECT_EQ(depth({0, 1, 2, 3, 3}, job()), 7);
  EXPECT_EQ(depth({0, 1, 2, 3, 0}, job()), 9);
  EXPECT_EQ(depth({0, 1, 2, 3, 0}, inference()), 5);
}

TEST(SoftwareRules, TieTheUsersOfAWeightToOneIpu) {
  json p = with(with(plan(), "/stages", {0, 7, 13}), "/stage_ipu", {0, 1, 0});
  EXPECT_THAT(broken("popart", p, job(), true), IsEmpty());
  EXPECT_THAT(broken("popart", plan(), job(), true), testing::ElementsAre("tied-weights-on-one-ipu"));
}

TEST(SoftwareRules, SayWhatIsNotThere) {
  EXPECT_THAT([] { software("popxll"); }, testing::ThrowsMessage<Error>(HasSubstr("did you mean \"popxl\"?")));
}

TEST(SoftwareRules, AreToldInOneSentence) {
  const auto found = broken_rules(software("popart"), plan_facts(with(plan(), "/tensor_parallel", 2), job(), units()));
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(to_text(found[0]),
            "tensor_parallel is 2, but an operator runs on one IPU (pin \"tensor_parallel\": 1; rule "
            "one-ipu-an-operator, popart willow/include/popart/builder.hpp:1646)");
}

}  // namespace
}  // namespace superstep::exports

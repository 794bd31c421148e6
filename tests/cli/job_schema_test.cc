// SPDX-License-Identifier: Apache-2.0
// data/jobs/schema.json against the reader in planner/job/job.cc: both know the same fields and values.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "model/machine/load_machine.h"
#include "model/software/rules.h"
#include "planner/job/job.h"

namespace superstep {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

json read(const std::string& name) { return parse_json_file(SUPERSTEP_JOBS "/" + name); }

// What the schema says against a job; empty: nothing.
std::string schema_error(const json& job) {
  static const valijson::Schema* schema = [] {
    static const json text = read("schema.json");
    auto* parsed = new valijson::Schema;
    valijson::SchemaParser(valijson::SchemaParser::kDraft7)
        .populateSchema(valijson::adapters::NlohmannJsonAdapter(text), *parsed);
    return parsed;
  }();
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(*schema, valijson::adapters::NlohmannJsonAdapter(job), &results)) return "";
  std::string message = "refused";
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    for (const std::string& step : error.context) message += step;
    message += ": " + error.description + "\n";
  }
  return message;
}

std::string reader_error(const json& job) {
  try {
    read_job(job, "job");
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

std::vector<std::string> example_jobs() {
  std::vector<std::string> names;
  for (const auto& file : fs::recursive_directory_iterator(SUPERSTEP_JOBS)) {
    if (file.path().extension() == ".json" && file.path().stem() != "schema")
      names.push_back(fs::relative(file.path(), SUPERSTEP_JOBS));
  }
  return names;
}

// All objects of a job, as pointers.
void for_each_object(const json& value, const json::json_pointer& at,
                     const std::function<void(const json::json_pointer&)>& visit) {
  if (!value.is_object()) return;
  visit(at);
  for (const auto& [key, child] : value.items()) for_each_object(child, at / key, visit);
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [key, value] : object.items()) names.insert(key);
  return names;
}

TEST(JobSchema, AcceptsEveryExampleJob) {
  for (const std::string& name : example_jobs()) EXPECT_EQ(schema_error(read(name)), "") << name;
}

TEST(JobSchema, EveryExampleJobHasADescriptionOfOneLine) {
  for (const std::string& name : example_jobs()) {
    const json job = read(name);
    ASSERT_TRUE(job.contains("description")) << name;
    EXPECT_EQ(job["description"].get<std::string>().find('\n'), std::string::npos) << name;
  }
}

TEST(JobSchema, ReaderAcceptsTheJobWithEveryField) { EXPECT_EQ(reader_error(read("every-field.json")), ""); }

TEST(JobSchema, EveryFieldJobPinsEveryFieldOfThePlan) {
  const json schema = read("schema.json"), job = read("every-field.json");
  std::set<std::string> fields = keys(schema["definitions"]["plan"]["properties"]);
  fields.erase("layers_per_stage");  // the short form of stages, which stands in for it
  EXPECT_EQ(keys(job["plan"]), fields);
  for (const char* group : {"replicated_tensor_sharding", "location", "precision", "serialisation"}) {
    EXPECT_EQ(keys(job["plan"][group]), keys(schema["definitions"]["plan"]["properties"][group]["properties"]))
        << group;
  }
  EXPECT_EQ(keys(job), keys(schema["properties"]));
  std::set<std::string> numbers = keys(schema["definitions"]["zoo_bert"]["properties"]);
  numbers.erase("classes");  // of another head
  EXPECT_EQ(keys(job["model"]), numbers);
  std::set<std::string> constants = keys(schema["definitions"]["optimizer"]["properties"]);
  for (const char* of_others : {"momentum", "trust_coefficient"}) constants.erase(of_others);
  EXPECT_EQ(keys(job["optimizer"]), constants);
  EXPECT_EQ(keys(job["run"]), keys(schema["definitions"]["run"]["properties"]));
}

TEST(JobSchema, UnknownKeysAreRefusedEverywhereByBoth) {
  const json good = read("every-field.json");
  for_each_object(good, json::json_pointer(), [&](const json::json_pointer& at) {
    json job = good;
    job[at]["unheard_of"] = 1;
    EXPECT_NE(schema_error(job), "") << at.to_string();
    EXPECT_THAT(reader_error(job), testing::HasSubstr("unheard_of")) << at.to_string();
  });
}

TEST(JobSchema, ValuesOfAnotherKindAreRefusedEverywhereByBoth) {
  const json good = read("every-field.json");
  for_each_object(good, json::json_pointer(), [&](const json::json_pointer& at) {
    for (const auto& [key, value] : good[at].items()) {
      if (key == "source") continue;
      json job = good;
      job[at][key] = value.is_string() ? json(-1) : json("wrong");
      EXPECT_NE(schema_error(job), "") << (at / key).to_string();
      EXPECT_NE(reader_error(job), "") << (at / key).to_string();
    }
  });
}

TEST(JobSchema, EveryNameOfTheSchemaIsRead) {
  const json schema = read("schema.json"), good = read("every-field.json");
  for (const auto& [group, object] : schema["definitions"]["plan"]["properties"].items()) {
    if (!object.contains("anyOf") || !object["anyOf"][0].contains("enum")) continue;
    for (const json& name : object["anyOf"][0]["enum"]) {
      json job = good;
      job["plan"][group] = name;
      EXPECT_EQ(schema_error(job), "") << group << " " << name;
      EXPECT_EQ(reader_error(job), "") << group << " " << name;
    }
  }
}

TEST(JobSchema, NamesAreThoseOfTheProgram) {
  const json schema = read("schema.json");
  std::vector<std::string> networks;
  for (const char* family : {"zoo_bert", "zoo_gpt", "zoo_resnet", "zoo_efficientnet", "zoo_vit", "zoo_conformer",
                             "zoo_t5", "zoo_llama", "zoo_lstm", "zoo_deepvoice", "zoo_mcmc"}) {
    const json& properties = schema["definitions"][family]["properties"];
    std::set<std::string> fields = keys(properties);
    fields.erase("zoo");
    for (const json& name : properties["zoo"]["enum"]) {
      EXPECT_EQ(keys(numbers_of(zoo_spec(name))), fields) << name;
      networks.push_back(name);
    }
  }
  EXPECT_EQ(networks, zoo_names());
  EXPECT_EQ(schema["definitions"]["software_name"]["enum"].get<std::vector<std::string>>(), framework_names());
  EXPECT_EQ(schema["definitions"]["optimizer"]["properties"]["kind"]["enum"].get<std::vector<std::string>>(),
            optimizer_kinds());
  std::vector<std::string> machines;
  for (const std::string& name : machine_names()) {
    if (load_machine(name).plannable) machines.push_back(name);
  }
  EXPECT_EQ(schema["definitions"]["machine_name"]["anyOf"][0]["enum"].get<std::vector<std::string>>(), machines);
}

TEST(JobSchema, NumbersOfAnotherFamilyAreRefusedByBoth) {
  const json images = read("gallery/mlperf11-rn50-pod16.json");
  json words = read("every-field.json");
  words["model"].erase("classes");  // which both have
  json text = words;
  text["model"]["zoo"] = "gpt2-small";
  for (const char* key : {"head", "masked_tokens", "classes", "packed", "sequences_per_pack"}) text["model"].erase(key);
  for (const auto& [job, other] : {std::pair(images, words), std::pair(words, images), std::pair(text, words)}) {
    for (const auto& [key, value] : other["model"].items()) {
      if (job["model"].contains(key)) continue;
      json mixed = job;
      mixed["model"][key] = value;
      EXPECT_NE(schema_error(mixed), "") << key;
      EXPECT_THAT(reader_error(mixed), testing::HasSubstr("#/model/" + key + ": found a number of networks such as " +
                                                          (other == words ? "bert-base" : "resnet50")));
    }
  }
}

TEST(JobSchema, ConstantsOfAnotherOptimizerAreRefusedByBoth) {
  const std::vector<std::pair<std::string, std::set<std::string>>> users = {
      {"momentum", {"sgd_momentum", "lars"}},
      {"beta1", {"adam", "adamw", "lamb"}},
      {"beta2", {"adam", "adamw", "lamb"}},
      {"epsilon", {"adam", "adamw", "lamb"}},
      {"bias_correction", {"adam", "adamw", "lamb"}},
      {"trust_coefficient", {"lars"}},
      {"weight_decay", {"sgd", "sgd_momentum", "adam", "adamw", "lamb", "lars"}}};
  const json schema = read("schema.json");
  json job = read("every-field.json");
  for (const auto& [constant, kinds] : users) {
    const json& of = schema["definitions"]["optimizer"]["properties"][constant];
    for (const std::string& kind : optimizer_kinds()) {
      job["optimizer"] = {{"kind", kind}, {constant, of["type"] == "boolean" ? json(true) : json(0.5)}};
      if (kinds.contains(kind)) {
        EXPECT_EQ(schema_error(job), "") << job["optimizer"];
        EXPECT_EQ(reader_error(job), "") << job["optimizer"];
        job["optimizer"][constant] = "wrong";
        EXPECT_NE(schema_error(job), "") << job["optimizer"];
        EXPECT_NE(reader_error(job), "") << job["optimizer"];
      } else {
        EXPECT_NE(schema_error(job), "") << job["optimizer"];
        EXPECT_THAT(reader_error(job), testing::HasSubstr("#/optimizer/" + constant + ": found a constant of"));
      }
    }
  }
}

TEST(JobSchema, PinsMayBeAValueAListOrARange) {
  for (const char* field : {"tensor_parallel", "pipeline_stages", "replicas", "micro_batch", "gradient_accumulation",
                            "phases", "phase_groups", "prefetch_depth", "io_tiles"}) {
    for (const json& pin : {json(2), json::array({1, 2, 4}), json{{"min", 1}, {"max", 4}}, json{{"max", 2}}}) {
      json job = {{"model", {{"zoo", "bert-base"}}}, {"machine", "ipu-pod4"}, {"plan", {{field, pin}}}};
      EXPECT_EQ(schema_error(job), "") << field << " " << pin;
      EXPECT_EQ(reader_error(job), "") << field << " " << pin;
    }
  }
}

TEST(JobSchema, ProportionsMayBeAValueAListOrARange) {
  const auto errors = [](const json& pin) {
    const json job = {
        {"model", {{"zoo", "bert-base"}}}, {"machine", "ipu-pod4"}, {"plan", {{"available_memory_proportion", pin}}}};
    return std::pair(schema_error(job), reader_error(job));
  };
  for (const json& good :
       {json(0.2), json{0.1, 0.2}, json{{"min", 0.1}, {"max", 0.3}}, json{{"max", 0.3}}, json{{"live", "unit"}},
        json{{"live", "layer"}, {"proportion", 0.5}}, json{{"live", "weights"}},
        json{{"live", "none"}, {"proportion", {0.1, 0.2}}}, json{{"live", "unit"}, {"proportion", {{"min", 0.1}}}}})
    EXPECT_EQ(errors(good), std::pair(std::string(), std::string())) << good;
  for (const json& bad : {json(2), json::array(), json{0.0001}, json{{"max", 0}}, json{{"least", 0.3}}, json("by_work"),
                          json{{"head", 2}}, json{{"head", json{0.1, 0.2}}}, json{{"head", 0.1}, {"max", 0.2}},
                          json{{"update", {{"max", 0}}}}, json{{"pooler", 0.1}}, json{{"live", "ipu"}},
                          json{{"live", "unit"}, {"proportion", 0}}, json{{"live", "unit"}, {"min", 0.1}},
                          json{{"live", "unit"}, {"proportion", {{"live", "unit"}}}}}) {
    EXPECT_NE(errors(bad).first, "") << bad;
    EXPECT_NE(errors(bad).second, "") << bad;
  }
  EXPECT_THAT(errors({{"min", 0.3}, {"max", 0.2}}).second, testing::HasSubstr("min 0.3 is above max 0.2"));
  EXPECT_THAT(errors("by_work").second, testing::HasSubstr("expected a number"));
}

TEST(JobSchema, EachPinnedStageMayHaveAProportion) {
  const auto errors = [](const json& bounds) {
    const json job = {
        {"model", {{"zoo", "bert-base"}}},
        {"machine", "ipu-pod4"},
        {"plan", {{"pipeline_stages", 2}, {"stages", {0, 20}}, {"available_memory_proportion", {{"stages", bounds}}}}}};
    return std::pair(schema_error(job), reader_error(job));
  };
  const json live = {{"live", "layer"}, {"proportion", 0.5}};
  for (const json& good : {json{0.1, 0.2}, json::array({0.1, live})})
    EXPECT_EQ(errors(good), std::pair(std::string(), std::string())) << good;
  for (const json& bad : {json::array(), json(0.2), json{0.1, 2}, json::array({0.1, {{"live", "unit"}}}),
                          json::array({0.1, {{"min", 0.1}}}), json::array({0.1, "by_work"})}) {
    EXPECT_NE(errors(bad).first, "") << bad;
    EXPECT_NE(errors(bad).second, "") << bad;
  }
  EXPECT_THAT(errors(json::array({0.1, {{"live", "unit"}}})).second,
              testing::HasSubstr("/available_memory_proportion/stages/1: found"));
}

TEST(JobSchema, SerialisationMayBeAValueAListOrARange) {
  const auto errors = [](const json& pin) {
    const json job = {
        {"model", {{"zoo", "bert-base"}}}, {"machine", "ipu-pod4"}, {"plan", {{"serialisation", {{"head", pin}}}}}};
    return std::pair(schema_error(job), reader_error(job));
  };
  for (const json& good : {json(0), json{0, 2}, json{{"min", 2}, {"max", 3}}, json{{"max", 8}}, json{{"min", 4096}}})
    EXPECT_EQ(errors(good), std::pair(std::string(), std::string())) << good;
  for (const json& bad : {json(4097), json::array(), json{{"min", 0}}, json{{"max", 4097}}, json{{"least", 3}}}) {
    EXPECT_NE(errors(bad).first, "") << bad;
    EXPECT_NE(errors(bad).second, "") << bad;
  }
  EXPECT_THAT(errors({{"min", 3}, {"max", 2}}).second, testing::HasSubstr("min 3 is above max 2"));
}

TEST(JobSchema, CutsMayBeListsOfCuts) {
  const std::vector<std::pair<std::string, json>> pins = {{"stages", {{0, 2}, {0, 3}}},
                                                          {"layers_per_stage", {{6, 6}, {4, 4, 4}}},
                                                          {"stage_ipu", {{0, 1}, {1, 0}}},
                                                          {"recompute", {"none", {"layer", "stage"}}},
                                                          {"phases", {{0, 1}, {0, 2}}}};
  for (const auto& [field, pin] : pins) {
    json job = {{"model", {{"zoo", "bert-base"}}}, {"machine", "ipu-pod4"}, {"plan", {{field, pin}}}};
    EXPECT_EQ(schema_error(job), "") << field;
    EXPECT_EQ(reader_error(job), "") << field;
    job["plan"][field].push_back({"wrong"});
    EXPECT_NE(schema_error(job), "") << field;
    EXPECT_THAT(reader_error(job), testing::HasSubstr("#/plan/" + field + "/2/0")) << field;
  }
}

}  // namespace
}  // namespace superstep

// SPDX-License-Identifier: Apache-2.0
#include "planner/job/plan_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

#include "model/error.h"
#include "tests/planner/world.h"

namespace superstep {
namespace {

using nlohmann::json;
using test::World;

using Names = std::set<std::string>;

Names keys_of(const json& object) {
  Names out;
  for (const auto& [key, value] : object.items()) out.insert(key);
  return out;
}

// The names that any "enum" of a part of the schema lists.
void collect_names(const json& schema, Names& out) {
  if (!schema.is_structured()) return;
  if (schema.is_object() && schema.contains("enum")) {
    for (const json& v : schema["enum"]) out.insert(v.get<std::string>());
  }
  for (const json& part : schema) collect_names(part, out);
}

// Replaces references to definitions by what they define.
json resolved(json schema, const json& definitions) {
  if (schema.is_object() && schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>().substr(std::string("#/definitions/").size());
    schema.erase("$ref");
    schema["of"] = definitions.at(name);
  }
  for (json& part : schema) {
    if (part.is_structured()) part = resolved(part, definitions);
  }
  return schema;
}

json schema_of_plan() {
  const json schema = parse_json_file(SUPERSTEP_SOURCE "/data/jobs/schema.json");
  json plan = schema.at("properties").at("plan");
  if (plan.contains("$ref")) plan = resolved(std::move(plan), schema.at("definitions")).at("of");
  return resolved(plan.at("properties"), schema.at("definitions"));
}

// An editor shows the schema's text, the rest of the program the row's.
TEST(PlanFields, MeanWhatTheSchemaSays) {
  const json schema = schema_of_plan();
  for (const PlanField& field : plan_fields()) {
    std::string meaning(field.meaning);
    meaning[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(meaning[0])));
    EXPECT_THAT(schema.at(std::string(field.name)).at("description").get<std::string>(), testing::StartsWith(meaning));
  }
}

TEST(PlanFields, AreThoseOfTheSchema) {
  const json schema = schema_of_plan();
  Names rows;
  for (const PlanField& field : plan_fields()) {
    SCOPED_TRACE(field.name);
    EXPECT_TRUE(rows.insert(std::string(field.name)).second) << "twice";
    EXPECT_FALSE(field.meaning.empty());
    ASSERT_TRUE(schema.contains(std::string(field.name)));
    if (!field.has_members()) continue;
    Names members;
    for (const PlanValue& v : field.values) members.insert(std::string(v.member));
    const json& of_field = schema[std::string(field.name)];
    const json& object = of_field.contains("properties") ? of_field : of_field.at("anyOf").back();
    EXPECT_EQ(keys_of(object.at("properties")), members);
  }
  EXPECT_EQ(keys_of(schema), rows);
}

TEST(PlanFields, HaveTheNamesOfTheSchema) {
  const json schema = schema_of_plan();
  for (const PlanField& field : plan_fields()) {
    if (field.search == PlanField::Search::part || field.search == PlanField::Search::bound) continue;
    Names names;
    collect_names(schema.at(std::string(field.name)), names);
    EXPECT_EQ(names, Names(field.choices.begin(), field.choices.end())) << field.name;
  }
}

// What a plan is written as pins what is written the same, and nothing else.
TEST(PlanFields, ReadWhatTheyWrite) {
  test::Draw draw(3);
  World world(test::small_bert(3));
  for (int i = 0; i < 200; ++i) {
    const Plan plan = i % 2 == 0 ? test::draw_pipeline(world, draw) : test::draw_phases(world, draw);
    const json written = to_json(plan);
    EXPECT_EQ(to_json(plan_of(read_pins(written, "plan"), "plan")), written);
  }
}

TEST(PlanFields, OfAPlanInFullHaveOneValue) {
  const auto error = [](const json& more) {
    json written = to_json(Plan{});
    written.update(more);
    try {
      plan_of(read_pins(written, "line"), "line");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  using testing::HasSubstr;
  EXPECT_EQ(error(json::object()), "");
  EXPECT_THAT(error({{"replicas", {1, 2}}}), HasSubstr("line#/plan/replicas: found several, expected one value"));
  EXPECT_THAT(error({{"replicas", {{"min", 2}}}}), HasSubstr("line#/plan/replicas: found a range"));
  EXPECT_THAT(error({{"location", {{"weights", "streaming"}}}}),
              HasSubstr("line#/plan/location/gradients: found none"));
  EXPECT_THAT(error({{"phases", 2}}), HasSubstr("line#/plan/phases: found no list"));
}

}  // namespace
}  // namespace superstep

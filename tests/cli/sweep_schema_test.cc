// SPDX-License-Identifier: Apache-2.0
// data/sweeps/schema.json against the reader in planner/sweep/sweep.cc: they accept and refuse the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "model/error.h"
#include "model/json_reader.h"
#include "planner/sweep/sweep.h"

namespace superstep {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

const std::string kFolder = SUPERSTEP_SWEEPS;

bool schema_accepts(const json& sweep) {
  const json text = parse_json_file(kFolder + "/schema.json");
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7)
      .populateSchema(valijson::adapters::NlohmannJsonAdapter(text), schema);
  return valijson::Validator().validate(schema, valijson::adapters::NlohmannJsonAdapter(sweep), nullptr);
}

bool reader_accepts(const json& sweep) {
  try {
    read_sweep(sweep, kFolder + "/sweep.json");
    return true;
  } catch (const Error&) {
    return false;
  }
}

json toy() { return parse_json_file(kFolder + "/toy.json"); }

TEST(SweepSchema, BothAcceptEveryExample) {
  int found = 0;
  for (const auto& file : fs::directory_iterator(kFolder)) {
    if (file.path().stem() == "schema") continue;
    const json sweep = parse_json_file(file.path().string());
    EXPECT_TRUE(schema_accepts(sweep)) << file.path();
    EXPECT_TRUE(reader_accepts(sweep)) << file.path();
    EXPECT_EQ(sweep.at("description").get<std::string>().find('\n'), std::string::npos) << file.path();
    ++found;
  }
  EXPECT_GE(found, 3);
}

TEST(SweepSchema, BothAcceptAJobInPlace) {
  json sweep = toy();
  sweep["base"] = parse_json_file(kFolder + "/../jobs/toy-free.json");
  EXPECT_TRUE(schema_accepts(sweep));
  EXPECT_TRUE(reader_accepts(sweep));
}

TEST(SweepSchema, BothRefuse) {
  const json list = {1, 2};
  const std::vector<json> changes = {
      {{"unheard_of", 1}},
      {{"base", 7}},
      {{"base", nullptr}},
      {{"base", ""}},
      {{"grid", nullptr}},
      {{"grid", list}},
      {{"grid", json::object()}},
      {{"grid", {{"plan/replicas", list}}}},
      {{"grid", {{"", list}}}},
      {{"grid", {{"/plan/replicas", 4}}}},
      {{"grid", {{"/plan/replicas", json::array()}}}},
      {{"grid", {{"/plan/replicas", {2, 1, 2}}}}},
      {{"description", 3}},
  };
  for (const json& change : changes) {
    json sweep = toy();
    sweep.update(change);
    EXPECT_FALSE(schema_accepts(sweep)) << change;
    EXPECT_FALSE(reader_accepts(sweep)) << change;
  }
  for (const char* key : {"base", "grid"}) {
    json sweep = toy();
    sweep.erase(key);
    EXPECT_FALSE(schema_accepts(sweep)) << key;
    EXPECT_FALSE(reader_accepts(sweep)) << key;
  }
}

}  // namespace
}  // namespace superstep

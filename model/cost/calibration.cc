// SPDX-License-Identifier: Apache-2.0
#include "model/cost/calibration.h"

#include <nlohmann/json.hpp>

#include "model/json_reader.h"
#include "model/machine/load_machine.h"
#include "model/quantity_text.h"

namespace superstep {
namespace {

// Reads the row's source columns and remembers it for `explain`; the value is read by the caller.
JsonReader row(JsonReader& file, const char* key, std::vector<Calibration::Row>& rows) {
  JsonReader r = file.object(key);
  const nlohmann::json& value = r.raw("value");
  rows.push_back(
      {key, value.is_string() ? value.get<std::string>() : value.dump(), r.text("source"), r.text("fitted_to")});
  r.finish();
  return r;
}

}  // namespace

Calibration load_calibration(const std::string& name) {
  const std::string path = data_folder() + "/calibration/" + name + ".json";
  const nlohmann::json json = parse_json_file(path);
  JsonReader file(json, path);
  Calibration c;
  c.vector_factor = row(file, "vector_factor", c.rows).number("value", 0.1, 10);
  JsonReader micro = row(file, "micro_batch_fixed", c.rows);
  c.micro_batch_fixed = parse_cycles(micro.text("value"), micro.at("value"));
  JsonReader cycle = row(file, "pipeline_cycle_fixed", c.rows);
  c.pipeline_cycle_fixed = parse_cycles(cycle.text("value"), cycle.at("value"));
  c.relative_band = row(file, "relative_band", c.rows).number("value", 0, 1);
  c.relative_band_other = row(file, "relative_band_other", c.rows).number("value", 0, 1);
  JsonReader memory = row(file, "memory_band", c.rows);
  c.memory_band_bytes = parse_bytes(memory.text("value"), memory.at("value")).value;
  file.finish();
  return c;
}

}  // namespace superstep

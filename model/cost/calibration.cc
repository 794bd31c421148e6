// SPDX-License-Identifier: Apache-2.0
#include "model/cost/calibration.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "model/quantity_text.h"

namespace superstep {
namespace {

double number(Cycles c) { return static_cast<double>(c.value); }
Cycles cycles(double value) { return Cycles(std::llround(value)); }

constexpr FittedConstant kConstants[] = {
    {"vector_factor", "",
     "measured over modelled cycles of vector, reduction, accumulate and re-layout vertices: imbalance of tiles, casts "
     "and "
     "copies that are not lowered",
     0.5, 3, 1.25, 0.4, false, [](const Calibration& c) { return c.vector_factor; },
     [](Calibration& c, double v) { c.vector_factor = v; }},
    {"micro_batch_fixed", "cycles", "per micro-batch: host loop and stream, small supersteps that are not lowered", 0,
     5e6, 5e5, 1, false, [](const Calibration& c) { return number(c.micro_batch_fixed); },
     [](Calibration& c, double v) { c.micro_batch_fixed = cycles(v); }},
    {"pipeline_cycle_fixed", "cycles",
     "more per pipeline cycle of several stages: merged copies between IPUs, external sync, stash and restore", 0, 5e6,
     5e5, 1, false, [](const Calibration& c) { return number(c.pipeline_cycle_fixed); },
     [](Calibration& c, double v) { c.pipeline_cycle_fixed = cycles(v); }},
    {"streaming_factor", "", "achieved over stated rate of Streaming Memory, each direction", 0.1, 2, 1, 0.5, true,
     [](const Calibration& c) { return c.streaming_factor; }, [](Calibration& c, double v) { c.streaming_factor = v; }},
    {"gateway_factor", "",
     "share of a rack's GW-Links that a collective across racks keeps busy; those of one of its 16 machines are 0.0625",
     0.01, 1, 0.0625, 1, true, [](const Calibration& c) { return c.gateway_factor; },
     [](Calibration& c, double v) { c.gateway_factor = v; }},
    {"host_copy_factor", "", "achieved over stated rate of host programs that copy a step's inputs before it starts",
     0.1, 5, 1, 0.5, true, [](const Calibration& c) { return c.host_copy_factor; },
     [](Calibration& c, double v) { c.host_copy_factor = v; }},
};

// A value of the file, with the columns that `explain` prints beside it.
class RowReader {
 public:
  RowReader(JsonReader& file, std::string_view key, Calibration& c) : reader_(file.object(std::string(key))) {
    const nlohmann::json& value = reader_.raw("value");
    c.rows.push_back({std::string(key), value.is_string() ? value.get<std::string>() : value.dump(),
                      reader_.text("source"), reader_.text("fitted_to")});
  }
  double number(double least, double most, std::string_view unit = "", const char* key = "value") {
    if (unit.empty()) return reader_.number(key, least, most);
    return superstep::number(parse_cycles(reader_.text(key), reader_.at(key)));
  }
  std::int64_t bytes() { return parse_bytes(reader_.text("value"), reader_.at("value")).value; }
  bool has(const char* key) { return reader_.has(key); }
  void finish() { reader_.finish(); }

 private:
  JsonReader reader_;
};

void read_constant(JsonReader& file, const FittedConstant& constant, Calibration& c) {
  RowReader row(file, constant.name, c);
  constant.set(c, row.number(constant.least, constant.most, constant.unit));
  if (row.has("uncertainty")) c.uncertainty.push_back(row.number(0, constant.most, constant.unit, "uncertainty"));
  row.finish();
}

void read_correlation(JsonReader& file, Calibration& c) {
  if (const nlohmann::json* rows = file.raw_or_null("correlation")) {
    for (const nlohmann::json& row : *rows)
      for (const nlohmann::json& value : row) c.correlation.push_back(value.is_number() ? value.get<double>() : NAN);
  }
  const std::size_t n = c.uncertainty.size(), all = std::size(kConstants);
  const bool numbers = std::none_of(c.correlation.begin(), c.correlation.end(), [](double v) { return std::isnan(v); });
  if ((n != 0 && n != all) || c.correlation.size() != n * n || !numbers)
    file.fail("correlation", "found " + std::to_string(n) + " uncertainties and " +
                                 std::to_string(c.correlation.size()) +
                                 " correlations, expected none, or one for each of " + std::to_string(all) +
                                 " constants and for each pair of them");
}

double read_band(JsonReader& file, const char* key, Calibration& c) {
  RowReader row(file, key, c);
  const double band = row.number(0, 1);
  row.finish();
  return band;
}

}  // namespace

std::span<const FittedConstant> fitted_constants() { return kConstants; }

std::int64_t Calibration::memory_band(Bytes temporary_cap) const {
  return std::llround(std::hypot(memory_band_bytes, temporary_band * static_cast<double>(temporary_cap.value)));
}

Calibration load_calibration(const std::string& name) {
  const std::string path = name.ends_with(".json") ? name : data_folder() + "/calibration/" + name + ".json";
  return read_calibration(parse_json_file(path), path);
}

Calibration read_calibration(const nlohmann::json& json, const std::string& name) {
  JsonReader file(json, name);
  Calibration c;
  for (const FittedConstant& constant : kConstants) read_constant(file, constant, c);
  c.relative_band = read_band(file, "relative_band", c);
  RowReader memory(file, "memory_band", c);
  c.memory_band_bytes = memory.bytes();
  memory.finish();
  c.temporary_band = read_band(file, "temporary_band", c);
  read_correlation(file, c);
  file.finish();
  return c;
}

}  // namespace superstep

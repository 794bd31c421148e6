// SPDX-License-Identifier: Apache-2.0
// Reader of the files of operators.h.
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "model/cost/calibration.h"
#include "model/data_folder.h"
#include "model/error.h"
#include "model/json_reader.h"
#include "model/machine/load_machine.h"
#include "planner/validate/operators.h"
#include "planner/validate/published.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr std::int64_t kMost = 1 << 30;  // largest extent

DType read_type(JsonReader& r, const char* key) {
  static const std::array<std::string, 2> names = {"fp16", "fp32"};
  return r.name_or(key, names, "fp16") == "fp16" ? DType::fp16 : DType::fp32;
}

std::int64_t extent(JsonReader& r, const char* key) { return r.integer(key, 1, kMost); }
std::int64_t extent_or_one(JsonReader& r, const char* key) { return r.integer_or(key, 1, kMost, 1); }

ProductShape read_shape(JsonReader& r) {
  ProductShape s;
  s.batch = extent_or_one(r, "batch");
  s.rows = extent(r, "rows"), s.contracted = extent(r, "contracted"), s.columns = extent(r, "columns");
  s.operands = read_type(r, "operands");
  s.partials = s.operands == DType::fp16 ? read_type(r, "partials") : DType::fp32;
  return s;
}

AmpWork read_amp(JsonReader& r) {
  const ProductShape s = read_shape(r);
  return {s.batch, s.rows, s.contracted, s.columns, s.operands, s.partials};
}

ExchangeWork read_exchange(JsonReader& r) {
  return {Bytes(r.integer("plain_bytes", 0, kMost)), Bytes(r.integer_or("paired_bytes", 0, kMost, 0)),
          r.integer_or("pieces", 0, kMost, 0), r.boolean_or("rearranges", false)};
}

ProductExchangeWork read_product_exchange(JsonReader& r, const Machine& machine) {
  ProductExchangeWork w;
  w.shape = read_shape(r);
  JsonReader split = r.object("parts");
  w.split = {extent_or_one(split, "batch"), extent_or_one(split, "rows"), extent_or_one(split, "columns"),
             extent_or_one(split, "contracted")};
  split.finish();
  if (w.split.parts() > machine.chip.tiles)
    r.fail("parts", "found " + std::to_string(w.split.parts()) + " parts, expected at most the " +
                        std::to_string(machine.chip.tiles) + " tiles of " + machine.name);
  static const std::array<std::string, 2> phases = {"operands", "partials"};
  w.phase = r.name("phase", phases) == "operands" ? ProductPhase::operands : ProductPhase::partials;
  return w;
}

double read_proportion(JsonReader& r) { return r.number_or("available_memory_proportion", 0.01, 1, 0.6); }

ConvolutionWork read_convolution(JsonReader& r) {
  return {extent(r, "samples"), extent(r, "size"),          extent(r, "inputs"), extent(r, "outputs"),
          extent(r, "window"),  extent_or_one(r, "stride"), read_proportion(r)};
}

OperatorWork read_work(JsonReader& r, const Machine& machine) {
  static const std::array<std::string, 6> kinds = {"amp_vertex",       "reduction", "exchange",
                                                   "product_exchange", "product",   "convolution"};
  const std::string kind = r.name("kind", kinds);
  if (kind == "amp_vertex") return read_amp(r);
  if (kind == "reduction") return ReductionWork{r.integer("parts", 2, kMost), extent(r, "elements")};
  if (kind == "exchange") return read_exchange(r);
  if (kind == "product_exchange") return read_product_exchange(r, machine);
  if (kind == "product") return ProductWork{read_shape(r), read_proportion(r)};
  return read_convolution(r);
}

void read_stated(JsonReader r, OperatorFact& fact) {
  static const std::array<std::string, 3> units = {"cycles", "TFLOP/s", "of peak"};
  static const std::array<std::string, 4> bases = {"formula", "measured", "derived", "prototype"};
  fact.stated = r.number("value", 1e-9, 1e15);
  const std::string unit = r.name("unit", units);
  fact.unit = unit == "cycles"    ? OperatorUnit::cycles
              : unit == "TFLOP/s" ? OperatorUnit::teraflops
                                  : OperatorUnit::share_of_peak;
  const bool whole =
      std::holds_alternative<ProductWork>(fact.work) || std::holds_alternative<ConvolutionWork>(fact.work);
  if (fact.unit != OperatorUnit::cycles && !whole)
    r.fail("unit", "found \"" + unit + "\", expected cycles: only products and convolutions have a rate");
  if (fact.unit == OperatorUnit::share_of_peak && fact.stated > 1)
    r.fail("value", "found " + describe(r.raw("value")) + ", expected a share of the peak, at most 1");
  fact.basis = r.name("basis", bases);
  fact.source = r.text("source");
  if (fact.source.empty()) r.fail("source", "found an empty text, expected where it is stated");
  r.finish();
}

OperatorFact read_fact(JsonReader r) {
  OperatorFact fact;
  fact.id = r.text("id");
  if (fact.id.empty()) r.fail("id", "found an empty text, expected a name");
  fact.group = r.text("group");
  fact.machine = load_machine(r.raw("machine"), r.at("machine"));
  if (!fact.machine.plannable) r.fail("machine", "found " + fact.machine.name + ", expected a machine of IPUs");
  fact.calibration = r.text_or("calibration", "default");
  load_calibration(fact.calibration);  // throws Error now if the calibration does not exist
  fact.work = read_work(r, fact.machine);
  read_stated(r.object("stated"), fact);
  fact.tolerance = r.number("tolerance", 0, 10);
  fact.note = r.text_or("note", "");
  fact.gap = r.text_or("gap", "");
  r.finish();
  return fact;
}

}  // namespace

std::vector<OperatorFact> load_operator_facts(const std::vector<std::string>& paths) {
  std::vector<OperatorFact> facts;
  std::map<std::string, std::string> places;  // by id
  for (const std::string& file : json_files(paths, "facts of operators")) {
    const json contents = parse_json_file(file);
    JsonReader r(contents, file);
    r.text_or("description", "");
    for (const JsonReader& item : r.objects("facts")) {
      facts.push_back(read_fact(item));
      const std::string place = item.here();
      const auto [first, is_new] = places.try_emplace(facts.back().id, place);
      if (!is_new)
        throw Error(place + "/id",
                    "found \"" + facts.back().id + "\" as in " + first->second + ", expected a name of its own");
    }
    r.finish();
  }
  return facts;
}

std::string operators_folder() { return data_folder() + "/operators"; }

}  // namespace superstep

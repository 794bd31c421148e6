// SPDX-License-Identifier: Apache-2.0
#include "model/software/evidence.h"

#include <algorithm>
#include <utility>

#include "model/data_folder.h"
#include "model/json_reader.h"

namespace superstep {
namespace {

using nlohmann::json;

struct Evidence {
  std::vector<Mechanism> mechanisms;
  Software measured;  // a rule for each mechanism, which no plan that uses it keeps
};

Evidence read_evidence() {
  const std::string path = data_folder() + "/calibration/mechanisms.json";
  const json file = parse_json_file(path);
  JsonReader r(file, path);
  Evidence out;
  out.measured.name = "measured";
  out.measured.title = r.text("title");
  for (JsonReader& m : r.objects("mechanisms")) {
    const std::vector<std::string> grades = {"derived", "assumed"};
    Mechanism mechanism{m.text("name"), m.name("grade", grades), m.number("relative_band", 0, 1), m.text("why")};
    SoftwareRule rule;
    rule.id = mechanism.name;
    rule.when = m.raw("when");
    rule.needs = {{"task", {{"not", {"training", "inference"}}}}};  // no plan does neither
    rule.why = mechanism.why;
    rule.source = path;
    m.finish();
    out.measured.rules.push_back(std::move(rule));
    out.mechanisms.push_back(std::move(mechanism));
  }
  r.finish();
  return out;
}

const Evidence& evidence() {
  static const Evidence read = read_evidence();
  return read;
}

}  // namespace

std::vector<Mechanism> unmeasured_in(const PlanFacts& facts) {
  std::vector<Mechanism> out;
  for (const BrokenRule& broken : broken_rules(evidence().measured, facts)) {
    const auto named = [&](const Mechanism& m) { return m.name == broken.rule->id; };
    if (std::ranges::none_of(out, named)) out.push_back(*std::ranges::find_if(evidence().mechanisms, named));
  }
  return out;
}

const Software& measured_alone() { return evidence().measured; }

}  // namespace superstep

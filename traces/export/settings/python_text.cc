// SPDX-License-Identifier: Apache-2.0
#include "traces/export/settings/python_text.h"

namespace superstep::exports {

std::string python(const std::string& text) {
  // JSON's strings are Python's.
  return nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::string python(double value) { return nlohmann::json(value).dump(); }

const char* python(bool value) { return value ? "True" : "False"; }

std::string python_list(const std::vector<std::string>& literals, int indent) {
  constexpr std::size_t kColumns = 120;
  std::string out = "[", line;
  const std::string begin = "\n" + std::string(static_cast<std::size_t>(indent), ' ');
  std::size_t all = 0;
  for (const std::string& l : literals) all += l.size() + 2;
  const bool one_line = static_cast<std::size_t>(indent) + all < kColumns - 30;
  for (const std::string& l : literals) {
    if (!one_line && (line.empty() || line.size() + l.size() + 2 > kColumns)) {
      out += line;
      line = begin;
    }
    line += (one_line && !line.empty() ? " " : !one_line && line != begin ? " " : "") + l + ",";
  }
  if (one_line && !line.empty()) line.pop_back();
  return out + line + (one_line ? "]" : begin.substr(0, begin.size() - 4) + "]");
}

std::string python_proportions(const PlanSettings& plan, const char* prefix) {
  std::string out = "{";
  for (std::int64_t i = 0; i < plan.pipeline_stages; ++i) {
    const std::string ipu = std::to_string(i);
    const auto own = plan.ipu_proportions.find(i);
    out += (i == 0 ? "" : ", ") + (*prefix == '\0' ? ipu : python(prefix + ipu)) + ": " +
           python(own != plan.ipu_proportions.end() ? own->second : plan.available_memory_proportion);
  }
  return out + "}";
}

std::string python_serialisation(const PlanSettings& plan, const char* by) {
  std::string factors;
  for (const auto& [what, factor] : plan.serialisation) {
    if (factor > 1) factors += (factors.empty() ? "" : ", ") + python(what) + ": " + std::to_string(factor);
  }
  if (factors.empty()) return "";
  return "# Parts in which products are computed one after another: factors for " + std::string(by) +
         ".\nSERIALISATION = {" + factors + "}\n";
}

std::string number_type(const PlanSettings& plan, const char* what, const char* fp16, const char* fp32) {
  return plan.precision.at(what) == "fp16" ? fp16 : fp32;
}

}  // namespace superstep::exports
